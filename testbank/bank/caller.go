package bank

// Caller describes the third party that makes a request, with the content of the request headers.
type Caller struct {
	// Party is the organizationIdentifier of the third party's certificate.
	Party string
	// RequestID is the X-Request-ID.
	RequestID string
	// PSU is the header PSU-ID. It is empty when the request does not name the customer.
	PSU string
	// Corporate is the header PSU-Corporate-ID: the company for which the customer acts, or empty.
	Corporate string
	// Attended means that the customer is present: the request had a PSU-IP-Address.
	Attended bool
	Prefers  Preferences
	Return   Return
	// Notify is the address for notifications to the third party, or empty.
	Notify string
}

// Preferences says which way of authorisation the third party prefers. The bank may choose another
// way.
type Preferences struct {
	NoRedirect bool
	Decoupled  bool
	Explicit   bool
}

// Return holds the addresses to which the customer returns from the bank's page.
type Return struct {
	OK  string `json:"ok,omitempty"`
	Nok string `json:"nok,omitempty"`
}

// to returns the address for the result.
func (r Return) to(approved bool) string {
	if !approved && r.Nok != "" {
		return r.Nok
	}
	return r.OK
}
