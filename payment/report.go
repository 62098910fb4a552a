package payment

import (
	"errors"
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
	// Declined: the order as a whole is refused, with Code.
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
// Apply accepts only what the state table allows.
type Report struct {
	Status Status
	// Action, ValidateURI and Fields say what the payer has to do while the
	// status is Awaiting.
	Action        Action
	ValidateURI   string
	Fields        []Field
	Lines         []Line
	Code          ErrorCode
	Description   string
	BankPaymentID string
	// Raw is the bank's own status word, kept in the timeline.
	Raw string
	// By is who ended a declined order; the bank unless said otherwise.
	By Actor
	// CheckAfter is how long to wait before asking again; zero leaves it to
	// the service.
	CheckAfter time.Duration
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
// between, and returns a step for each transition. A report that only repeats
// what is known returns no step; one that lags behind returns ErrStale; in a
// final state every report is stale.
func (p *Payment) Apply(r Report, now time.Time) ([]Step, error) {
	if p.State.Final() || (r.Status == Awaiting && p.State == Pending) {
		return nil, ErrStale
	}
	if r.BankPaymentID != "" {
		p.BankPaymentID = r.BankPaymentID
	}
	if r.Status == Declined {
		return p.Refuse(r.refusal(), Cause{Actor: r.actor(), Bank: r.Raw}, now)
	}
	steps, err := p.reach(r, now)
	if err != nil || r.Status != Settled {
		return steps, err
	}
	last, err := p.settle(r, now)
	return append(steps, last...), err
}

// reach walks to Validating and, once the payer has validated, to Pending.
func (p *Payment) reach(r Report, now time.Time) ([]Step, error) {
	var steps []Step
	if p.State == Created {
		step, err := p.step(Cause{Trigger: Validated, Actor: ByPayer, Bank: r.Raw}, now, func() { p.ask(r) })
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	if r.Status == Awaiting {
		p.ask(r)
		return steps, nil
	}
	if p.State == Validating {
		step, err := p.step(Cause{Trigger: Approved, Actor: ByPayer, Bank: r.Raw}, now, p.send)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	p.note(r.Lines)
	return steps, nil
}

func (p *Payment) ask(r Report) {
	p.Action, p.ValidateURI, p.Fields = r.Action, r.ValidateURI, r.Fields
}

// send ends the payer's part: nothing is left to do, every line is at the bank.
func (p *Payment) send() {
	p.Action, p.ValidateURI, p.Fields = "", "", nil
	for i := range p.Instructions {
		p.Instructions[i].State = InstructionPending
	}
}

// note takes over what the bank says of single lines. A line in a final state
// keeps it, and a line the payment does not have is ignored.
func (p *Payment) note(lines []Line) {
	for _, line := range lines {
		if line.Position < 0 || line.Position >= len(p.Instructions) {
			continue
		}
		in := &p.Instructions[line.Position]
		if in.State != InstructionPending {
			continue
		}
		in.State, in.ErrorCode, in.ErrorDescription, in.Executed = line.State, line.Code, line.Description, line.Executed
	}
}

// settle closes the lines that the report left open and lets all of them
// decide the state of the whole.
func (p *Payment) settle(r Report, now time.Time) ([]Step, error) {
	for i := range p.Instructions {
		if p.Instructions[i].State == InstructionPending {
			p.Instructions[i].State = InstructionDone
			p.Instructions[i].Executed = passerelle.DateOf(now, time.UTC)
		}
	}
	trigger, settled := outcome(p.Instructions)
	if !settled {
		return nil, nil
	}
	cause := Cause{Trigger: trigger, Actor: ByBank, Bank: r.Raw}
	if trigger == Refused {
		return p.Refuse(p.firstRefusal(), cause, now)
	}
	step, err := p.step(cause, now, nil)
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

// Refuse rejects the payment and its open lines for the given reason. The
// cause's trigger is set to Refused.
func (p *Payment) Refuse(why *Refusal, cause Cause, now time.Time) ([]Step, error) {
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

// Expire ends a payment that never got a definitive status. Its lines stay as
// they are, because nobody knows what became of them.
func (p *Payment) Expire(now time.Time) ([]Step, error) {
	step, err := p.step(Cause{Trigger: Lapsed, Actor: ByService}, now, nil)
	if err != nil {
		return nil, err
	}
	return []Step{step}, nil
}

// step fires the cause and, if that was legal, lets change complete the new
// state before it is copied.
func (p *Payment) step(cause Cause, now time.Time, change func()) (Step, error) {
	transition, err := p.Fire(cause, now)
	if err != nil {
		return Step{}, err
	}
	if change != nil {
		change()
	}
	return Step{Payment: p.clone(), Transition: transition}, nil
}

func (r Report) refusal() *Refusal {
	code := r.Code
	if code == "" {
		code = NoSpecifiedReason
	}
	return &Refusal{Code: code, Description: r.Description}
}

func (r Report) actor() Actor {
	if r.By == "" {
		return ByBank
	}
	return r.By
}
