package delivery

import (
	"context"
	"fmt"
	"slices"

	"passerelle"
	"passerelle/internal/store"
)

// round is the way of a run of the flusher through the undelivered: from where
// the last run ended to the end, then from the beginning, until it meets
// nothing that it has not tried. What becomes the head of its subject on the
// way is met too.
type round struct {
	cursor passerelle.DeliveryID
	// whole is true of a lap from the beginning; tried counts in this lap.
	whole  bool
	tried  int
	failed map[passerelle.DeliveryID]bool
}

// wrap begins the next lap, or reports that none is needed.
func (r *round) wrap() (over bool) {
	over = r.whole && r.tried == 0
	r.cursor, r.whole, r.tried = 0, true, 0
	return over
}

// untried leaves out what failed earlier in the run.
func (r *round) untried(page []store.Delivery) []store.Delivery {
	return slices.DeleteFunc(slices.Clone(page), func(d store.Delivery) bool { return r.failed[d.ID] })
}

// note remembers the failures of a batch and moves behind it; finished says
// that nothing of the page is left.
func (r *round) note(batch []exchange, page []store.Delivery, finished bool) {
	for _, x := range batch {
		if x.attempt.Failure != "" {
			r.failed[x.attempt.Delivery] = true
		}
		r.cursor = x.attempt.Delivery
	}
	r.tried += len(batch)
	if finished {
		r.cursor = page[len(page)-1].ID
	}
}

// flush does one run of the flusher, if it is due, and plans the next. A run
// whose caller leaves plans nothing: what was due stays due. With news, those
// that come during a long run do not wait for its end.
func (t *turn) flush(ctx context.Context, news bool) error {
	to, err := t.target(ctx)
	if err != nil {
		return err
	}
	next := to.webhook.NextFlush
	if next == nil || next.After(t.now(t.domain)) {
		return nil
	}
	r := &round{cursor: to.webhook.FlushAfter, failed: map[passerelle.DeliveryID]bool{}}
	p := &pace{start: carefully, failures: maxFailures}
	for over := false; !over && !p.ended(); {
		if over, err = t.step(ctx, r, p); err != nil {
			return err
		}
		if !news {
			continue
		}
		if err := t.sendNews(ctx); err != nil {
			return err
		}
	}
	return t.plan(ctx)
}

// step sends the next page of a run.
func (t *turn) step(ctx context.Context, r *round, p *pace) (over bool, err error) {
	to, err := t.target(ctx)
	if err != nil {
		return false, err
	}
	page, err := t.DB.Undelivered(ctx, to.webhook, r.cursor, pageSize)
	if err != nil {
		return false, fmt.Errorf("list undelivered: %w", err)
	}
	if len(page) == 0 {
		return r.wrap(), nil
	}
	untried := r.untried(page)
	batch := t.send(ctx, to, untried, p)
	if err := ctx.Err(); err != nil && len(batch) == 0 {
		return false, err
	}
	r.note(batch, page, len(batch) == len(untried))
	if len(batch) == 0 {
		return false, nil
	}
	return false, t.record(ctx, to, batch, batch[len(batch)-1].attempt.Delivery)
}

// plan ends a run.
func (t *turn) plan(ctx context.Context) error {
	to, err := t.target(ctx)
	if err != nil {
		return err
	}
	err = t.DB.Write(ctx, func(tx *store.Tx) error {
		tx.KeepWebhook(to.webhook, t.holder, to.lease())
		tx.PlanFlush(to.webhook, t.now(t.domain).Add(to.interval))
		return nil
	})
	if err != nil {
		return fmt.Errorf("plan the next run: %w", err)
	}
	return nil
}
