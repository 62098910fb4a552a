package wire

import (
	"time"

	"passerelle"
	"passerelle/payment"
)

// TimelineTransition is the kind of a row about a change of state. The kind of a row about a note
// is the note's kind.
const TimelineTransition = "transition"

// Timeline is the history of a payment, with its references at the bank.
type Timeline struct {
	BankPaymentID     *string       `json:"bank_payment_id" doc:"the bank's identifier of the payment; null until the bank has given one"`
	IDConnectorSource *int64        `json:"id_connector_source" doc:"source of the connector that the payment was sent through; null until it was sent to the bank"`
	Transitions       []TimelineRow `json:"transitions" doc:"oldest first"`
}

// NewTimeline renders the history of a payment.
func NewTimeline(p *payment.Payment, rows []TimelineRow) *Timeline {
	return &Timeline{BankPaymentID: optional(p.BankPaymentID), IDConnectorSource: optional(p.Source), Transitions: rows}
}

// TimelineRow is one event in the history of a payment.
type TimelineRow struct {
	Kind       string           `json:"kind" doc:"transition for a change of state; otherwise the kind of note, such as cancelling or occurrence"`
	From       *payment.State   `json:"from" doc:"state before; null for the creation and for notes"`
	To         *payment.State   `json:"to" doc:"state after; null for notes"`
	Cause      *payment.Trigger `json:"cause" doc:"for a transition, the rule of the state table that was applied"`
	Actor      payment.Actor    `json:"actor" doc:"client, payer, bank or service"`
	BankStatus *string          `json:"bank_status" doc:"status as the bank reported it"`
	Requests   *string          `json:"bank_requests" doc:"calls to the bank that led to this, oldest first, each with its X-Request-ID; null when the bank was not called or its connector has no ids"`
	At         string           `json:"at" doc:"YYYY-MM-DD HH:MM:SS in the domain's time zone; for an occurrence, the start of its day"`
	ReportedAt *string          `json:"heard_at" doc:"for an occurrence, when the bank reported it; otherwise null"`
	Text       *string          `json:"text" doc:"description for people"`
}

// NewTransition renders a change of state.
func NewTransition(t payment.Transition, zone *time.Location) TimelineRow {
	return TimelineRow{
		Kind: TimelineTransition, From: optional(t.From), To: optional(t.To), Cause: optional(t.Cause.Trigger),
		Actor: t.Cause.Actor, BankStatus: optional(t.Cause.Bank), Requests: optional(t.Cause.Requests), At: passerelle.FormatDateTime(t.At, zone),
	}
}

// NewNote renders a note. Banks report the day of an occurrence without the time of day.
func NewNote(n payment.Note, zone *time.Location) TimelineRow {
	row := TimelineRow{Kind: n.Kind, Actor: n.Actor, BankStatus: optional(n.Bank), Requests: optional(n.Requests), At: passerelle.FormatDateTime(n.At, zone), Text: optional(n.Text)}
	if !n.Day.IsZero() {
		row.ReportedAt = optional(row.At)
		row.At = passerelle.FormatDateTime(n.Day.In(zone), zone)
	}
	return row
}
