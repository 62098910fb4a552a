package payment

import (
	"time"

	"passerelle"
)

// ExpiresFrom returns the instant from which the days until expiry are counted. Before validation,
// this is the creation of the payment. After validation, it is the last execution that the order
// requests, but never before the validation. Days begin at midnight UTC. The result is nil for a
// payment that has ended, and for a pending periodic payment without an end.
func (p *Payment) ExpiresFrom() *time.Time {
	from := p.Created
	switch {
	case p.State.Final(), p.State == Pending && p.endless():
		return nil
	case p.State != Created && p.Validated != nil:
		from = p.lastExecution(*p.Validated)
	}
	return &from
}

func (p *Payment) endless() bool {
	return p.DateType() == Periodic && p.Instructions[0].EndDate.IsZero()
}

// lastExecution returns the start of the last day on which an instruction is due, but never a time
// before the validation.
func (p *Payment) lastExecution(validated time.Time) time.Time {
	latest := validated
	for _, in := range p.Instructions {
		if day := in.lastDay(validated); !day.IsZero() && day.In(time.UTC).After(latest) {
			latest = day.In(time.UTC)
		}
	}
	return latest
}

// lastDay returns the last day on which the instruction is due. It returns the zero date for an
// instruction that is due immediately or has no end.
func (in Instruction) lastDay(validated time.Time) passerelle.Date {
	switch {
	case in.DateType == FirstOpenDay:
		return NextOpenDay(validated, in.Beneficiary.Scheme)
	case in.DateType == Deferred:
		return in.ExecutionDate
	case in.DateType == Periodic && !in.EndDate.IsZero():
		return in.lastOccurrence()
	}
	return passerelle.Date{}
}
