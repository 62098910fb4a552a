package bank

// Caller is the third party that calls, and what its request says besides the body.
type Caller struct {
	// Party is the organizationIdentifier of its certificate.
	Party string
	// RequestID is the X-Request-ID.
	RequestID string
	// PSU is the PSU-ID; empty when it does not name the customer.
	PSU string
	// Attended says that the customer is there: a PSU-IP-Address came along.
	Attended bool
	Prefers  Preferences
	Return   Return
	// Notify is the address for notifications of the third party, or empty.
	Notify string
}

// Preferences are those for the way of authorising. The bank may have another opinion.
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

// to is the address for how it went.
func (r Return) to(approved bool) string {
	if !approved && r.Nok != "" {
		return r.Nok
	}
	return r.OK
}
