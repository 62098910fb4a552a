package bank

// Caller is the third party that calls, and the content of its request headers.
type Caller struct {
	// Party is the organizationIdentifier of the third party's certificate.
	Party string
	// RequestID is the X-Request-ID.
	RequestID string
	// PSU is the header PSU-ID; empty when the request does not name the customer.
	PSU string
	// Attended means that the customer is present: the request had a PSU-IP-Address.
	Attended bool
	Prefers  Preferences
	Return   Return
	// Notify is the address for notifications of the third party, or empty.
	Notify string
}

// Preferences are the third party's preferences for the way of authorising. The bank may choose
// another way.
type Preferences struct {
	NoRedirect bool
	Decoupled  bool
	Explicit   bool
}

// Return is where the customer goes after the bank's page.
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
