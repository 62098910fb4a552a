package delivery

import (
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

// resultBatch is what goes on record together.
type resultBatch struct {
	to      target
	results []result
	void    []passerelle.DeliveryID
	// lease is for how long the webhook is kept from then on, and until the earliest
	// end of that.
	lease time.Duration
	until time.Time
	// ended tells that failures have ended the run.
	ended bool
	// flushed is up to where the flusher has come, zero when no further, in the
	// run that was due then.
	flushed passerelle.DeliveryID
	due     *time.Time

	counts Counts
	// following is at the head of its subject now.
	following page
	// unwanted tells that the webhook was deleted or disabled meanwhile.
	unwanted bool
	err      error
}

// recordBatch puts a batch on record and finds what follows.
func (s *leaseSession) recordBatch(ctx context.Context, a resultBatch) resultBatch {
	if a.err = s.storeBatch(ctx, &a); a.err == nil {
		a.following = s.following(ctx, a)
	}
	return a
}

// storeBatch puts a batch on record and renews the lease, all or nothing: when the
// lease has lapsed, somebody else may have sent the same. A failure calls the
// flusher.
func (s *leaseSession) storeBatch(ctx context.Context, a *resultBatch) (err error) {
	defer guard(&err)
	now := a.to.clock.Now(s.d.Now())
	b := store.Batch{
		Holder: s.holder, Lease: a.lease, Void: a.void, Stopped: a.ended,
		NextFlush: now.Add(a.to.interval), FlushAfter: a.flushed, Due: a.due, Now: now,
	}
	b.Attempts = make([]store.DeliveryAttempt, 0, len(a.results))
	for _, x := range a.results {
		b.Attempts = append(b.Attempts, x.attempt)
		if x.user != 0 && x.attempt.Failure == "" {
			b.AcceptedEvents = append(b.AcceptedEvents, x.event)
		}
	}
	w := a.to.webhook
	s.limitDB(func() {
		ctx, cancel := recording(ctx)
		defer cancel()
		a.until = s.d.Now().Add(a.lease)
		err = s.d.DB.Write(ctx, func(tx *store.Tx) error {
			err := tx.RecordBatch(w, b)
			tx.Unwanted(w, &a.unwanted)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("record %d attempts: %w", len(a.results), err)
	}
	a.counts = tally(b.Attempts)
	return nil
}

// following is a page of what the accepted and the void of a batch came before,
// and empty when nothing more is to be sent. Where that goes is asked only when there
// is something.
func (s *leaseSession) following(ctx context.Context, a resultBatch) (p page) {
	defer guard(&p.err)
	over := a.void
	for _, x := range a.results {
		if x.attempt.Failure == "" {
			over = append(over, x.delivery)
		}
	}
	if len(over) == 0 || a.ended {
		return p
	}
	s.limitDB(func() {
		if p.found, p.err = s.d.DB.Following(ctx, over); p.err == nil && len(p.found) > 0 {
			p.to, p.err = s.load(ctx)
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
