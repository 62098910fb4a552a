package initiation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/failpoint"
	"passerelle/internal/store"
	"passerelle/payment"
)

// conversation is what is needed to speak with a bank about one order: the
// payment as it was loaded, its last attempt, and the connector it went
// through.
type conversation struct {
	domain  passerelle.Domain
	payment *payment.Payment
	attempt store.Attempt
	// bank is nil when this program does not have the connector any more.
	bank connector.Initiator
	// late is set when the payment was changed since the bank was asked: that
	// its report is old news then says nothing about the bank.
	late bool
}

// conversation loads all of it. A payment that was never sent has none: that is
// store.ErrNotFound, and store.ErrSealed that the bank cannot be spoken with;
// the rest comes all the same. The attempt comes second: one that is not
// answered then was not when the payment was loaded either.
func (i *Initiation) conversation(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID) (conversation, error) {
	var p *payment.Payment
	var a store.Attempt
	var err error
	missing := i.DB.Together(ctx,
		func(r *store.Reader) (err error) { p, err = loadBy(ctx, r, d, id); return err },
		func(r *store.Reader) error { a, err = r.Attempt(ctx, d.ID, id); return nil })
	if missing != nil {
		return conversation{}, missing
	}
	if len(p.Instructions) > 1 { // its lines came after the attempt, and perhaps a newer payment with them
		a, err = i.DB.Attempt(ctx, d.ID, id)
	}
	if err != nil {
		err = fmt.Errorf("load the attempt of payment %d: %w", id, err)
	}
	c, _ := i.Connectors.Initiator(a.Connector)
	return conversation{domain: d, payment: p, attempt: a, bank: c}, err
}

// order is the order as the bank gets it. What could be changed is copied, so
// that a connector can do with it what it likes, for as long as it likes.
func (i *Initiation) order(t conversation) connector.Order {
	p := *t.payment
	p.Instructions = slices.Clone(p.Instructions)
	return connector.Order{
		Domain: t.domain.ID, Key: t.attempt.Key, Payment: p, Mechanism: t.attempt.Mechanism,
		Fields: maps.Clone(t.attempt.Fields), ManualConfirmation: t.attempt.Waits,
		ReturnURL: i.returnURL(t.domain, p.ID, t.attempt.Kind), Now: i.now(t.domain),
	}
}

// errNoConnector is the answer of a connector that is gone.
var errNoConnector = errors.New("this program does not have the connector the order went through")

// question is one of the calls of a connector, or several in a row.
type question func(context.Context, connector.Initiator, connector.Order) (payment.Report, error)

// ask puts a question to the bank, within the time a caller waits. A refusal
// is an answer like any other. A connector that panics has not answered, and
// nothing else stops because of it; one that does not heed its deadline is left
// behind, and what it comes back with is not heard.
func (i *Initiation) ask(ctx context.Context, t conversation, put question) (payment.Report, error) {
	if t.bank == nil {
		return payment.Report{}, fmt.Errorf("%w: %s", errNoConnector, t.attempt.Connector)
	}
	ctx, cancel := context.WithTimeout(ctx, i.answerTime())
	defer cancel()
	failpoint.Before("bank")
	report, err := i.listen(ctx, t, put)
	failpoint.After("bank")
	var refusal *payment.Refusal
	if errors.As(err, &refusal) {
		return payment.Report{Status: payment.Declined, Code: refusal.Code, Description: refusal.Description, Raw: "refused"}, nil
	}
	return report, err
}

// listen waits for the answer in another goroutine. When that one is ended
// without an answer, by whatever ends goroutines, so is the caller's.
func (i *Initiation) listen(ctx context.Context, t conversation, put question) (payment.Report, error) {
	answers, o := make(chan heard, 1), i.order(t)
	go func() {
		defer close(answers)
		answers <- hear(func() (payment.Report, error) { return put(ctx, t.bank, o) })
	}()
	patience := time.NewTimer(i.answerTime() + i.answerTime()/10)
	defer patience.Stop()
	select {
	case answer, given := <-answers:
		if !given {
			runtime.Goexit()
		}
		return answer.report, answer.err
	case <-patience.C:
		return payment.Report{}, errDeaf
	}
}

// errDeaf is the answer of a connector that does not come back, a little after
// its deadline.
var errDeaf = errors.New("the connector does not heed its deadline")

// heard is what came back from a connector.
type heard struct {
	report payment.Report
	err    error
}

func hear(put func() (payment.Report, error)) (h heard) {
	h.err = connector.Guard(func() (err error) {
		h.report, err = put()
		return err
	})
	return h
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

// answer passes on what the payer or the client says. A bank that takes no
// answers is asked whether it got one elsewhere.
func answer(a connector.Answer) question {
	return func(ctx context.Context, bank connector.Initiator, o connector.Order) (payment.Report, error) {
		if responder, able := bank.(connector.Responder); able {
			return responder.Answer(ctx, o, a)
		}
		return bank.Status(ctx, o)
	}
}

// cancel asks for a cancellation. That the bank refuses this leaves the order
// where it stands.
func cancel(ctx context.Context, bank connector.Initiator, o connector.Order) (payment.Report, error) {
	canceller, able := bank.(connector.Canceller)
	if !able {
		return payment.Report{}, fmt.Errorf("%w: the connector cannot cancel", connector.ErrNotSent)
	}
	report, err := canceller.Cancel(ctx, o)
	var refusal *payment.Refusal
	if errors.As(err, &refusal) {
		report, err = bank.Status(ctx, o)
		report.Cancellation = payment.CancellationRefused
	}
	return report, err
}
