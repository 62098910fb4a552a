package console

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/store"
	"passerelle/payment"
	"passerelle/webhook"
)

// These are the kinds of rows in the timeline of a payment.
const (
	timelineRequest  = "request"
	timelineBank     = "bank"
	timelineState    = "state"
	timelineNote     = "note"
	timelineDelivery = "delivery"
)

// timelineRow is one event of a payment, or the effect of such an event.
type timelineRow struct {
	At string `json:"at"`
	// When is the same instant in the form for people.
	When page.When `json:"-"`
	Kind string    `json:"kind"`
	What string    `json:"what"`
	// States are the states before and after a change, as the API names them.
	States string `json:"states,omitempty"`
	// Address is the page of a delivery.
	Address string `json:"-"`
	// Because describes the cause.
	Because string          `json:"because,omitempty"`
	Who     string          `json:"who,omitempty"`
	Bank    page.BankStatus `json:"bank_status,omitempty"`
	Text    string          `json:"-"`
	// Said has the bank's response in the bank's own words.
	Said []page.DetailRow `json:"-"`
	// Delivered is the time at which a webhook's receiver accepted a delivery. DeliveredAt is the
	// same time in the form for programs.
	Delivered   page.When `json:"-"`
	DeliveredAt string    `json:"delivered_at,omitempty"`
	// Requests lists the requests of a delivery, oldest first.
	Requests []requestRow `json:"requests,omitempty"`
	// Effect marks a row that follows from the state in the row above it.
	Effect bool `json:"-"`

	at time.Time
}

// requestRow is one request of a delivery. At is the same instant as When, in the form for programs.
type requestRow struct {
	At   string
	When page.When
	Text string
}

// MarshalText returns the request in one line, for support files.
func (r requestRow) MarshalText() ([]byte, error) { return []byte(r.At + ": " + r.Text), nil }

// timeline returns the events of a payment: requests, calls to the bank, changes, and deliveries.
func (c *Console) timeline(pc *page.Context, p *payment.Payment, revealed bool) ([]timelineRow, error) {
	timelines, err := c.DB.Timeline(pc, pc.Domain.ID, []passerelle.PaymentID{p.ID})
	if err != nil {
		return nil, fmt.Errorf("load the timeline of payment %d: %w", p.ID, err)
	}
	attempts, err := c.DB.Attempts(pc, pc.Domain.ID, p.ID)
	if err != nil {
		return nil, fmt.Errorf("load the bank calls of payment %d: %w", p.ID, err)
	}
	reported, err := c.deliveriesByTransition(pc, p.ID)
	if err != nil {
		return nil, fmt.Errorf("load the deliveries about payment %d: %w", p.ID, err)
	}
	var rows []timelineRow
	for n, happened := range timelines[p.ID] {
		row := c.happened(pc, happened, p, revealed)
		for n > 0 && len(attempts) > 0 && !attempts[0].Created.After(row.at) {
			rows, attempts = append(rows, c.exchange(pc, attempts[0])), attempts[1:]
		}
		rows = append(rows, row)
		if happened.Transition != nil {
			rows = append(rows, reported[happened.Transition.Seq]...)
		}
	}
	for _, left := range attempts {
		rows = append(rows, c.exchange(pc, left))
	}
	for i := range rows {
		rows[i].When = pc.When(rows[i].at)
	}
	return rows, nil
}

// causes maps each trigger to a text about the cause of a change of state.
var causes = map[payment.Trigger]string{
	payment.Validated: "a bank was chosen and has the order",
	payment.Approved:  "approved at the bank",
	payment.Executed:  "the bank executed all of it",
	payment.Admitted:  "the bank accepted it and reports nothing more",
	payment.Mixed:     "the bank refused part of it",
	payment.Refused:   "refused, cancelled or failed",
	payment.Lapsed:    "no final response in time",
}

// noteTexts maps each kind of note to a text.
var noteTexts = map[string]string{
	payment.NoteCancelling:            "cancellation waits for the payer",
	payment.NoteCancellationGranted:   "the bank grants the cancellation",
	payment.NoteCancellationRefused:   "the cancellation is refused, the order continues",
	payment.NoteCancellationOvertaken: "the payment ended before its cancellation was decided",
	payment.NoteAbandoned:             "the payer abandoned the payment, and can still approve it at the bank",
	payment.NoteOccurrence:            "executed once",
	payment.NoteOccurrenceFailed:      "one execution failed, the order continues",
	payment.NoteBankStatus:            "new status or message of the bank",
	payment.NoteOutcomeUnknown:        "the outcome of a call to the bank is unknown",
	payment.NoteSettled:               "an operator stated the outcome",
	payment.NoteStale:                 "the bank reported an older state, nothing changed",
	payment.NoteSenseless:             "the bank's report was not understood, nothing changed",
}

// happened returns the row for a change of state or a note.
func (c *Console) happened(pc *page.Context, row store.TimelineRow, p *payment.Payment, revealed bool) timelineRow {
	if n := row.Note; n != nil {
		at := n.At
		if !n.Day.IsZero() {
			at = n.Day.In(pc.Zone)
		}
		shown := timelineRow{At: pc.Time(at), Kind: timelineNote, What: cmp.Or(noteTexts[n.Kind], n.Kind), Who: string(n.Actor), Bank: page.BankStatus(n.Bank), at: n.At}
		text := nameText(pc, n.Text, revealed)
		if n.Kind == payment.NoteBankStatus {
			shown.Said = said(n.Bank, text, n.Requests)
		} else {
			shown.Text, shown.Said = text, said(n.Bank, "", n.Requests)
		}
		return shown
	}
	t := row.Transition
	shown := timelineRow{At: pc.Time(t.At), Kind: timelineState, Because: causes[t.Cause.Trigger], Who: string(t.Cause.Actor), Bank: page.BankStatus(t.Cause.Bank), at: t.At}
	if t.From == "" {
		shown.Kind, shown.What, shown.States = timelineRequest, "registered", string(t.To)
		shown.Because = fmt.Sprintf("requested by application %d", p.Client)
		return shown
	}
	shown.What, shown.States = page.StateWord(t.To).Word(), string(t.From)+" → "+string(t.To)
	if t.Cause.Bank+t.Cause.Requests != "" {
		shown.Said = saidAtEnd(pc, t, p, revealed)
	}
	return shown
}

// said returns the rows for a bank's response: the status with the codes that explain it, the text,
// and the requests that it responds to.
func said(status, text, requests string) []page.DetailRow {
	word, reasons, _ := strings.Cut(status, " ")
	if words := page.BankStatus(word).Word(); words != "" {
		word += ": " + words
	}
	return page.Details("Status", word, "Reason codes", reasons, "Message", text, "Requests", requests)
}

// saidAtEnd returns the rows for the bank's response that caused a transition. For a transition
// that ended the payment, it adds the bank's messages about the payment and its instructions.
func saidAtEnd(pc *page.Context, t *payment.Transition, p *payment.Payment, revealed bool) []page.DetailRow {
	if t.To != p.State || !t.To.Final() {
		return said(t.Cause.Bank, "", t.Cause.Requests)
	}
	rows := said(t.Cause.Bank, nameText(pc, p.ErrorDescription, revealed), t.Cause.Requests)
	for _, in := range p.Instructions {
		rows = append(rows, page.Details("Instruction "+in.ReferenceID, nameText(pc, in.ErrorDescription, revealed))...)
	}
	return rows
}

// outcomes maps each state of a call to a bank to its description.
var outcomes = map[string]string{
	store.AttemptOpen: "no answer yet", store.AttemptAnswered: "answered", store.AttemptUnknown: "outcome unknown",
}

// exchange returns the row for a call to the bank.
func (c *Console) exchange(pc *page.Context, a store.Attempt) timelineRow {
	row := timelineRow{At: pc.Time(a.Created), Kind: timelineBank, Who: string(a.By), Text: outcomes[a.State], at: a.Created}
	switch a.Kind {
	case store.AttemptInitiation:
		row.What, row.Because = "order sent to "+c.connectorName(a.Connector)+", "+a.Mechanism, "the payer validated"
	case store.AttemptAnswer:
		answer := "no"
		if a.Agreed {
			answer = "yes"
		}
		row.What, row.Because = fmt.Sprintf("%s answered with %s", a.Action, answer), "the bank asked"
	case store.AttemptCancellation:
		row.What, row.Because = "cancellation requested", "a cancellation was requested here or through the API"
	}
	if a.Inquiries > 0 {
		row.Text += fmt.Sprintf(", bank asked %d times", a.Inquiries)
	}
	if a.Live() && a.Key != "" {
		row.Text += ", key " + a.Key
	}
	return row
}

// deliveriesByTransition returns the rows for the deliveries about a payment. The key is the number
// of the transition that a delivery reports.
func (c *Console) deliveriesByTransition(pc *page.Context, id passerelle.PaymentID) (map[int64][]timelineRow, error) {
	deliveries, err := c.DB.DeliveriesAbout(pc, pc.Domain.ID, string(webhook.SubjectPayment), int64(id))
	if err != nil {
		return nil, err
	}
	ids := make([]passerelle.DeliveryID, len(deliveries))
	for i, d := range deliveries {
		ids[i] = d.ID
	}
	requests, err := c.DB.LastAttempts(pc, pc.Domain.ID, ids)
	if err != nil {
		return nil, err
	}
	rows := map[int64][]timelineRow{}
	for _, d := range deliveries {
		row := timelineRow{
			At: pc.Time(d.Created), Kind: timelineDelivery, What: fmt.Sprintf("webhook %d: %s", d.Webhook, deliveryText(d)),
			Because: "reports the state change above", Who: "service", Effect: true, at: d.Created, Address: pc.Path("/webhooks/%d/data/%d", d.Webhook, d.ID),
			Delivered: pc.WhenEver(d.Delivered), DeliveredAt: pc.Moment(d.Delivered),
		}
		for _, one := range requests[d.ID] {
			row.Requests = append(row.Requests, newRequestRow(pc, one))
		}
		rows[d.Version] = append(rows[d.Version], row)
	}
	return rows, nil
}

func deliveryText(d store.SubjectDelivery) string {
	switch {
	case d.Delivered != nil:
		return "delivered"
	case d.Dropped != nil:
		return "given up: " + d.DropReason
	case d.Attempts == 0:
		return "not sent yet"
	}
	return fmt.Sprintf("not delivered after %d attempts", d.Attempts)
}

func newRequestRow(pc *page.Context, l store.WebhookLog) requestRow {
	outcome := l.Failure
	if l.Status > 0 {
		outcome = strings.TrimSpace(fmt.Sprintf("%d %s", l.Status, l.Failure))
	}
	return requestRow{pc.Time(l.At), pc.When(l.At), fmt.Sprintf("%s in %d ms", outcome, l.Duration.Milliseconds())}
}

// objection is a connector that cannot make a payment, or that has a warning about the payment.
type objection struct {
	Connector string   `json:"connector"`
	Reasons   []reason `json:"reasons"`
}

type reason struct {
	Code     string           `json:"code"`
	Severity payment.Severity `json:"type"`
	Text     string           `json:"text"`
}

// objections returns the connectors of the domain that do not fully support the payment, with the
// reasons. It includes hidden connectors.
func (c *Console) objections(pc *page.Context, p *payment.Payment) ([]objection, error) {
	list, err := c.Initiation.Compatibility(pc, pc.Domain, p, true)
	if err != nil {
		return nil, fmt.Errorf("compare payment %d with the connectors: %w", p.ID, err)
	}
	all := make([]objection, len(list))
	for i, one := range list {
		all[i].Connector = one.Profile.Name
		for _, r := range one.Reasons {
			all[i].Reasons = append(all[i].Reasons, reason{r.Code, r.Severity, r.Description})
		}
	}
	return all, nil
}
