package sandbox

import (
	"slices"
	"strconv"

	"passerelle/payment"
)

// decision is the value of a button on a page.
type decision string

const (
	approve decision = "approve"
	refuse  decision = "refuse"
	// cancel and keep answer the question whether to cancel the order.
	cancel decision = "cancel"
	keep   decision = "keep"
)

// choice is a submitted form: the decision, the paying account, and the step of the order that
// the page showed. An empty step means any step.
type choice struct {
	decision decision
	account  string
	step     string
}

func (c choice) known() bool {
	return slices.Contains([]decision{approve, refuse, cancel, keep}, c.decision)
}

// decide applies a decision if it is possible now, and reports whether it was possible.
func (o *order) decide(c choice, timing Timing) bool {
	stale := c.step != "" && c.step != strconv.Itoa(o.At)
	decided := false
	switch {
	case c.decision == cancel || c.decision == keep:
		decided = o.decideCancellation(c.decision)
	case stale || !o.open() || o.cancelling():
		return false
	case c.decision == refuse:
		decided = true
		o.conclude(questions[o.step().What].no)
	default:
		decided = true
		o.debit(c.account, timing)
		o.next(nil)
	}
	if decided {
		o.Decision = c.decision
	}
	return decided
}

func (o *order) decideCancellation(d decision) bool {
	open := o.cancelling()
	if open {
		o.Cancellation.State = map[decision]payment.Cancellation{
			cancel: payment.CancellationGranted, keep: payment.CancellationRefused,
		}[d]
	}
	return open
}

// debit replaces the rest of the plan with the script of the chosen account. It does nothing if the
// account selects no script, or if the payer's account was known before.
func (o *order) debit(number string, timing Timing) {
	steps := payerScripts[number]
	if steps == "" || o.Payer.Number != "" {
		return
	}
	p := &planner{timing: timing, order: o, usual: "done"}
	p.play(readScript(steps))
	p.finish(useCase{})
	o.Plan.Steps = append(slices.Clone(o.Plan.Steps[:o.At+1]), p.Steps...)
}

// back returns the address to which the browser is redirected after a decision. After an approval
// or a refusal in the app, this is the address of the page. After any other decision, it is the
// return address of the order or of the cancellation.
func (o *order) back(d decision, page string) string {
	if o.Cancellation != nil && (d == cancel || d == keep) {
		return o.Cancellation.ReturnURL
	}
	if q, asked := o.question(); asked && q.action == payment.Decoupled {
		return page
	}
	return o.ReturnURL
}

// screen describes the text and the buttons of a page.
type screen struct {
	title, lead string
	buttons     []button
	// app is set when the page stands for an app on a phone.
	app bool
}

// button is one possible decision on a page. The main button is the usual choice.
type button struct {
	Value decision
	Label string
	Main  bool
}

var (
	atBank = screen{
		title:   "Approve this payment?",
		buttons: []button{{approve, "Approve", true}, {refuse, "Refuse", false}},
	}
	inApp = screen{
		app: true, title: "Confirm this payment?", lead: "This page stands in for the bank’s app on your phone.",
		buttons: []button{{approve, "Confirm", true}, {refuse, "Refuse", false}},
	}
	toCancel = screen{
		title:   "Cancel this payment?",
		lead:    "The payment has not been executed yet. If you keep it, it continues as before.",
		buttons: []button{{cancel, "Cancel the payment", true}, {keep, "Keep the payment", false}},
	}
	noQuestion = screen{title: "There is nothing to approve here", lead: "The bank is waiting for something else, or already has everything it needs."}

	// decidedScreens maps decisions to the pages shown after them.
	decidedScreens = map[decision]screen{
		approve: {title: "You approved this payment"},
		refuse:  {title: "You refused this payment"},
		cancel:  {title: "You cancelled this payment"},
		keep:    {title: "You kept this payment"},
	}
)

// screen returns the screen for the present state of the order.
func (o *order) screen() screen {
	q := questions[o.step().What]
	decided, some := decidedScreens[o.Decision]
	switch {
	case o.cancelling():
		return toCancel
	case o.open() && q.action == payment.Decoupled:
		return inApp
	case o.open():
		return atBank
	case o.cancelled():
		return decidedScreens[cancel]
	case some:
		return decided
	}
	return noQuestion
}
