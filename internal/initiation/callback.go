package initiation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/payment"
)

// systematicSince is the creation date from which domains send an event for every change of state.
// Domains that are older send no event for a state that the payer brings to the client's callback.
// A setting can change that for each domain.
var systematicSince = time.Date(2024, time.September, 13, 0, 0, 0, 0, time.UTC)

// systematic reports whether the domain sends an event for every change of state.
func systematic(d passerelle.Domain, values settings.Values) bool {
	if values.Text(settings.Systematic) == "" {
		return !d.Created.Before(systematicSince)
	}
	return values.On(settings.Systematic)
}

// heldUntil is until when the event of a payment's step waits for the payer to
// return, zero when it does not wait.
func heldUntil(d passerelle.Domain, values settings.Values, step payment.Step) time.Time {
	grace := time.Duration(values.Int(settings.CallbackGrace)) * time.Minute
	if step.Payment.Returned != nil || grace == 0 || systematic(d, values) {
		return time.Time{}
	}
	return step.Transition.At.Add(grace)
}

// Returned records that the payer is about to be sent to the client's callback with the state of
// the payment. It returns the payment whose state to send. In domains that do not send every
// event, undelivered events about this state and earlier ones are dropped.
//
// A payment that keeps changing, or a database that fails, does not keep the payer from returning.
// The client's webhooks then get events about states that the payer has brought already.
func (i *Initiation) Returned(ctx context.Context, d passerelle.Domain, p *payment.Payment) *payment.Payment {
	p, err := i.recordReturn(ctx, d, p)
	if err != nil {
		i.Log.WarnContext(ctx, "the return of a payer could not be recorded", "payment", p.ID, "error", err)
	}
	return p
}

// mostReturns limits how often the return is recorded again because the payment changed
// meanwhile.
const mostReturns = 5

// recordReturn records the first return while the payment still has the version whose state is
// sent, and otherwise tries again with the newer version. A change at the same time either is part
// of that version, or changes a payment whose payer has returned.
func (i *Initiation) recordReturn(ctx context.Context, d passerelle.Domain, p *payment.Payment) (*payment.Payment, error) {
	values, err := settings.Load(ctx, &i.DB.Reader, d.ID)
	if err != nil || systematic(d, values) {
		return p, err
	}
	for range mostReturns {
		if p.Returned != nil {
			return p, nil
		}
		back := *p
		err = i.storeReturn(ctx, &back, i.now(d))
		if err == nil {
			return &back, nil
		}
		fresh, failure := i.load(ctx, d, p.ID)
		if failure != nil || !errors.Is(err, store.ErrConflict) {
			return p, errors.Join(err, failure)
		}
		p = fresh
	}
	return p, err
}

// storeReturn stores the payer's return, and drops the events that receivers need not get because
// the payer brings the present state.
func (i *Initiation) storeReturn(ctx context.Context, p *payment.Payment, now time.Time) error {
	err := i.DB.Write(ctx, func(tx *store.Tx) error {
		tx.PayerReturned(p, now)
		tx.DropHeldBack(p.Domain, subject, int64(p.ID), p.Seq, now, "the payer brought the news to the callback")
		return nil
	})
	if err != nil {
		return fmt.Errorf("store the return of a payer: %w", err)
	}
	return nil
}
