package payment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"passerelle"
)

// Status is what a bank says of a whole order.
type Status string

// The statuses a connector translates its bank's words into.
const (
	// Awaiting: the order is known and waits for the payer's action.
	Awaiting Status = "awaiting"
	// Processing: the payer validated; execution is not confirmed.
	Processing Status = "processing"
	// Settled: every line is in a final state; Lines says which, and lines
	// it does not name are done.
	Settled Status = "settled"
	// Declined: the order as a whole is refused, with Code; lines that are
	// done or accepted all the same make the payment partial.
	Declined Status = "declined"
)

// Line is what a bank says of one instruction, counted from 0.
type Line struct {
	Position    int
	State       InstructionState
	Code        ErrorCode
	Description string
	Executed    passerelle.Date
}

// Report is one answer of a bank about an order. Everything in it is foreign:
// Apply refuses what makes no sense, brings texts into bounds, and accepts only
// what the state table allows.
type Report struct {
	Status Status
	// Action, ValidateURI and Fields say what the payer has to do while the
	// status is Awaiting, or to approve the cancellation while that is.
	Action      Action
	ValidateURI string
	Fields      []Field
	// Lines may come with every status but Awaiting. Once all lines are in a
	// final state they decide the state of the payment, whatever the status.
	Lines []Line
	// Code is why an order was declined. A code that is not of the interface
	// specification becomes NoSpecifiedReason and is kept behind Raw.
	Code          ErrorCode
	Description   string
	BankPaymentID string
	// Raw is the bank's own status word, kept in the timeline.
	Raw string
	// StatusChanged means that the bank's status word differs from its last one: the
	// timeline then has a note even when nothing else changes. Remark is what the bank
	// says beside the word; it always gets a note.
	StatusChanged bool
	Remark        string
	// By is who ended a declined order; the bank unless said otherwise.
	By Actor
	// Cancellation is what the bank says of a cancellation it was asked for;
	// empty when there was none. Status goes on to say where the order itself
	// stands; a cancellation awaiting approval without an Action is a Redirect.
	Cancellation Cancellation
	// Occurrences are the executions of a periodic order so far, oldest first;
	// like Lines, they come with every status but Awaiting. A connector to a
	// bank that tells none settles the line as accepted.
	Occurrences []Occurrence
	// CheckAfter is how long to wait before asking again; zero leaves it to
	// the service.
	CheckAfter time.Duration
	// Memory is for the connector's next call about the order; nil leaves it as it was.
	// It counts also beside an error. It is stored sealed, and not for payments to read.
	Memory []byte
}

// Cancellation is where the cancellation of an order stands at its bank.
type Cancellation string

// The ways a cancellation stands. A granted one ends the order with the code
// of who asked for it; a refused one leaves it as if nobody had asked.
const (
	CancellationAwaiting Cancellation = "awaiting" // the payer has to approve, at ValidateURI
	CancellationGranted  Cancellation = "granted"
	CancellationRefused  Cancellation = "refused"
)

// Occurrence is one execution of a periodic order. Code is empty unless it
// failed; a failed occurrence does not end the order.
type Occurrence struct {
	Day  passerelle.Date
	Code ErrorCode
}

// Refusal is a bank's business refusal of an order. It is the only error of a
// connector that rejects a payment.
type Refusal struct {
	Code        ErrorCode
	Description string
}

// Error says why the bank refused.
func (r *Refusal) Error() string { return "refused by the bank: " + string(r.Code) }

// Step is a payment as it stands after one transition. A report that skips
// states still gives one step for each, because each is an event of its own.
type Step struct {
	Payment    Payment
	Transition Transition
}

// ErrStale is returned by Apply for a report that says less than is already
// known; nothing changes.
var ErrStale = errors.New("report is older than the payment")

// Apply brings the payment to where the report says, through every state in
// between, and returns a step for each transition; the last one shows the
// payment as it is left. A report that only repeats what is known returns no
// step. One that lags behind returns ErrStale, as does every report in a final
// state; one that makes no sense returns ErrSenseless. Of both a note is made,
// to be stored although there was an error; other than that, nothing changes
// with an error, and copies of the payment made before never do.
func (p *Payment) Apply(r Report, now time.Time) ([]Step, error) {
	if err := p.follows(r); err != nil {
		p.recordReport(r, err, now)
		return nil, err
	}
	next, reported := p.clone(), r.tidy().concede(p.CancelCode)
	steps, err := next.follow(reported, now)
	if err != nil {
		return nil, err
	}
	for i := len(p.Notes); i < len(next.Notes); i++ {
		next.Notes[i].Bank = reported.Raw
	}
	if reported.Remark != "" || reported.StatusChanged && len(steps) == 0 && len(next.Notes) == len(p.Notes) {
		next.add(Note{At: now, Kind: NoteBankStatus, Actor: ByBank, Bank: reported.Raw, Text: reported.Remark})
	}
	if len(steps) > 0 {
		steps[len(steps)-1].Payment = next.clone()
	}
	*p = next
	return steps, nil
}

// follows says why a report cannot be followed. A granted cancellation is news
// whatever else was known.
func (p *Payment) follows(r Report) error {
	behind := r.Status == Awaiting && p.State == Pending && r.Cancellation != CancellationGranted
	if p.State.Final() || behind {
		return ErrStale
	}
	if fault := r.fault(p); fault != "" {
		return fmt.Errorf("%w: %s", ErrSenseless, fault)
	}
	return nil
}

func (p *Payment) follow(r Report, now time.Time) ([]Step, error) {
	if r.BankPaymentID != "" {
		p.BankPaymentID = r.BankPaymentID
	}
	p.applyCancellation(r, now)
	if r.Status != Awaiting {
		p.applyOccurrences(r.Occurrences, now)
	}
	if r.Status == Declined && p.State != Pending && !r.pays() {
		return p.Refuse(r.refusal(), r.cause(Refused), now)
	}
	steps, err := p.reach(r, now)
	if err != nil || r.Status == Awaiting {
		return steps, err
	}
	p.note(r.Lines)
	p.closeLines(r, now)
	last, err := p.rollUp(r, now)
	return append(steps, last...), err
}

// reach walks to Validating and, once the payer has validated, to Pending.
func (p *Payment) reach(r Report, now time.Time) ([]Step, error) {
	var steps []Step
	if p.State == Created {
		step, err := p.step(Cause{Trigger: Validated, Actor: ByPayer, Bank: r.Raw}, now, func() {
			p.askUnlessCancelling(r)
			p.openLines()
		})
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	if r.Status == Awaiting {
		p.askUnlessCancelling(r)
		return steps, nil
	}
	if p.State == Validating {
		step, err := p.step(Cause{Trigger: Approved, Actor: ByPayer, Bank: r.Raw}, now, func() { p.askUnlessCancelling(Report{}) })
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

func (p *Payment) ask(r Report) {
	p.Action, p.ValidateURI, p.Fields, p.ErrorDescription = r.Action, r.ValidateURI, r.Fields, r.Description
}

// askUnlessCancelling keeps what the payer has to do for a cancellation.
func (p *Payment) askUnlessCancelling(r Report) {
	if p.Detail != Cancelling {
		p.ask(r)
	}
}

// openLines has every line wait for its outcome, once the bank has the order.
func (p *Payment) openLines() {
	for i := range p.Instructions {
		p.Instructions[i].State = InstructionPending
	}
}

// note takes over what the bank says of single lines. A line in a final state
// keeps it.
func (p *Payment) note(lines []Line) {
	for _, line := range lines {
		in := &p.Instructions[line.Position]
		if in.State == InstructionPending && line.State != InstructionPending {
			in.State, in.ErrorCode, in.ErrorDescription = line.State, line.Code, line.Description
			in.executed(line.Executed)
		}
	}
}

// closeLines ends the lines that a settled or declined report left open.
func (p *Payment) closeLines(r Report, now time.Time) {
	if r.Status == Declined {
		p.rejectOpenLines(r.refusal())
	}
	if r.Status == Settled {
		p.finishOpenLines(passerelle.DateOf(now, time.UTC))
	}
}

func (p *Payment) finishOpenLines(day passerelle.Date) {
	for i := range p.Instructions {
		if in := &p.Instructions[i]; in.State == InstructionPending {
			in.State = InstructionDone
			in.executed(cmp.Or(in.Executed, day))
		}
	}
}

// executed moves the day of execution on; a periodic line has many.
func (in *Instruction) executed(day passerelle.Date) {
	if day.Compare(in.Executed) > 0 {
		in.Executed = day
	}
}

// applyOccurrences notes the executions of a periodic order that are new. One
// that failed is news like any other and does not end the order.
func (p *Payment) applyOccurrences(all []Occurrence, now time.Time) {
	in := &p.Instructions[0]
	reported := cmp.Or(in.Occurred, in.Executed)
	for _, one := range all {
		if one.Code == "" {
			in.executed(one.Day)
		}
		if one.Day.Compare(reported) > 0 {
			in.Occurred = one.Day
			kind, text := one.note()
			p.add(Note{At: now, Kind: kind, Actor: ByBank, Text: text, Day: one.Day})
		}
	}
}

// note is the kind and the text of a note about the occurrence.
func (o Occurrence) note() (string, string) {
	if o.Code == "" {
		return NoteOccurrence, o.Day.String()
	}
	return NoteOccurrenceFailed, o.Day.String() + " " + string(o.Code)
}

// rollUp lets the lines decide the state of the whole.
func (p *Payment) rollUp(r Report, now time.Time) ([]Step, error) {
	trigger, settled := outcome(p.Instructions)
	if !settled {
		return nil, nil
	}
	if trigger == Refused && r.Cancellation == CancellationGranted {
		return p.Refuse(r.refusal(), r.cause(trigger), now)
	}
	if trigger == Refused {
		return p.Refuse(p.firstRefusal(), r.cause(trigger), now)
	}
	step, err := p.step(r.cause(trigger), now, nil)
	if err != nil {
		return nil, err
	}
	return []Step{step}, nil
}

// outcome is the roll-up of a bulk: which trigger its lines call for, or false
// while one of them is pending.
func outcome(lines []Instruction) (Trigger, bool) {
	count := map[InstructionState]int{}
	for _, in := range lines {
		count[in.State]++
	}
	switch {
	case count[InstructionPending] > 0 || count[""] > 0:
		return "", false
	case count[InstructionRejected] == len(lines):
		return Refused, true
	case count[InstructionRejected] > 0:
		return Mixed, true
	case count[InstructionAccepted] > 0:
		return Admitted, true
	default:
		return Executed, true
	}
}

// firstRefusal is the first rejected line's reason, which is the payment's.
func (p *Payment) firstRefusal() *Refusal {
	i := slices.IndexFunc(p.Instructions, func(in Instruction) bool { return in.State == InstructionRejected })
	if i < 0 {
		return &Refusal{Code: NoSpecifiedReason}
	}
	return &Refusal{Code: p.Instructions[i].ErrorCode, Description: p.Instructions[i].ErrorDescription}
}

// Refuse rejects the payment and its open lines for the given reason, which is
// held to the same bounds as a report's. The cause's trigger is set to Refused.
func (p *Payment) Refuse(why *Refusal, cause Cause, now time.Time) ([]Step, error) {
	why = why.tidy()
	cause.Trigger = Refused
	step, err := p.step(cause, now, func() {
		p.ErrorCode, p.ErrorDescription = why.Code, why.Description
		p.rejectOpenLines(why)
	})
	if err != nil {
		return nil, err
	}
	return []Step{step}, nil
}

func (p *Payment) rejectOpenLines(why *Refusal) {
	for i := range p.Instructions {
		in := &p.Instructions[i]
		if in.State == "" || in.State == InstructionPending {
			in.State, in.ErrorCode, in.ErrorDescription = InstructionRejected, why.Code, why.Description
		}
	}
}

// Expire ends a payment that never got a definitive status. The lines of one that
// its payer did not approve are rejected; those of another stay as they are, because
// nobody knows what became of them.
func (p *Payment) Expire(now time.Time) ([]Step, error) {
	waited := p.State == Validating
	step, err := p.step(Cause{Trigger: Lapsed, Actor: ByService}, now, func() {
		if waited {
			p.rejectOpenLines(&Refusal{Code: NoAnswerFromCustomer})
		}
	})
	if err != nil {
		return nil, err
	}
	return []Step{step}, nil
}

// step fires the cause and, if that was legal, lets change complete the new
// state before it is copied. The lines are copied first, for whoever holds the
// payment as it was.
func (p *Payment) step(cause Cause, now time.Time, change func()) (Step, error) {
	transition, err := p.Fire(cause, now)
	if err != nil {
		return Step{}, err
	}
	p.Instructions = slices.Clone(p.Instructions)
	if change != nil {
		change()
	}
	return Step{Payment: p.clone(), Transition: transition}, nil
}

func (r Report) refusal() *Refusal { return &Refusal{Code: r.Code, Description: r.Description} }

func (r Report) cause(trigger Trigger) Cause {
	return Cause{Trigger: trigger, Actor: r.By, Bank: r.Raw}
}

// pays reports whether any line leaves the payer's account.
func (r Report) pays() bool {
	return slices.ContainsFunc(r.Lines, func(l Line) bool {
		return l.State == InstructionDone || l.State == InstructionAccepted
	})
}
