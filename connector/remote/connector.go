package remote

import (
	"context"

	"passerelle/connector"
	"passerelle/payment"
)

// Connector returns a connector that calls the program. The profile comes from an earlier
// description, so an unreachable program still has a connector. The connectors of the zero Program
// describe themselves but cannot be called. Connector fails when the profile is wrong.
func (p *Program) Connector(described Profile, number int64) (connector.Connector, error) {
	if err := described.Check(); err != nil {
		return nil, err
	}
	c := remote{p, described, described.withNumber(number)}
	pays, reads := payer{c}, reader{c}
	switch cancels := described.Payments != nil && described.Payments.Cancellable; {
	case described.Payments == nil:
		return reads, nil
	case described.Data == nil && cancels:
		return canceller{pays}, nil
	case described.Data == nil:
		return pays, nil
	case cancels:
		return readingCanceller{canceller{pays}, reads}, nil
	}
	return readingPayer{pays, reads}, nil
}

// remote is the base of every remote connector.
type remote struct {
	*Program
	described Profile
	profile   connector.Profile
}

// Profile returns the program's profile, and says in Disturbed whether calls to the program are
// suspended because earlier calls failed.
func (r remote) Profile() connector.Profile {
	p := r.profile
	p.Disturbed = r.circuit != nil && r.circuit.Disturbed()
	return p
}

// These are the connectors for the different abilities of programs.
type (
	payer     struct{ remote }
	canceller struct{ payer }
	reader    struct{ remote }

	readingPayer struct {
		payer
		reader
	}
	readingCanceller struct {
		canceller
		reader
	}
)

var (
	_ connector.Responder  = payer{}
	_ connector.Canceller  = canceller{}
	_ connector.FileReader = reader{}
	_ connector.Terminator = reader{}
	_ connector.Monitored  = reader{}
)

// Profile returns the program's profile.
func (r readingPayer) Profile() connector.Profile { return r.payer.Profile() }

// Health returns the health according to recent calls.
func (r readingPayer) Health() connector.BankHealth { return r.payer.Health() }

// Profile returns the program's profile.
func (r readingCanceller) Profile() connector.Profile { return r.canceller.Profile() }

// Health returns the health according to recent calls.
func (r readingCanceller) Health() connector.BankHealth { return r.canceller.Health() }

// Initiate sends the order.
func (p payer) Initiate(ctx context.Context, o connector.Order) (payment.Report, error) {
	return p.order(ctx, callInitiate, o, nil)
}

// Status asks for the state of the order.
func (p payer) Status(ctx context.Context, o connector.Order) (payment.Report, error) {
	return p.order(ctx, callStatus, o, nil)
}

// Answer passes an answer on. For a program that accepts no answers, it asks for the status
// instead.
func (p payer) Answer(ctx context.Context, o connector.Order, a connector.Answer) (payment.Report, error) {
	if !p.described.Answers {
		return p.Status(ctx, o)
	}
	return p.order(ctx, callAnswer, o, &a)
}

// Cancel asks the program to cancel the order.
func (c canceller) Cancel(ctx context.Context, o connector.Order) (payment.Report, error) {
	return c.order(ctx, callCancel, o, nil)
}

func (r remote) order(ctx context.Context, call string, o connector.Order, a *connector.Answer) (payment.Report, error) {
	var got orderAnswer
	if err := r.call(ctx, call, orderCall{r.deadline(ctx), newOrder(o), a}, &got); err != nil {
		return payment.Report{}, err
	}
	if got.Error != nil {
		return payment.Report{Memory: got.Report.Memory, CheckAfter: got.Report.CheckAfter}, got.Error.err()
	}
	return got.Report, nil
}
