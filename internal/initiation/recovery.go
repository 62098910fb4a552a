package initiation

import (
	"context"
	"errors"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/payment"
)

// settle closes an attempt whose caller died or was left without an answer, by
// asking the bank, unless the caller was alive and answered it after all. Only
// for a payment that still waits for it is the order sent again, if at all. That
// a resend never left is no proof that the first order did not: it leaves the
// outcome as unknown as any other failure.
func (i *Initiation) settle(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID) error {
	t, err := i.conversation(ctx, d, id)
	if err != nil || t.attempt.State == store.AttemptAnswered {
		return err
	}
	if t.payment.State != payment.Created {
		return i.dismiss(ctx, t)
	}
	report, err := i.ask(ctx, t, statusOrResend)
	if err == nil {
		_, err = i.apply(ctx, t, report)
	}
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return errors.Join(err, i.doubt(ctx, t))
	}
	return err
}

// doubt plans the next question about an attempt, waiting longer each time.
func (i *Initiation) doubt(ctx context.Context, t conversation) error {
	wait := min(shortestWait<<min(t.attempt.Asked, 20), longestWait)
	return i.DB.Write(ctx, func(tx *store.Tx) error {
		tx.DoubtAttempt(t.attempt, wait)
		return nil
	})
}

// dismiss closes the attempt of a payment that ended without it. Nobody asks
// about it any more; operators are told, because the bank may have an order.
func (i *Initiation) dismiss(ctx context.Context, t conversation) error {
	i.Log.WarnContext(ctx, "a payment ended before the outcome of its order was known", "payment", t.payment.ID, "state", t.payment.State)
	return i.DB.Write(ctx, func(tx *store.Tx) error {
		tx.AnswerAttempt(t.attempt)
		return nil
	})
}
