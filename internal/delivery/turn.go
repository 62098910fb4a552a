package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

const (
	// pageSize is how many deliveries are read, and at most recorded, together.
	pageSize = 32
	// pageTime is when a batch is recorded although the page is not finished:
	// what a crash repeats is bounded by it.
	pageTime = time.Second
	// leaseReserve is what a lease has beyond the slowest batch, for the
	// database.
	leaseReserve = 30 * time.Second
	// recordTime bounds recording what was sent when the caller has left.
	recordTime = 10 * time.Second
	// leasePause is how often somebody else's lease is asked for again.
	leasePause = 20 * time.Millisecond
)

// serve does an errand for a webhook, and once more for what arrived between
// the last look and the release: whoever stored that may have been refused the
// lease, and left it to this sender.
func (d *Delivery) serve(ctx context.Context, v visit, e errand) (Counts, error) {
	var total Counts
	for ctx.Err() == nil {
		counts, held, err := d.turn(ctx, v, e)
		total.add(counts)
		if err != nil || !held || !e.news {
			return total, err
		}
		if more, err := d.hasNews(ctx, v); err != nil || !more {
			return total, err
		}
		e.due = false // one run of the flusher is enough
	}
	return total, nil
}

func (d *Delivery) hasNews(ctx context.Context, v visit) (bool, error) {
	w, err := d.DB.Webhook(ctx, v.domain.ID, v.webhook)
	if err != nil {
		return false, fmt.Errorf("load webhook %d: %w", v.webhook, err)
	}
	news, err := d.DB.NewDeliveries(ctx, w, 1)
	if err != nil {
		return false, fmt.Errorf("look for news of webhook %d: %w", v.webhook, err)
	}
	return len(news) > 0, nil
}

// turn is the time during which one sender holds the lease of a webhook.
type turn struct {
	*Delivery
	visit
	// holder names this turn, not the process: another turn of the same
	// process must not be taken for it after the lease has lapsed.
	holder string
	counts Counts
	// leave is the delivery up to which news are left to the flusher.
	leave passerelle.DeliveryID
}

// turn does an errand under the lease, unless the lease is somebody else's.
func (d *Delivery) turn(ctx context.Context, v visit, e errand) (_ Counts, held bool, err error) {
	t := &turn{Delivery: d, visit: v, holder: fmt.Sprintf("%s/%d", d.Name, d.turns.Add(1))}
	if held, err = t.take(ctx, e.wait); !held {
		return Counts{}, false, err
	}
	if e.news {
		err = t.sendNews(ctx)
	}
	if e.due && err == nil {
		err = t.flush(ctx, e.news)
	}
	return t.counts, true, errors.Join(t.concerns(ctx, err), t.release(ctx))
}

// concerns keeps of an error what somebody should hear of: not that the caller
// has left, and not that the lease lapsed, which is in the log.
func (t *turn) concerns(ctx context.Context, err error) error {
	lapsed := errors.Is(err, store.ErrConflict)
	if lapsed {
		t.Log.WarnContext(ctx, "the lease of a webhook lapsed; what was just sent will be sent again", "webhook", t.webhook)
	}
	if err != nil && !lapsed && ctx.Err() == nil {
		return fmt.Errorf("send to webhook %d: %w", t.webhook, err)
	}
	return nil
}

// take gets the lease, or finds that it is somebody else's. With wait it stays
// until the lease is free, the webhook deleted or the context ended.
func (t *turn) take(ctx context.Context, wait bool) (held bool, err error) {
	for {
		to, err := t.target(ctx)
		if err != nil || to.webhook.Deleted != nil {
			return false, err
		}
		held, err := t.lease(ctx, to)
		if held || err != nil || !wait || !pause(ctx, leasePause) {
			return held, err
		}
	}
}

func (t *turn) lease(ctx context.Context, to target) (held bool, err error) {
	err = t.DB.Write(ctx, func(tx *store.Tx) error {
		tx.LeaseWebhook(to.webhook, t.holder, to.lease())
		return nil
	})
	if errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lease webhook %d: %w", t.webhook, err)
	}
	return true, nil
}

// pause waits, and reports false when the context ended first.
func pause(ctx context.Context, length time.Duration) bool {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// release ends the lease, also when the caller has left. One that lapsed
// meanwhile is left alone.
func (t *turn) release(ctx context.Context) error {
	ctx, cancel := recording(ctx)
	defer cancel()
	err := t.DB.Write(ctx, func(tx *store.Tx) error {
		w := store.Webhook{ID: t.webhook, Domain: t.domain.ID}
		if t.leave > 0 {
			tx.LeaveToFlusher(w, t.holder, t.leave)
		}
		tx.ReleaseWebhook(w, t.holder)
		return nil
	})
	if err != nil {
		return fmt.Errorf("release webhook %d: %w", t.webhook, err)
	}
	return nil
}

// recording is a context in which what has happened is put on record, although
// the caller may have left.
func recording(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), recordTime)
}

// target is a webhook as it stands now, with what a request to it needs.
type target struct {
	webhook           store.Webhook
	authority         *authority
	aliases           []string
	timeout, interval time.Duration
}

// lease outlasts a batch and the recording of it.
func (to target) lease() time.Duration { return pageTime + to.timeout + leaseReserve }

// target is read anew for each batch, so that a long run notices that the
// webhook was deleted or leads elsewhere.
func (t *turn) target(ctx context.Context) (target, error) {
	w, err := t.DB.Webhook(ctx, t.domain.ID, t.webhook)
	if err != nil {
		return target{}, fmt.Errorf("load webhook %d: %w", t.webhook, err)
	}
	values, err := settings.Load(ctx, &t.DB.Reader, t.domain.ID)
	if err != nil {
		return target{}, err
	}
	auth, err := t.authority(ctx, w)
	if err != nil {
		return target{}, err
	}
	return target{
		webhook: w, authority: auth, aliases: values.List(settings.SignatureAliases),
		timeout: values.Seconds(settings.DeliveryTimeout), interval: values.Seconds(settings.FlushInterval),
	}, nil
}

// sendNews sends what was never tried until nothing is left. Receivers that
// let requests time out get the rest from the flusher.
func (t *turn) sendNews(ctx context.Context) error {
	p := &pace{start: maxInFlight}
	for ctx.Err() == nil {
		to, err := t.target(ctx)
		if err != nil {
			return err
		}
		left, page, err := t.news(ctx, to)
		if err != nil {
			return err
		}
		if len(page) == 0 || p.ended() {
			t.leave = left
			return nil
		}
		if err := t.record(ctx, to, t.send(ctx, to, page, p), 0); err != nil {
			return err
		}
	}
	return nil
}

// news reads what to send for the first time, and up to where to leave it to
// the flusher when that is nothing. The latter is read first, so that it
// leaves nothing aside that the former has not seen.
func (t *turn) news(ctx context.Context, to target) (left passerelle.DeliveryID, page []store.Delivery, err error) {
	if to.webhook.NextFlush != nil {
		if left, err = t.DB.NewestDelivery(ctx, to.webhook); err != nil {
			return 0, nil, fmt.Errorf("find the newest delivery: %w", err)
		}
	}
	if page, err = t.DB.NewDeliveries(ctx, to.webhook, pageSize); err != nil {
		return 0, nil, fmt.Errorf("list new deliveries: %w", err)
	}
	return left, page, nil
}

// record stores the account of a batch and renews the lease, all or nothing:
// when the lease has lapsed, somebody else may have sent the same. A failure
// calls the flusher; a run of the flusher keeps its place, at the delivery
// last.
func (t *turn) record(ctx context.Context, to target, batch []exchange, last passerelle.DeliveryID) error {
	ctx, cancel := recording(ctx)
	defer cancel()
	counts := tally(batch)
	err := t.DB.Write(ctx, func(tx *store.Tx) error {
		tx.KeepWebhook(to.webhook, t.holder, to.lease())
		if counts.Failed > 0 {
			tx.WantFlush(to.webhook, t.now(t.domain).Add(to.interval))
		}
		if last > 0 {
			tx.GoOnAfter(to.webhook, last)
		}
		return recordAll(tx, to.webhook, batch)
	})
	if err != nil {
		return fmt.Errorf("record %d attempts: %w", len(batch), err)
	}
	t.counts.add(counts)
	return nil
}

func recordAll(tx *store.Tx, w store.Webhook, batch []exchange) error {
	for _, x := range batch {
		if err := tx.RecordAttempt(w, x.attempt); err != nil {
			return err
		}
	}
	return nil
}

func tally(batch []exchange) (counts Counts) {
	for _, x := range batch {
		if x.attempt.Failure == "" {
			counts.Delivered++
		} else {
			counts.Failed++
		}
	}
	return counts
}
