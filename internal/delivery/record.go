package delivery

import (
	"context"
	"fmt"

	"passerelle"
	"passerelle/internal/store"
)

// account is what goes on record together.
type account struct {
	to        target
	exchanges []exchange
	void      []passerelle.DeliveryID
	// ended tells that failures have ended the run.
	ended bool
	// flushed is up to where the flusher has come, zero when no further.
	flushed passerelle.DeliveryID

	counts Counts
	// following is at the head of its subject now.
	following page
	// unwanted tells that the webhook was deleted or disabled meanwhile.
	unwanted bool
	err      error
}

// enter puts a batch on record and renews the lease, all or nothing: when the
// lease has lapsed, somebody else may have sent the same. A failure calls the
// flusher.
func (t *turn) enter(ctx context.Context, a account) account {
	now := a.to.clock.Now(t.Now())
	b := store.Batch{
		Holder: t.holder, Lease: a.to.lease(), Void: a.void, Stopped: a.ended,
		NextFlush: now.Add(a.to.interval), FlushAfter: a.flushed, Now: now,
	}
	b.Attempts = make([]store.DeliveryAttempt, 0, len(a.exchanges))
	for _, x := range a.exchanges {
		b.Attempts = append(b.Attempts, x.attempt)
		if x.user != 0 && x.attempt.Failure == "" {
			b.Told = append(b.Told, x.event)
		}
	}
	w, err := a.to.webhook, error(nil)
	t.calmly(func() {
		ctx, cancel := recording(ctx)
		defer cancel()
		err = t.DB.Write(ctx, func(tx *store.Tx) error {
			err := tx.RecordBatch(w, b)
			tx.Unwanted(w, &a.unwanted)
			return err
		})
	})
	if err != nil {
		a.err = fmt.Errorf("record %d attempts: %w", len(a.exchanges), err)
		return a
	}
	a.counts = tally(b.Attempts)
	a.following = t.following(ctx, a)
	return a
}

// following is a page of what the accepted and the void of a batch came before,
// and empty when nothing more is to be sent.
func (t *turn) following(ctx context.Context, a account) (p page) {
	over := a.void
	for _, x := range a.exchanges {
		if x.attempt.Failure == "" {
			over = append(over, x.delivery)
		}
	}
	if len(over) == 0 || a.ended {
		return p
	}
	t.calmly(func() {
		if p.to, p.err = t.load(ctx); p.err == nil {
			p.found, p.err = t.DB.Following(ctx, over)
		}
	})
	if p.err != nil {
		p.err = fmt.Errorf("list what follows %d deliveries: %w", len(over), p.err)
	}
	return p
}

func tally(attempts []store.DeliveryAttempt) (counts Counts) {
	for _, a := range attempts {
		if a.Failure == "" {
			counts.Delivered++
		} else {
			counts.Failed++
		}
	}
	return counts
}
