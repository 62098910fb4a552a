package payment

import (
	"time"

	"passerelle"
)

// Evidence records the summary of a payment, in the exact words of the page on which the payer
// acted.
type Evidence struct {
	Payment passerelle.PaymentID
	Domain  passerelle.DomainID
	Act     Act
	// Attempt is the number of the payment's newest bank call when the evidence was stored. The act
	// itself may have caused this call. 0 means that there was no call.
	Attempt int64
	At      time.Time
	// Language is the BCP 47 tag of the language of the page.
	Language string
	Shown    ShownPayment
}

// Act is what a payer did on a page.
type Act string

// These are the acts of payers for which evidence is stored.
const (
	ActOrder  Act = "order"
	ActFields Act = "fields"
	ActAgree  Act = "agree"
	ActRefuse Act = "refuse"
	ActCancel Act = "cancel"
)

// ShownPayment is the summary of a payment as a page shows it.
type ShownPayment struct {
	// Application is the name of the client that created the payment. Bank is the name of the
	// payer's bank.
	Application string `json:"application"`
	Bank        string `json:"bank"`
	Amount      string `json:"amount"`
	// When is the execution day, in words.
	When string `json:"when"`
	// From is the payer's account, mostly masked, or empty when it was unknown.
	From string `json:"from"`
	// Terms is the version of the terms of service on the page, or empty when the page had no
	// terms.
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
