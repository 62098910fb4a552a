package initiation

import (
	"context"
	"errors"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/jwe"
	"passerelle/internal/store"
	"passerelle/payment"
)

// An Answer is what came back for an action, for callers that know no connectors.
type Answer = connector.Answer

// Answer gives the bank what its present action waits for, and returns the
// payment as it then stands. An answer to another action than the present one,
// or while something else is being done with the payment, is a Conflict; wrong
// field values are Invalid. Saying no to psuValidation or confirm ends the
// payment, and the bank is told. Without an answer of the bank in time, the
// payment is returned as it is stored and a loop finishes; Unavailable means that
// the bank was not told, and that the same may be tried again.
func (i *Initiation) Answer(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID, by payment.Actor, a Answer) (*payment.Payment, error) {
	t, err := i.idle(ctx, d, id)
	if err != nil {
		return nil, err
	}
	if err := t.payment.Expects(a.Action); err != nil {
		return nil, err
	}
	if a, err = i.checkAnswer(ctx, t, a); err != nil {
		return nil, err
	}
	leave, err := i.call(t.attempt.Connector)
	if err != nil {
		return nil, err
	}
	defer leave()
	t.attempt, err = i.follow(ctx, t, store.Attempt{Kind: store.AttemptAnswer, Action: a.Action, Agreed: a.Yes, By: by})
	if err != nil {
		return nil, err
	}
	return i.send(ctx, t, answer(a))
}

// idle loads a conversation for which nothing is under way. There is no attempt
// in it when none was ever made.
func (i *Initiation) idle(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID) (conversation, error) {
	t, err := i.conversation(ctx, d, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return t, nil
	case err != nil:
		return t, err
	case t.attempt.Live() && !t.payment.State.Final():
		return t, underWay()
	}
	return t, nil
}

// follow commits the intent to tell the bank more about an order it has.
func (i *Initiation) follow(ctx context.Context, t conversation, next store.Attempt) (store.Attempt, error) {
	if t.attempt.Number == 0 {
		return next, passerelle.Conflicting("No bank has an order of this payment.")
	}
	next.Payment, next.Domain, next.Number, next.Created = t.payment.ID, t.domain.ID, t.attempt.Number+1, i.now(t.domain)
	next.Order = t.attempt.Order
	return next, i.begin(ctx, t.payment, &next, i.nextCheck(t.domain, t.payment, payment.Report{}))
}

// checkAnswer checks what comes with an answer. Values of fields count as
// consent.
func (i *Initiation) checkAnswer(ctx context.Context, t conversation, a Answer) (Answer, error) {
	if a.Action == payment.Decoupled && !a.Yes {
		return a, passerelle.InvalidField("resume", "must be true")
	}
	if a.Action != payment.FillFields {
		return a, nil
	}
	values, err := jwe.Open(ctx, &i.DB.Reader, t.domain, fieldPrefix, a.Fields)
	if err != nil {
		return a, err
	}
	if err := boundFields(values); err != nil {
		return a, err
	}
	a.Yes = true
	a.Fields, err = takeFields(t.payment.Fields, values)
	return a, err
}
