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

// Domains created at systematicSince or later deliver the events of all changes of state. Older
// domains drop held-back deliveries about states that the redirect to the client's callback
// reports. The setting settings.Systematic takes precedence.
var systematicSince = time.Date(2024, time.September, 13, 0, 0, 0, 0, time.UTC)

// systematic reports whether the domain delivers the events of all changes of state.
func systematic(d passerelle.Domain, values settings.Values) bool {
	if values.Valid(settings.Systematic) == "" {
		return !d.Created.Before(systematicSince)
	}
	return values.On(settings.Systematic)
}

// heldUntil returns the instant until which the event of a step is held back, because the payer may
// return before that instant. It returns zero when the event is not held back.
func heldUntil(d passerelle.Domain, values settings.Values, step payment.Step) time.Time {
	grace := time.Duration(values.Int(settings.CallbackGrace)) * time.Minute
	if step.Payment.Returned != nil || grace == 0 || systematic(d, values) {
		return time.Time{}
	}
	return step.Transition.At.Add(grace)
}

// Returned is called before the payer is redirected to the client's callback with the state of the
// payment. It returns the payment with the state that the redirect must report. In domains that do
// not deliver every event, it records the return, and drops the held-back deliveries about this
// state and about earlier states. It does not record the return of a payer who leaves a payment in
// state created, because no event reports this state, and the payer may come back and pay.
//
// The payer is redirected even if the payment changes repeatedly or the database fails. The
// client's webhooks then also receive events about states that the redirect has already reported.
func (i *Initiation) Returned(ctx context.Context, d passerelle.Domain, p *payment.Payment) *payment.Payment {
	p, err := i.recordReturn(ctx, d, p)
	if err != nil {
		i.Log.WarnContext(ctx, "the return of a payer could not be recorded", "payment", p.ID, "error", err)
	}
	return p
}

// mostReturns limits the tries to record a return, because the payment may change during each try.
const mostReturns = 5

// recordReturn records the first return if the payment still has the version with the reported
// state. Otherwise it tries again with the newer version. A simultaneous change is therefore part
// of the reported state, or happens after the payer's return.
func (i *Initiation) recordReturn(ctx context.Context, d passerelle.Domain, p *payment.Payment) (*payment.Payment, error) {
	values, err := settings.Load(ctx, &i.DB.Reader, d.ID)
	if err != nil || systematic(d, values) {
		return p, err
	}
	if p.State == payment.Created {
		fresh, err := i.load(ctx, d, p.ID)
		if err != nil || fresh.State == payment.Created {
			return p, err
		}
		p = fresh
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

// storeReturn stores the payer's return, and drops held-back deliveries. Receivers do not need
// these deliveries, because the redirect reports the present state.
func (i *Initiation) storeReturn(ctx context.Context, p *payment.Payment, now time.Time) error {
	err := i.DB.Write(ctx, func(tx *store.Tx) error {
		tx.PayerReturned(p, now)
		tx.DropHeldBack(p.Domain, subject, int64(p.ID), p.Seq, now, "the payer's redirect to the callback reported this state")
		return nil
	})
	if err != nil {
		return fmt.Errorf("store the return of a payer: %w", err)
	}
	return nil
}
