package payment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"passerelle"
)

// Status is the bank's status of a whole order.
type Status string

// These are the statuses into which connectors translate the statuses of their banks.
const (
	// Awaiting means that the bank has the order, and that the order waits for an action of the
	// payer or the client.
	Awaiting Status = "awaiting"
	// Processing means that the payer validated the order, and that the bank has not confirmed the
	// execution.
	Processing Status = "processing"
	// Settled means that every instruction is in a final state. Lines contains these states. An
	// instruction without a Line is done.
	Settled Status = "settled"
	// Declined means that the bank refuses the whole order, with Code. If some instructions are
	// done or accepted, the payment becomes partial.
	Declined Status = "declined"
)

// Line is the bank's status of one instruction. Position counts from 0.
type Line struct {
	Position    int
	State       InstructionState
	Code        ErrorCode
	Description string
	Executed    passerelle.Date
}

// Report is what a bank reports about an order. Its content is untrusted: Apply refuses invalid
// reports, shortens long texts, and accepts only changes in the state table.
type Report struct {
	Status Status
	// Action, ValidateURI and Fields define what the payer or the client has to do while Status is
	// Awaiting, or what the payer has to do to approve a cancellation.
	Action      Action
	ValidateURI string
	Fields      []Field
	// Lines may accompany every status except Awaiting. Once all instructions are in a final state,
	// their states decide the state of the payment, regardless of Status.
	Lines []Line
	// Code is the reason why an order was declined. An unknown code is appended to Raw, and becomes
	// NoSpecifiedReason.
	Code          ErrorCode
	Description   string
	BankPaymentID string
	// Raw is the bank's own status word, which the timeline shows.
	Raw string
	// StatusChanged means that the bank's status word differs from the last one. The timeline then
	// gets a note even when nothing else changes. Remark is a text of the bank in addition to the
	// status word. A remark always gets a note.
	StatusChanged bool
	Remark        string
	// Unproved means that an order which is Awaiting may have been approved, because the bank does
	// not show approvals. If the payer abandons a payment with such an order, the payment waits for
	// the bank's next status, or expires.
	Unproved bool
	// Requests names the calls to the bank that led to the report, oldest first, each with the id
	// that the bank knows: "status 7f3c…, authorise 91aa…". The timeline shows it, for inquiries at
	// the bank.
	Requests string
	// By is the actor who ended a declined order. Empty means the bank.
	By Actor
	// Cancellation is the bank's status of a requested cancellation, empty without a request.
	// Status is still the status of the order. If Cancellation is CancellationAwaiting and Action
	// is empty, Action counts as Redirect.
	Cancellation Cancellation
	// Occurrences are the executions of a periodic order so far, oldest first. They may accompany
	// every status except Awaiting. If a bank reports no executions, its connector settles the
	// instruction as accepted.
	Occurrences []Occurrence
	// CheckAfter is how long the service should wait before it next asks the bank. Zero lets the
	// service decide.
	CheckAfter time.Duration
	// Memory is data for the connector's next call about the order. If it is nil, the stored data
	// stays. Memory is stored encrypted, even when the call returns an error.
	Memory []byte
}

// Cancellation is the bank's status of a cancellation.
type Cancellation string

// These are the statuses of a cancellation. A granted cancellation ends the order with the
// requester's code. A refused cancellation does not change the order.
const (
	CancellationAwaiting Cancellation = "awaiting" // the payer has to approve; Action says how
	CancellationGranted  Cancellation = "granted"
	CancellationRefused  Cancellation = "refused"
)

// Occurrence is one execution of a periodic order. Code is empty unless the execution failed. A
// failed execution does not end the order.
type Occurrence struct {
	Day  passerelle.Date
	Code ErrorCode
}

// Refusal is a bank's refusal of an order for a business reason. The only other connector error
// that rejects a payment is connector.ErrNotSent for a new order, or for the answer "no" to Confirm
// or PSUValidation if the question is about the payment and not about its cancellation.
type Refusal struct {
	Code        ErrorCode
	Description string
	// Remark is a text of the bank for the timeline, such as its opinion of the operator's
	// certificate. Unlike Description, it reaches neither the payer nor the client.
	Remark string
}

// Error describes why the bank refused.
func (r *Refusal) Error() string { return "refused by the bank: " + string(r.Code) }

// Step is a payment in its state after one transition. A report that skips states results in one
// step for each state, because each state causes an event.
type Step struct {
	Payment    Payment
	Transition Transition
}

// ErrStale is returned by Apply for a report that is older than the stored data, or about a payment
// that has ended.
var ErrStale = errors.New("report is older than the payment")

// Apply changes the payment to the state in the report, through every state in between, and returns
// a step for each transition. The last step contains the resulting payment. A report that repeats
// the stored data returns no step. Apply fails with ErrStale when the report is older than the
// stored data or the payment is in a final state. It fails with ErrSenseless when the report is
// invalid. Both errors add a note, which the caller must store despite the error. Any other error
// changes nothing. Apply never changes earlier copies of the payment.
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
		next.Notes[i].Bank, next.Notes[i].Requests = reported.Raw, reported.Requests
	}
	if reported.Remark != "" || reported.StatusChanged && len(steps) == 0 && len(next.Notes) == len(p.Notes) {
		next.add(Note{At: now, Kind: NoteBankStatus, Actor: ByBank, Bank: reported.Raw, Text: reported.Remark, Requests: reported.Requests})
	}
	if len(steps) > 0 {
		steps[len(steps)-1].Payment = next.clone()
	}
	*p = next
	return steps, nil
}

// follows returns the reason why a report cannot be applied. After the payer's approval, a report
// with status Awaiting is stale unless it grants a cancellation, or answers a requested one.
func (p *Payment) follows(r Report) error {
	answers := r.Cancellation == CancellationGranted || r.Cancellation != "" && p.CancelCode != ""
	if behind := r.Status == Awaiting && p.State == Pending && !answers; behind || p.State.Final() {
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
		p.openLines() // the payment skips the states in between
		return p.close(r, nil, now)
	}
	steps, err := p.reach(r, now)
	if err != nil || r.Status == Awaiting {
		return steps, err
	}
	return p.close(r, steps, now)
}

// close applies the bank's statuses of instructions, and derives the state of the payment from
// them. It appends the last step to steps.
func (p *Payment) close(r Report, steps []Step, now time.Time) ([]Step, error) {
	p.applyLines(r.Lines)
	p.closeLines(r, now)
	last, err := p.rollUp(r, now)
	return append(steps, last...), err
}

// reach changes the state to Validating and, once the payer has validated, to Pending.
func (p *Payment) reach(r Report, now time.Time) ([]Step, error) {
	var steps []Step
	if p.State == Created {
		step, err := p.step(Cause{Trigger: Validated, Actor: ByPayer, Bank: r.Raw, Requests: r.Requests}, now, func() {
			p.askUnlessCancelling(r)
			p.openLines()
		})
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	if r.Status == Awaiting && p.State == Validating {
		p.askUnlessCancelling(r)
	}
	if r.Status != Awaiting && p.State == Validating {
		step, err := p.step(Cause{Trigger: Approved, Actor: ByPayer, Bank: r.Raw, Requests: r.Requests}, now, func() { p.askUnlessCancelling(Report{}) })
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

// askUnlessCancelling stores the next action, unless the payment waits for the approval of a
// cancellation.
func (p *Payment) askUnlessCancelling(r Report) {
	if p.Detail != Cancelling {
		p.ask(r)
	}
}

// openLines makes every instruction pending once the bank has the order.
func (p *Payment) openLines() {
	for i := range p.Instructions {
		p.Instructions[i].State = InstructionPending
	}
}

// applyLines applies the bank's statuses of single instructions. An instruction in a final state
// does not change.
func (p *Payment) applyLines(lines []Line) {
	for _, line := range lines {
		in := &p.Instructions[line.Position]
		if in.State == InstructionPending && line.State != InstructionPending {
			in.State, in.ErrorCode, in.ErrorDescription = line.State, line.Code, line.Description
			in.addExecution(line.Executed)
		}
	}
}

// closeLines ends the instructions that are still open, if the status is Settled or Declined.
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
			in.addExecution(cmp.Or(in.Executed, day))
		}
	}
}

// addExecution stores the day of execution if it is later than the stored one. A periodic
// instruction has several executions.
func (in *Instruction) addExecution(day passerelle.Date) {
	if day.Compare(in.Executed) > 0 {
		in.Executed = day
	}
}

// applyOccurrences stores the days of new executions of a periodic order. It adds a note for each,
// also for a failed execution. After a failure, the bank may succeed on the same day.
func (p *Payment) applyOccurrences(all []Occurrence, now time.Time) {
	in := &p.Instructions[0]
	reported, executed := cmp.Or(in.Occurred, in.Executed), in.Executed
	var notes []Note
	for _, one := range all {
		if one.Code == "" {
			in.addExecution(one.Day)
		}
		repeated := one.Code == "" && one.Day == reported && one.Day.Compare(executed) > 0
		if repeated || one.Day.Compare(reported) > 0 {
			in.Occurred = one.Day
			kind, text := one.note()
			notes = append(notes, Note{At: now, Kind: kind, Actor: ByBank, Text: text, Day: one.Day})
		}
	}
	p.add(notes...)
}

// note returns the kind and the text of a note about the occurrence.
func (o Occurrence) note() (string, string) {
	if o.Code == "" {
		return NoteOccurrence, o.Day.String()
	}
	return NoteOccurrenceFailed, o.Day.String() + " " + string(o.Code)
}

// rollUp derives the state of the payment from its instructions.
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

// outcome returns the trigger that follows from the states of the instructions. It returns false
// while an instruction is pending.
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

// firstRefusal returns the reason of the first rejected instruction, which becomes the payment's
// reason.
func (p *Payment) firstRefusal() *Refusal {
	i := slices.IndexFunc(p.Instructions, func(in Instruction) bool { return in.State == InstructionRejected })
	if i < 0 {
		return &Refusal{Code: NoSpecifiedReason}
	}
	return &Refusal{Code: p.Instructions[i].ErrorCode, Description: p.Instructions[i].ErrorDescription}
}

// Refuse rejects the payment and its open instructions. The reason is cut to the limits for texts
// in a report. The cause's trigger is set to Refused. Refuse fails with ErrIllegal for a payment
// that has ended, and then changes nothing.
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

// Expire ends a payment that never got a definitive status. It does not change the instructions,
// because their outcome is unknown: a bank may execute an order even if its payer seemed absent.
// Expire fails with ErrIllegal for a payment that has ended, and then changes nothing.
func (p *Payment) Expire(now time.Time) ([]Step, error) {
	step, err := p.step(Cause{Trigger: Lapsed, Actor: ByService}, now, nil)
	if err != nil {
		return nil, err
	}
	return []Step{step}, nil
}

// step fires the cause, completes the new state with a function, and then copies the payment. It
// copies the instructions before it calls the function, so that earlier copies of the payment do
// not change.
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
	return Cause{Trigger: trigger, Actor: r.By, Bank: r.Raw, Requests: r.Requests}
}

// pays reports whether the report contains an instruction that moves money from the payer's
// account.
func (r Report) pays() bool {
	return slices.ContainsFunc(r.Lines, func(l Line) bool {
		return l.State == InstructionDone || l.State == InstructionAccepted
	})
}
