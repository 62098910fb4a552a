package payment

import (
	"time"

	"passerelle"
)

// Evidence is what a payer saw on a page of the service when they acted on a
// payment there, in the very words that were shown.
type Evidence struct {
	Payment passerelle.PaymentID
	Domain  passerelle.DomainID
	Act     Act
	// Attempt is the number of the call to the bank that the act led to, 0 when
	// the bank had not to be told.
	Attempt int64
	At      time.Time
	// Language is the BCP 47 tag of the language of the page.
	Language string
	Shown    ShownPayment
}

// Act is what a payer does on a page.
type Act string

// The acts of payers of which there is evidence.
const (
	ActOrder  Act = "order"
	ActFields Act = "fields"
	ActAgree  Act = "agree"
	ActRefuse Act = "refuse"
	ActCancel Act = "cancel"
)

// ShownPayment is the summary of a payment as a page shows it.
type ShownPayment struct {
	// Application asks to be paid, and Bank is the payer's.
	Application string `json:"application"`
	Bank        string `json:"bank"`
	Amount      string `json:"amount"`
	// When is the day of the execution, in words.
	When string `json:"when"`
	// From is the payer's account, mostly hidden; empty when it was not known.
	From string `json:"from"`
	// Terms is the version of the terms of service that were on the page, if they
	// were.
	Terms string      `json:"terms"`
	Lines []ShownLine `json:"lines"`
}

// ShownLine is one beneficiary in a summary.
type ShownLine struct {
	Amount  string `json:"amount"`
	Name    string `json:"name"`
	Account string `json:"account"`
	Label   string `json:"label"`
}
