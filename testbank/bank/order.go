package bank

import (
	"encoding/json"
	"time"

	"passerelle/testbank/ledger"
)

// orderKind is that of the documents of orders.
const orderKind = "order"

// Line is one transfer of an order.
type Line struct {
	EndToEnd string `json:"end_to_end,omitempty"`
	Amount   int64  `json:"amount"`
	Creditor string `json:"creditor"`
	IBAN     string `json:"iban"`
	Text     string `json:"text,omitempty"`
	// Reason is why the bank refused this line, as ISO 20022 codes it; empty: it did not.
	Reason string `json:"reason,omitempty"`
	// Entered and Posted say how far the money is.
	Entered bool `json:"entered,omitempty"`
	Posted  bool `json:"posted,omitempty"`
}

// Schedule is when a periodic order is executed. Days are YYYY-MM-DD.
type Schedule struct {
	Start     string   `json:"start"`
	End       string   `json:"end,omitempty"`
	Frequency string   `json:"frequency"`
	Rule      string   `json:"rule,omitempty"`
	Day       int      `json:"day,omitempty"`
	Months    []string `json:"months,omitempty"`
}

// Order is what a third party asked the bank to pay.
type Order struct {
	ID      string `json:"id"`
	Service string `json:"service"`
	Product string `json:"product"`
	// Party is the third party, RequestID the X-Request-ID it came with.
	Party     string `json:"party"`
	RequestID string `json:"request_id"`
	// Body is what came.
	Body json.RawMessage `json:"body"`
	// Debtor is the IBAN of the account that pays; empty until the customer chose.
	Debtor string `json:"debtor,omitempty"`
	PSU    string `json:"psu,omitempty"`
	Lines  []Line `json:"lines"`
	// Execution is the day asked for, or empty.
	Execution string    `json:"execution,omitempty"`
	Schedule  *Schedule `json:"schedule,omitempty"`
	// Occurrences counts the executions of a periodic order, Skipped those without funds.
	Occurrences int `json:"occurrences,omitempty"`
	Skipped     int `json:"skipped,omitempty"`

	// Status is a transactionStatus, Reason why it is RJCT.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	// Manner is the word of the fault that the order asked for.
	Manner string `json:"manner,omitempty"`
	// Signed are the customers that authorised.
	Signed []string `json:"signed,omitempty"`
	// Cancelling says that a cancellation waits for authorisation.
	Cancelling bool      `json:"cancelling,omitempty"`
	Return     Return    `json:"return"`
	Prefers    Approach  `json:"prefers"`
	Notify     string    `json:"notify,omitempty"`
	Received   time.Time `json:"received"`
	// Next is when the bank goes on with it; zero: never.
	Next time.Time `json:"next,omitzero"`
}

// Key implements [ledger.Document].
func (o *Order) Key() (string, string) { return orderKind, o.ID }

// Belongs implements [ledger.Document]: orders are listed by request.
func (o *Order) Belongs() string { return o.Party + " " + o.RequestID }

// Due implements [ledger.Document].
func (o *Order) Due() time.Time { return o.Next }

// Final says that the status stays.
func (o *Order) Final() bool {
	switch o.Status {
	case "RJCT", "CANC", "ACSC", "ACCC", "PART":
		return true
	}
	return false
}

// waits says that customers have still to authorise.
func (o *Order) waits() bool {
	return (o.Status == "RCVD" || o.Status == "PATC") && !o.Next.IsZero()
}

// Path is where the order is under the address of the API.
func (o *Order) Path() string { return "/v1/" + o.Service + "/" + o.Product + "/" + o.ID }

// Total is the sum of the lines, of one occurrence, in minor units.
func (o *Order) Total() int64 {
	var sum int64
	for _, line := range o.Lines {
		sum += line.Amount
	}
	return sum
}

// finish ends an order.
func (o *Order) finish(status, reason string) {
	o.Status, o.Reason, o.Next, o.Cancelling = status, reason, time.Time{}, false
}

// Reported is the status that the bank tells.
func (b *Bank) Reported(o *Order) string {
	if b.Profile.AcceptedIsLast && (o.Status == "ACSC" || o.Status == "ACCC") {
		return "ACSP"
	}
	return o.Status
}

var _ ledger.Document = (*Order)(nil)
