package initiation

import (
	"cmp"
	"context"
	"slices"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/payment"
)

// SimulatedChange is one change of a payment: a change that a bank could report, or the expiry.
type SimulatedChange struct {
	// State is the next state of the payment. If Instruction is set, State is the next state of that
	// instruction.
	State payment.State
	// Code is the reason why a payment or an instruction is rejected. Empty means
	// noSpecifiedReason.
	Code payment.ErrorCode
	// Instruction is the position of an instruction, from 0. Nil means the whole payment.
	Instruction *int
}

// simulated takes the place of the bank's status word in the timeline.
const simulated = "simulated"

// Simulate makes one change of a payment in a sandbox domain. It fails with NotFound in a live
// domain, and with Invalid for an invalid change. It fails with Conflict when the state does not
// permit the change, or when another act on the payment is under way.
func (i *Initiation) Simulate(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID, s SimulatedChange, acts ...store.Audit) (*payment.Payment, error) {
	if d.Kind != passerelle.Sandbox {
		return nil, passerelle.Missing()
	}
	bank, err := i.idle(ctx, d, id)
	if err != nil {
		return nil, err
	}
	p := bank.payment
	steps, err := i.simulate(bank, s)
	if err != nil {
		return nil, err
	}
	check := i.nextCheck(d, p, payment.Report{})
	if bank.attempt.Number == 0 {
		check = nil // no bank has the order, so no check is planned
	}
	return p, raced(i.commit(ctx, d, p, steps, check, i.onRecord(d, nil, acts)))
}

func (i *Initiation) simulate(bank bankSession, s SimulatedChange) ([]payment.Step, error) {
	if err := s.check(bank.payment); err != nil {
		return nil, err
	}
	if s.State == payment.Expired {
		return bank.payment.Expire(i.now(bank.domain))
	}
	from := bank.payment.State
	steps, err := bank.payment.Apply(s.report(bank.payment), i.now(bank.domain))
	if err != nil || (s.Instruction == nil && bank.payment.State != s.State) {
		return nil, s.illegal(from)
	}
	return steps, nil
}

func (s SimulatedChange) illegal(from payment.State) error {
	return passerelle.Conflicting("The state cannot change from %s to %s here.", from, s.State)
}

// check fails for an invalid change, and for a change of the payment that is no edge of the state
// table.
func (s SimulatedChange) check(p *payment.Payment) error {
	rejects := s.State == payment.Rejected || s.State == payment.Partial
	edge := func(e payment.Edge) bool { return e.From == p.State && e.To == s.State }
	switch {
	case !slices.Contains(payment.States(), s.State):
		return passerelle.InvalidField("state", "must be one of %q", s.State.Values())
	case s.Code != "" && !slices.Contains(payment.ErrorCodes(), s.Code):
		return passerelle.InvalidField("error_code", "must be one of %q", s.Code.Values())
	case s.Code != "" && !rejects:
		return passerelle.InvalidField("error_code", "is only for the states rejected and partial")
	case s.Instruction != nil:
		return s.checkLine(p)
	case !slices.ContainsFunc(payment.Edges(), edge):
		return s.illegal(p.State)
	}
	return nil
}

func (s SimulatedChange) checkLine(p *payment.Payment) error {
	n := *s.Instruction
	switch {
	case n < 0 || n >= len(p.Instructions):
		return passerelle.InvalidField("instruction", "must be from 0 to %d", len(p.Instructions)-1)
	case !slices.Contains([]payment.State{payment.Done, payment.Accepted, payment.Rejected}, s.State):
		return passerelle.InvalidField("state", "must be done, accepted or rejected for an instruction")
	case p.State != payment.Pending || p.Instructions[n].State != payment.InstructionPending:
		return passerelle.Conflicting("Instruction %d of the payment is not pending.", n)
	}
	return nil
}

// report returns the report of a bank that causes the change.
func (s SimulatedChange) report(p *payment.Payment) payment.Report {
	if s.Instruction != nil {
		return payment.Report{Status: payment.Processing, Raw: simulated, Lines: []payment.Line{s.line(*s.Instruction, s.State)}}
	}
	if report, plain := reports[s.State]; plain {
		report.Raw, report.Code = simulated, s.code()
		return report
	}
	settled := payment.Report{Status: payment.Settled, Raw: simulated}
	if s.State == payment.Partial {
		settled.Lines = s.refused(p)
		return settled
	}
	for n := range p.Instructions {
		settled.Lines = append(settled.Lines, s.line(n, s.State))
	}
	return settled
}

// refused returns the rejection that makes a payment partial: of the first open instruction, unless
// an instruction is rejected already.
func (s SimulatedChange) refused(p *payment.Payment) []payment.Line {
	in := func(state payment.InstructionState) int {
		return slices.IndexFunc(p.Instructions, func(in payment.Instruction) bool { return in.State == state })
	}
	open := in(payment.InstructionPending)
	if open < 0 || in(payment.InstructionRejected) >= 0 {
		return nil
	}
	return []payment.Line{s.line(open, payment.Rejected)}
}

// reports maps states to reports without instructions.
var reports = map[payment.State]payment.Report{
	payment.Validating: {Status: payment.Awaiting, Action: payment.Decoupled},
	payment.Pending:    {Status: payment.Processing},
	payment.Rejected:   {Status: payment.Declined},
}

func (s SimulatedChange) line(n int, state payment.State) payment.Line {
	line := payment.Line{Position: n, State: payment.InstructionState(state)}
	if state == payment.Rejected {
		line.Code = s.code()
	}
	return line
}

func (s SimulatedChange) code() payment.ErrorCode { return cmp.Or(s.Code, payment.NoSpecifiedReason) }
