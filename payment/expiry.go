package payment

import (
	"time"

	"passerelle"
)

// ExpiresFrom is the instant from which the days count after which a payment
// without a definitive status expires: its creation until it is validated, and
// then the end of what the bank was asked for. Days begin at midnight UTC. It
// is nil for a payment that ended, and for an active periodic order without an
// end, which may go on for ever.
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

// lastExecution is when the last of the lines is to be executed for the last
// time; never before the payment was validated.
func (p *Payment) lastExecution(validated time.Time) time.Time {
	latest := validated
	for _, in := range p.Instructions {
		if day := in.lastDay(validated); !day.IsZero() && day.In(time.UTC).After(latest) {
			latest = day.In(time.UTC)
		}
	}
	return latest
}

// lastDay is the last day on which the line is to be executed, or no date when
// it is to be executed at once or has no end.
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
