package payment

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// State is the state of a payment. Clients must treat an unknown state as final and
// unresolvable.
type State string

// These are the states of a payment. Created, Validating and Pending are intermediate. All others
// are final.
const (
	// Created means that the payer has not validated the payment.
	Created State = "created"
	// Validating means that the bank has the order, and that the payer has not approved it or the
	// client has not confirmed it.
	Validating State = "validating"
	// Pending means that the payer validated at the bank, and that the bank has not confirmed the
	// execution.
	Pending State = "pending"
	// Rejected means that the payment was refused or cancelled. An error code says why.
	Rejected State = "rejected"
	// Done means that the bank confirmed the execution.
	Done State = "done"
	// Accepted means that the order passed the bank's checks, and that the bank will report nothing
	// more.
	Accepted State = "accepted"
	// Expired means that no definitive status arrived in time.
	Expired State = "expired"
	// Partial means that some instructions of a bulk are rejected and others done or accepted.
	Partial State = "partial"
)

// States lists every state, the intermediate states first.
func States() []State {
	return []State{Created, Validating, Pending, Rejected, Done, Accepted, Expired, Partial}
}

// Final reports whether no transition leaves the state.
func (s State) Final() bool {
	return !slices.ContainsFunc(edges, func(e Edge) bool { return e.From == s })
}

// Trigger is the reason why a payment changes its state.
type Trigger string

// These are the triggers in the state table.
const (
	// Validated means that the payer chose a bank, and that the bank has the order.
	Validated Trigger = "validated"
	// Approved means that the payer validated in the bank's app or on its site.
	Approved Trigger = "approved"
	// Executed means that the bank confirms every instruction as executed.
	Executed Trigger = "executed"
	// Admitted means that the order passed the first checks and the bank reports nothing more.
	Admitted Trigger = "admitted"
	// Mixed means that some instructions are rejected and others done or accepted.
	Mixed Trigger = "mixed"
	// Refused means that a bank, the payer, the client or an error ended the payment.
	Refused Trigger = "refused"
	// Lapsed means that no definitive status arrived within the configured delay.
	Lapsed Trigger = "lapsed"
)

// Triggers lists every trigger.
func Triggers() []Trigger {
	return []Trigger{Validated, Approved, Executed, Admitted, Mixed, Refused, Lapsed}
}

// Edge is one legal change of state.
type Edge struct {
	From    State
	Trigger Trigger
	To      State
}

// edges is the state table of the API. The table payment_edge of the schema contains the same pairs
// of states, so a new edge also needs a migration.
var edges = []Edge{
	{Created, Validated, Validating},
	{Created, Refused, Rejected},
	{Created, Lapsed, Expired},
	{Validating, Approved, Pending},
	{Validating, Refused, Rejected},
	{Validating, Lapsed, Expired},
	{Pending, Executed, Done},
	{Pending, Admitted, Accepted},
	{Pending, Mixed, Partial},
	{Pending, Refused, Rejected},
	{Pending, Lapsed, Expired},
}

// Edges returns the state table.
func Edges() []Edge { return slices.Clone(edges) }

// ErrIllegal is returned for a trigger that does not apply to the present state.
var ErrIllegal = errors.New("illegal payment transition")

// Actor says who caused a transition.
type Actor string

// These are the actors that can cause a transition.
const (
	ByClient  Actor = "client"
	ByPayer   Actor = "payer"
	ByBank    Actor = "bank"
	ByService Actor = "service"
)

// Actors lists the actors.
func Actors() []Actor { return []Actor{ByClient, ByPayer, ByBank, ByService} }

// Cause explains a transition for readers of the timeline. Bank is the bank's own status word,
// empty when no bank was involved.
type Cause struct {
	Trigger Trigger
	Actor   Actor
	Bank    string
	// Requests are the calls to the bank, as in a Report.
	Requests string
}

// Transition is one row of a payment's history. Seq counts from 0, the creation, without
// gaps. From is empty for the creation only.
type Transition struct {
	Seq   int64
	From  State
	To    State
	Cause Cause
	At    time.Time
}

// Fire changes the state along the edge that begins at the present state and has the cause's
// trigger. It returns the transition, which the caller stores with the payment. Without such an
// edge, Fire returns ErrIllegal and changes nothing.
func (p *Payment) Fire(cause Cause, now time.Time) (Transition, error) {
	i := slices.IndexFunc(edges, func(e Edge) bool { return e.From == p.State && e.Trigger == cause.Trigger })
	if i < 0 {
		return Transition{}, fmt.Errorf("%w: %s does not leave %s", ErrIllegal, cause.Trigger, p.State)
	}
	return p.move(edges[i].To, cause, now), nil
}

func (p *Payment) move(to State, cause Cause, now time.Time) Transition {
	t := Transition{Seq: p.Seq + 1, From: p.State, To: to, Cause: cause, At: now}
	p.State, p.Seq = to, t.Seq
	if to == Validating {
		p.Validated = &now
	}
	if to.Final() {
		p.ask(Report{})
		p.leaveCancelling(NoteCancellationOvertaken, cause.Actor, now)
	}
	return t
}
