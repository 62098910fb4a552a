package initiation

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/payment"
)

// A payment is asked about again after a quarter of its age, so that a fast
// one is seen to end fast and a slow one costs little. A bank may ask for
// another wait, within reason: a loop must neither spin nor forget.
const (
	shortestWait  = 15 * time.Second
	longestWait   = 6 * time.Hour
	shortestAsked = time.Second
	longestAsked  = 24 * time.Hour
)

// batch is how many payments one pass takes over at a time. All of them are
// attended to at once: what waits for its turn could outlive its lease.
const batch = 32

// Done counts what one pass did.
type Done struct {
	// Checked payments were asked about; Recovered ones had an attempt that
	// nobody was working on any more.
	Checked, Recovered int
}

// RunDue does what is due in a domain: it recovers interrupted attempts and
// asks banks about payments whose time has come, a batch of each, and returns
// when all is done. A failure with one payment is logged, plans the next
// attempt at it and leaves the others alone. The error is that of the database
// or of the context.
func (i *Initiation) RunDue(ctx context.Context, d passerelle.Domain) (Done, error) {
	var interrupted, due []int64
	err := i.DB.Write(ctx, func(tx *store.Tx) error {
		tx.ClaimAttempts(d.ID, i.lease(), batch, &interrupted)
		tx.DuePayments(d.ID, i.now(d), i.lease(), batch, &due)
		return nil
	})
	if err != nil {
		return Done{}, fmt.Errorf("claim due payments: %w", err)
	}
	var work sync.WaitGroup
	for _, id := range interrupted {
		work.Go(func() { i.attend(ctx, d, passerelle.PaymentID(id), i.settle) })
	}
	for _, id := range due {
		work.Go(func() { i.attend(ctx, d, passerelle.PaymentID(id), i.check) })
	}
	work.Wait()
	return Done{Checked: len(due), Recovered: len(interrupted)}, ctx.Err()
}

// attend does one thing about one payment. Who lost a race has nothing to
// report, and neither has who was told to stop: the lease lapses, and what was
// begun is done again.
func (i *Initiation) attend(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID, do func(context.Context, passerelle.Domain, passerelle.PaymentID) error) {
	err := guard(func() error { return do(ctx, d, id) })
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrConflict) {
		i.Log.WarnContext(ctx, "a due payment could not be attended to", "payment", id, "error", err)
	}
}

// check asks the bank about a payment that was sent and stores what it says.
// One whose attempt is not answered yet is not for check to settle.
func (i *Initiation) check(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID) error {
	t, err := i.conversation(ctx, d, id)
	if err != nil || t.payment.State.Final() || t.attempt.State != store.AttemptAnswered {
		return err
	}
	report, err := i.ask(ctx, t, status)
	if err == nil {
		_, err = i.apply(ctx, t, report)
	}
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return errors.Join(err, i.postpone(ctx, t, payment.Report{}))
	}
	return err
}

// apply stores what a report makes of a payment and returns the payment as it
// then stands. When the payment changed meanwhile, the report is applied to what
// it changed to: the payment's own rules drop what is old news by then.
func (i *Initiation) apply(ctx context.Context, t conversation, report payment.Report) (*payment.Payment, error) {
	p, err := i.applyOnce(ctx, t, report)
	if !errors.Is(err, store.ErrConflict) {
		return p, err
	}
	t, err = i.conversation(ctx, t.domain, t.payment.ID)
	if err != nil {
		return nil, err
	}
	return i.applyOnce(ctx, t, report)
}

// applyOnce stores the outcome, the attempt's being answered with it, in one
// transaction. It leaves the payment of the conversation as it was.
func (i *Initiation) applyOnce(ctx context.Context, t conversation, report payment.Report) (*payment.Payment, error) {
	p := *t.payment
	answered := t.attempt.State == store.AttemptAnswered
	steps, err := p.Apply(report, i.now(t.domain))
	switch {
	case errors.Is(err, payment.ErrStale) && !answered:
		return t.payment, i.dismiss(ctx, t)
	case errors.Is(err, payment.ErrStale), err == nil && answered && reflect.DeepEqual(*t.payment, p):
		return t.payment, i.postpone(ctx, t, report)
	case err != nil:
		return t.payment, fmt.Errorf("apply the bank's report to payment %d: %w", p.ID, err)
	}
	err = i.commit(ctx, t.domain, &p, steps, i.nextCheck(t.domain, &p, report), func(tx *store.Tx) {
		if !answered {
			tx.AnswerAttempt(t.attempt)
		}
	})
	return &p, err
}

// nextCheck is when the bank is to be asked again; never about a final state.
func (i *Initiation) nextCheck(d passerelle.Domain, p *payment.Payment, report payment.Report) *time.Time {
	if p.State.Final() {
		return nil
	}
	now := i.now(d)
	wait := min(max(now.Sub(p.Created)/4, shortestWait), longestWait)
	if report.CheckAfter > 0 {
		wait = min(max(report.CheckAfter, shortestAsked), longestAsked)
	}
	next := now.Add(wait)
	return &next
}

// postpone plans the next question after an answer that changed nothing, or
// that did not come.
func (i *Initiation) postpone(ctx context.Context, t conversation, report payment.Report) error {
	next := i.nextCheck(t.domain, t.payment, report)
	if next == nil {
		return nil
	}
	return i.DB.Write(ctx, func(tx *store.Tx) error {
		tx.PostponeCheck(t.payment, *next)
		return nil
	})
}
