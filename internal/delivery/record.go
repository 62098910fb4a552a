package delivery

import (
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

// resultBatch contains the results that are stored in one transaction.
type resultBatch struct {
	to      target
	results []result
	void    []passerelle.DeliveryID
	// lease is the duration of the renewed lease. until is the earliest time at which this lease
	// can lapse.
	lease time.Duration
	until time.Time
	// ended means that failures have ended the run.
	ended bool
	// flushed is the last delivery in the batch that a run of the flusher has tried, or zero. due
	// is the time at which this run became due.
	flushed passerelle.DeliveryID
	due     *time.Time

	counts Counts
	// following contains the successors of deliveries that were accepted or have an erased body.
	// The successors are now the oldest undelivered deliveries of their subjects.
	following page
	// unwanted means that the webhook has been deleted or disabled since it was loaded.
	unwanted bool
	err      error
}

// recordBatch stores a batch and finds the deliveries that follow.
func (s *leaseSession) recordBatch(ctx context.Context, b resultBatch) resultBatch {
	if b.err = s.storeBatch(ctx, &b); b.err == nil {
		b.following = s.following(ctx, b)
	}
	return b
}

// storeBatch stores a batch and renews the lease. When the lease has lapsed, it fails and stores
// nothing, because another sender may have sent the same deliveries. If a request failed,
// storeBatch also plans a run of the flusher.
func (s *leaseSession) storeBatch(ctx context.Context, b *resultBatch) (err error) {
	defer guard(&err)
	u := unrecorded{Batch: s.record(b), turn: make(chan bool, 1)}
	s.limitDB(func() {
		ctx, cancel := recording(ctx)
		defer cancel()
		b.until = s.d.Now().Add(b.lease)
		err = s.d.process.batches.of(s.job.domain.ID).write(ctx, s.d.DB, &u)
	})
	if err != nil {
		return fmt.Errorf("record %d attempts: %w", len(b.results), err)
	}
	b.counts, b.unwanted = tally(u.Attempts), u.unwanted
	return nil
}

// record returns a batch as the store records it.
func (s *leaseSession) record(b *resultBatch) store.Batch {
	now := b.to.clock.Now(s.d.Now())
	record := store.Batch{
		Webhook: s.job.webhook, Holder: s.holder, Lease: b.lease, Void: b.void, Stopped: b.ended,
		NextFlush: now.Add(b.to.interval), FlushAfter: b.flushed, Due: b.due, Now: now,
	}
	record.Attempts = make([]store.DeliveryAttempt, 0, len(b.results))
	for _, x := range b.results {
		record.Attempts = append(record.Attempts, x.attempt)
		if x.user != 0 && x.attempt.Failure == "" {
			record.AcceptedEvents = append(record.AcceptedEvents, x.event)
		}
	}
	return record
}

// following reads the successors of a batch's deliveries that were accepted or have an erased body.
// The page is empty when nothing more may be sent. The target is loaded only when the page has
// deliveries.
func (s *leaseSession) following(ctx context.Context, b resultBatch) (p page) {
	defer guard(&p.err)
	over := b.void
	for _, x := range b.results {
		if x.attempt.Failure == "" {
			over = append(over, x.delivery)
		}
	}
	if len(over) == 0 || b.ended {
		return p
	}
	s.limitDB(func() {
		if p.found, p.err = s.d.DB.Following(ctx, over); p.err == nil && len(p.found) > 0 {
			p.to, p.err = s.load(ctx)
		}
	})
	if p.err != nil {
		p.err = fmt.Errorf("list the deliveries that follow %d others: %w", len(over), p.err)
	}
	return p
}

func tally(attempts []store.DeliveryAttempt) Counts {
	var counts Counts
	for _, a := range attempts {
		if a.Failure == "" {
			counts.Delivered++
		} else {
			counts.Failed++
		}
	}
	return counts
}
