package console

import (
	"cmp"
	"fmt"
	"slices"
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
	// When is the instant of the event, in the form for people. At is usually the same instant. For
	// a note about a day, At is that day.
	When page.When `json:"-"`
	Kind string    `json:"kind"`
	What string    `json:"what"`
	// States are the states before and after a change, as the API names them.
	States string `json:"states,omitempty"`
	// Address is the page of a delivery.
	Address string `json:"-"`
	// Because describes the cause. The page shows What, Because and Text as sentences.
	Because string          `json:"because,omitempty"`
	Who     string          `json:"who,omitempty"`
	Bank    page.BankStatus `json:"bank_status,omitempty"`
	Text    string          `json:"-"`
	// Said has the bank's response in the bank's own words.
	Said []page.DetailRow `json:"-"`
	// Delivered is when a receiver accepted a delivery. DeliveredAt is its form for programs.
	Delivered   page.When `json:"-"`
	DeliveredAt string    `json:"delivered_at,omitempty"`
	// Requests lists the last requests of a delivery, oldest first.
	Requests []requestRow `json:"requests,omitempty"`
	// Effect marks a row that follows from the state in the row above.
	Effect bool `json:"-"`

	at time.Time
}

// requestRow is one request of a delivery. At is When in the form for programs.
type requestRow struct {
	At   string
	When page.When
	Text string
}

// MarshalText returns the request in one line, for support files.
func (r requestRow) MarshalText() ([]byte, error) { return []byte(r.At + ": " + r.Text), nil }

// maxNotes is the largest number of notes in a timeline.
const maxNotes = 1000

// recentTimeline returns the changes of a payment and its newest notes. If there are older notes, a
// note that says so replaces them. The page shows the kind of this note, because noteTexts lacks it.
func (c *Console) recentTimeline(pc *page.Context, p *payment.Payment) ([]store.TimelineRow, error) {
	timelines, err := c.DB.Timeline(pc, pc.Domain.ID, []passerelle.PaymentID{p.ID}, maxNotes+1)
	rows, notes := timelines[p.ID], 0
	for n, row := range slices.Backward(rows) {
		if row.Note == nil {
			continue
		}
		if notes++; notes > maxNotes {
			rows[n].Note = &payment.Note{Kind: "Older notes are not shown. The API returns all of them.", At: row.Note.At}
		}
	}
	return rows, err
}

// timeline returns the events of a payment: requests, calls to the bank, changes, and deliveries.
func (c *Console) timeline(pc *page.Context, p *payment.Payment, revealed bool) ([]timelineRow, error) {
	recent, err := c.recentTimeline(pc, p)
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
	for n, happened := range recent {
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

// becomes maps each state except created to a sentence that says that a payment reached this state.
var becomes = map[payment.State]string{
	payment.Validating: "The payment waits for approval.",
	payment.Pending:    "The payment is in progress.",
	payment.Done:       "The payment is executed.",
	payment.Accepted:   "The payment is accepted.",
	payment.Partial:    "The payment is partly executed.",
	payment.Rejected:   "The payment is rejected.",
	payment.Expired:    "The payment is expired.",
}

// causes maps each trigger to a sentence about the cause of a change of state.
var causes = map[payment.Trigger]string{
	payment.Validated: "The payer chose a bank, and the bank has the order.",
	payment.Approved:  "The payer approved the payment at the bank.",
	payment.Executed:  "The bank executed the whole payment.",
	payment.Admitted:  "The bank accepted the payment, and does not report its execution.",
	payment.Mixed:     "The bank refused a part of the payment.",
	payment.Refused:   "The payment was refused, or it failed.",
	payment.Lapsed:    "No final response came in time.",
}

// refusals maps each actor to a sentence that says how this actor ended a payment.
var refusals = map[payment.Actor]string{
	payment.ByClient:  "The application or an operator cancelled the payment, or refused to confirm it.",
	payment.ByPayer:   "The payer cancelled or refused the payment.",
	payment.ByBank:    "The bank refused the payment.",
	payment.ByService: "The service ended the payment.",
}

// causeText returns a sentence about the cause of a change of state.
func causeText(cause payment.Cause) string {
	if cause.Trigger == payment.Refused {
		return cmp.Or(refusals[cause.Actor], causes[payment.Refused])
	}
	return causes[cause.Trigger]
}

// noteTexts maps each kind of note to a sentence.
var noteTexts = map[string]string{
	payment.NoteCancelling:            "The cancellation waits for the payer.",
	payment.NoteCancellationGranted:   "The bank grants the cancellation.",
	payment.NoteCancellationRefused:   "The cancellation is refused. The order continues.",
	payment.NoteCancellationOvertaken: "The payment ended before its cancellation was decided.",
	payment.NoteAbandoned:             "The payer abandoned the payment, and can still approve it at the bank.",
	payment.NoteOccurrence:            "The bank executed the order once.",
	payment.NoteOccurrenceFailed:      "One execution failed at the bank. The order continues.",
	payment.NoteBankStatus:            "The bank reported a new status or message.",
	payment.NoteOutcomeUnknown:        "The outcome of a call to the bank is unknown.",
	payment.NoteSettled:               "An operator recorded the outcome.",
	payment.NoteStale:                 "The bank reported an older state. Nothing changed.",
	payment.NoteSenseless:             "The service did not understand the bank's report. Nothing changed.",
}

// noteActors maps an actor to a sentence that says who caused a note. An operator acts in the name
// of the application.
var noteActors = map[payment.Actor]string{
	payment.ByClient:  "The application or an operator caused this.",
	payment.ByPayer:   "The payer caused this.",
	payment.ByBank:    "The bank caused this.",
	payment.ByService: "The service caused this.",
}

// causedBy lists the kinds of notes to which the page adds a sentence of noteActors.
var causedBy = []string{payment.NoteCancelling, payment.NoteCancellationRefused, payment.NoteCancellationOvertaken}

// noteCause returns the sentence of noteActors for a note. It returns an empty text for kinds that
// are not in causedBy.
func noteCause(n *payment.Note) string {
	if !slices.Contains(causedBy, n.Kind) {
		return ""
	}
	return noteActors[n.Actor]
}

// happened returns the row for a change of state or a note.
func (c *Console) happened(pc *page.Context, row store.TimelineRow, p *payment.Payment, revealed bool) timelineRow {
	if n := row.Note; n != nil {
		at := n.At
		if !n.Day.IsZero() {
			at = n.Day.In(pc.Zone)
		}
		shown := timelineRow{At: pc.Time(at), Kind: timelineNote, What: cmp.Or(noteTexts[n.Kind], n.Kind), Because: noteCause(n), Who: string(n.Actor), Bank: page.BankStatus(n.Bank), at: n.At}
		text := nameText(pc, n.Text, revealed)
		if n.Kind == payment.NoteBankStatus {
			shown.Said = said(n.Bank, text, n.Requests)
		} else {
			shown.Text, shown.Said = text, said(n.Bank, "", n.Requests)
		}
		return shown
	}
	t := row.Transition
	shown := timelineRow{At: pc.Time(t.At), Kind: timelineState, Because: causeText(t.Cause), Who: string(t.Cause.Actor), Bank: page.BankStatus(t.Cause.Bank), at: t.At}
	if t.From == "" {
		shown.Kind, shown.What, shown.States = timelineRequest, fmt.Sprintf("Application %d created the payment.", p.Client), string(t.To)
		shown.Because = ""
		return shown
	}
	shown.What, shown.States = cmp.Or(becomes[t.To], string(t.To)), string(t.From)+" → "+string(t.To)
	if t.Cause.Bank+t.Cause.Requests != "" {
		shown.Said = saidAtEnd(pc, t, p, revealed)
	}
	return shown
}

// said returns the rows for a bank's response: the status, the codes that explain the status, the
// text, and the calls to the bank.
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

// outcomes maps each state of an attempt to a sentence about the attempt's outcome.
var outcomes = map[string]string{
	store.AttemptOpen: "The bank has not answered yet.", store.AttemptAnswered: "The bank answered.", store.AttemptUnknown: "The outcome of this call is unknown.",
}

// answers maps each action to two sentences: for the answer no, and for the answer yes.
var answers = map[payment.Action][2]string{
	payment.Redirect:      {"The payer left the bank's page without an approval.", "The payer came back from the bank's page."},
	payment.Decoupled:     {"The payer did not approve in the bank's app.", "The service asked the bank whether the payer has approved in the app."},
	payment.FillFields:    {"The payer did not enter what the bank asked for.", "The payer entered what the bank asked for."},
	payment.Confirm:       {"The application or an operator refused to confirm the order.", "The application or an operator confirmed the order."},
	payment.PSUValidation: {"The payer refused the payment.", "The payer validated the payment."},
}

// answerText returns a sentence about the answer to the bank's requested action.
func answerText(a store.Attempt) string {
	texts := answers[a.Action]
	if a.Agreed {
		return cmp.Or(texts[1], "The answer to "+string(a.Action)+" was yes.")
	}
	return cmp.Or(texts[0], "The answer to "+string(a.Action)+" was no.")
}

// requesters maps an actor to the beginning of a sentence about a request of this actor.
var requesters = map[payment.Actor]string{payment.ByClient: "The application or an operator", payment.ByPayer: "The payer"}

// exchange returns the row for a call to the bank.
func (c *Console) exchange(pc *page.Context, a store.Attempt) timelineRow {
	row := timelineRow{At: pc.Time(a.Created), Kind: timelineBank, Who: string(a.By), Text: outcomes[a.State], at: a.Created}
	switch a.Kind {
	case store.AttemptInitiation:
		row.What, row.Because = "The service sent the order to "+c.connectorName(a.Connector)+".", "The payer validated the payment. The approval mechanism is "+a.Mechanism+"."
	case store.AttemptAnswer:
		row.What = answerText(a)
	case store.AttemptCancellation:
		did := map[bool]string{false: " asked for a cancellation.", true: " refused the cancellation."}[a.Action != ""]
		if a.Agreed {
			did = " agreed to the cancellation."
		}
		row.What = cmp.Or(requesters[a.By], "The service") + did
	}
	if a.Inquiries > 0 {
		row.Text += " The service asked the bank for the outcome " + page.Counted(a.Inquiries, "time", "times") + "."
	}
	if a.Live() && a.Key != "" {
		row.Text += " The key of the order is " + a.Key + "."
	}
	return row
}

// deliveriesByTransition returns the rows for the deliveries about a payment. Each key of the
// result is the number of the transition that the deliveries report.
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
			At: pc.Time(d.Created), Kind: timelineDelivery, What: deliveryText(d), Who: "service", Effect: true, at: d.Created, Address: pc.Path("/webhooks/%d/data/%d", d.Webhook, d.ID),
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
		return fmt.Sprintf("Webhook %d reported this change.", d.Webhook)
	case d.Dropped != nil:
		return fmt.Sprintf("Webhook %d does not report this change: %s.", d.Webhook, d.DropReason)
	case d.Attempts == 0:
		return fmt.Sprintf("Webhook %d has not reported this change yet.", d.Webhook)
	}
	return fmt.Sprintf("Webhook %d has not reported this change: %s failed.", d.Webhook, page.Counted(d.Attempts, "attempt", "attempts"))
}

func newRequestRow(pc *page.Context, l store.WebhookLog) requestRow {
	outcome := fmt.Sprintf("The request failed after %d ms: %s.", l.Duration.Milliseconds(), l.Failure)
	if l.Status > 0 {
		outcome = fmt.Sprintf("The endpoint answered with status %d after %d ms.", l.Status, l.Duration.Milliseconds())
		if l.Failure != "" && l.Failure != fmt.Sprint("status ", l.Status) {
			outcome += " The request failed: " + l.Failure + "."
		}
	}
	return requestRow{pc.Time(l.At), pc.When(l.At), outcome}
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
		if one.Severity == payment.Incompatible && payment.Eligible(one.Reasons) {
			all[i].Reasons = append(all[i].Reasons, reason{"label", payment.Incompatible, "A label is longer than this bank accepts."})
		}
	}
	return all, nil
}
