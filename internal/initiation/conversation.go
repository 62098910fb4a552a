package initiation

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/store"
	"passerelle/payment"
)

// conversation is what is needed to speak with a bank about one order: the
// payment as it was loaded, its attempt, and the connector it went through.
type conversation struct {
	domain  passerelle.Domain
	payment *payment.Payment
	attempt store.Attempt
	// bank is nil when this program does not have the connector any more.
	bank connector.Initiator
}

// conversation loads all of it; a payment that was never sent has none. The
// attempt comes second: one that is not answered then was not when the payment
// was loaded either.
func (i *Initiation) conversation(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID) (conversation, error) {
	p, err := i.load(ctx, d, id)
	if err != nil {
		return conversation{}, err
	}
	a, err := i.DB.Attempt(ctx, d.ID, id)
	if err != nil {
		return conversation{}, fmt.Errorf("load the attempt of payment %d: %w", id, err)
	}
	c, _ := i.Connectors.Initiator(a.Connector)
	return conversation{domain: d, payment: p, attempt: a, bank: c}, nil
}

// order is the order as the bank gets it. The lines are copied, so that a
// connector can do with them what it likes.
func (i *Initiation) order(t conversation) connector.Order {
	p := *t.payment
	p.Instructions = slices.Clone(p.Instructions)
	return connector.Order{
		Domain: t.domain.ID, Key: t.attempt.Key, Payment: p, Mechanism: t.attempt.Mechanism, Fields: t.attempt.Fields,
		ReturnURL: i.returnURL(t.domain, p.ID), Now: i.now(t.domain),
	}
}

// errNoConnector is the answer of a connector that is gone.
var errNoConnector = errors.New("this program does not have the connector the order went through")

// question is one of the calls of a connector, or several in a row.
type question func(context.Context, connector.Initiator, connector.Order) (payment.Report, error)

// ask puts a question to the bank, within the time a caller waits. A refusal
// is an answer like any other. A connector that panics has not answered, and
// nothing else stops because of it.
func (i *Initiation) ask(ctx context.Context, t conversation, put question) (report payment.Report, err error) {
	if t.bank == nil {
		return report, fmt.Errorf("%w: %s", errNoConnector, t.attempt.Connector)
	}
	ctx, cancel := context.WithTimeout(ctx, i.answerTime())
	defer cancel()
	err = guard(func() error {
		report, err = put(ctx, t.bank, i.order(t))
		return err
	})
	var refusal *payment.Refusal
	if errors.As(err, &refusal) {
		return payment.Report{Status: payment.Declined, Code: refusal.Code, Description: refusal.Description, Raw: "refused"}, nil
	}
	return report, err
}

// guard turns a panic into an error.
func guard(do func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n\n%s", value, debug.Stack())
		}
	}()
	return do()
}

// initiate sends the order.
func initiate(ctx context.Context, bank connector.Initiator, o connector.Order) (payment.Report, error) {
	return bank.Initiate(ctx, o)
}

// status asks what became of the order.
func status(ctx context.Context, bank connector.Initiator, o connector.Order) (payment.Report, error) {
	return bank.Status(ctx, o)
}

// statusOrResend asks what became of the order and sends it again if the bank
// has never seen its key and is known to recognise keys.
func statusOrResend(ctx context.Context, bank connector.Initiator, o connector.Order) (payment.Report, error) {
	report, err := bank.Status(ctx, o)
	if errors.Is(err, connector.ErrUnknownOrder) && bank.Profile().Idempotent {
		return bank.Initiate(ctx, o)
	}
	return report, err
}
