package bank

import (
	"encoding/json"
	"slices"
	"time"

	"passerelle/testbank/ledger"
)

// orderKind is the kind of documents that store orders.
const orderKind = "order"

// Line is one transfer of an order.
type Line struct {
	EndToEnd string `json:"end_to_end,omitempty"`
	Amount   int64  `json:"amount"`
	Creditor string `json:"creditor"`
	IBAN     string `json:"iban"`
	Text     string `json:"text,omitempty"`
	// Reason is the ISO 20022 code for the refusal of this line. It is empty when the bank did not
	// refuse the line.
	Reason string `json:"reason,omitempty"`
	// Entered means that the movement is in the books, pending or booked. Posted means that the
	// movement is booked.
	Entered bool `json:"entered,omitempty"`
	Posted  bool `json:"posted,omitempty"`
}

// Schedule defines the days on which a periodic order is executed. Start and End have the form
// YYYY-MM-DD.
type Schedule struct {
	Start     string   `json:"start"`
	End       string   `json:"end,omitempty"`
	Frequency string   `json:"frequency"`
	Rule      string   `json:"rule,omitempty"`
	Day       int      `json:"day,omitempty"`
	Months    []string `json:"months,omitempty"`
}

// Order is a payment order of a third party.
type Order struct {
	ID      string `json:"id"`
	Service string `json:"service"`
	Product string `json:"product"`
	// Party is the third party. RequestID is the X-Request-ID of the request.
	Party     string `json:"party"`
	RequestID string `json:"request_id"`
	// Body is the body of the request in compact JSON.
	Body json.RawMessage `json:"body"`
	// Debtor is the IBAN of the account that pays. Debtor is empty until the customer has chosen an
	// account.
	Debtor string `json:"debtor,omitempty"`
	PSU    string `json:"psu,omitempty"`
	Lines  []Line `json:"lines"`
	// Execution is the requested day, or empty.
	Execution string    `json:"execution,omitempty"`
	Schedule  *Schedule `json:"schedule,omitempty"`
	// Occurrences is the number of executions of a periodic order, including the skipped ones.
	// Skipped is the number of executions that the bank refused.
	Occurrences int `json:"occurrences,omitempty"`
	Skipped     int `json:"skipped,omitempty"`

	// Status is a transactionStatus. Reason is the reason for RJCT.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	// Manner is the Word of the [Manner] that the order selects, or empty.
	Manner string `json:"manner,omitempty"`
	// Signed holds the customers who have authorised.
	Signed []string `json:"signed,omitempty"`
	// Cancelling means that a cancellation waits for authorisation.
	Cancelling bool `json:"cancelling,omitempty"`
	// Granted means that the third party has a token for the order. The third party must then send
	// the token in calls about the order.
	Granted  bool      `json:"granted,omitempty"`
	Return   Return    `json:"return"`
	Prefers  Approach  `json:"prefers"`
	Notify   string    `json:"notify,omitempty"`
	Received time.Time `json:"received"`
	// Next is the time at which the bank continues with the order. Zero means never.
	Next time.Time `json:"next,omitzero"`
}

// Key implements [ledger.Document].
func (o *Order) Key() (string, string) { return orderKind, o.ID }

// Belongs implements [ledger.Document]. The bank uses this text to recognise a repeated request.
func (o *Order) Belongs() string { return o.Party + " " + o.RequestID }

// Due implements [ledger.Document].
func (o *Order) Due() time.Time { return o.Next }

// Final reports whether the status can no longer change.
func (o *Order) Final() bool {
	switch o.Status {
	case "RJCT", "CANC", "ACSC", "ACCC", "PART":
		return true
	}
	return false
}

// waits reports whether customers still have to authorise the order.
func (o *Order) waits() bool {
	return (o.Status == "RCVD" || o.Status == "PATC") && !o.Next.IsZero()
}

// Path returns the path of the order under the address of the API.
func (o *Order) Path() string { return "/v1/" + o.Service + "/" + o.Product + "/" + o.ID }

// Total returns the sum of the lines of one occurrence, in minor units.
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

// Reported returns the status that the bank reports to third parties.
func (b *Bank) Reported(o *Order) string {
	last := b.Profile.LastStatus
	if last != "ACSC" && slices.Index(progress, o.Status) > slices.Index(progress, last) {
		return last
	}
	return o.Status
}

// progress lists the statuses of a successful order. A bank reports no status after its LastStatus,
// unless LastStatus is ACSC.
var progress = []string{"RCVD", "PDNG", "PATC", "ACTC", "ACCP", "ACFC", "ACSP", "ACWC", "ACWP", "ACSC", "ACCC"}

var _ ledger.Document = (*Order)(nil)
