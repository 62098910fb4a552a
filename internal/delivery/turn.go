package delivery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

const (
	// leaseReserve is what a lease has beyond the slowest exchange and the oldest
	// account of one, for the database.
	leaseReserve = 30 * time.Second
	// recordTime bounds recording what was sent when the caller has left.
	recordTime = 10 * time.Second
	// leasePause is how often somebody else's lease is asked for again.
	leasePause = 20 * time.Millisecond
)

// serve sends what there is for a webhook, and once more what arrived between
// the last look and the release: whoever stored that may have been refused the
// lease, and left it to this sender.
// A panic is an error: one webhook does not end the process. Its lease lapses then,
// since requests may be under way.
func (d *Delivery) serve(ctx context.Context, v visit, e errand) (total Counts, err error) {
	defer guard(&err)
	for ctx.Err() == nil {
		counts, held, err := d.turn(ctx, v, e)
		total.add(counts)
		if err != nil || !held {
			return total, err
		}
		t := &turn{Delivery: d, visit: v}
		var more bool
		t.calmly(func() { more, err = t.hasNews(ctx, v) })
		if err != nil || !more {
			return total, err
		}
	}
	return total, nil
}

func (d *Delivery) hasNews(ctx context.Context, v visit) (bool, error) {
	w, err := d.DB.Webhook(ctx, v.domain.ID, v.webhook)
	if err != nil {
		return false, fmt.Errorf("load webhook %d: %w", v.webhook, err)
	}
	if w.Stopped || w.AuthDeleted {
		return false, nil
	}
	news, err := d.DB.NewDeliveries(ctx, w, 0, 1)
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
	// until is when the lease lapses at the earliest. It is counted from before the
	// database was asked, which may have taken its time to answer.
	until  time.Time
	counts Counts
	// news is the webhook as it was before the last look for news, and left the
	// delivery up to which they are left to the flusher.
	news store.Webhook
	left passerelle.DeliveryID
}

// turn does an errand under the lease, unless the lease is somebody else's.
func (d *Delivery) turn(ctx context.Context, v visit, e errand) (_ Counts, held bool, err error) {
	t := &turn{Delivery: d, visit: v, holder: fmt.Sprintf("%s/%d", d.Name, d.turns.Add(1))}
	if held, err = t.take(ctx, e.wait); !held {
		return Counts{}, false, err
	}
	defer t.held.begin(t)()
	err = t.work(ctx, e)
	return t.counts, true, errors.Join(t.concerns(ctx, err), t.release(ctx))
}

// held are the turns of this process that work for a webhook under its lease.
type held struct {
	mu    sync.Mutex
	turns map[*turn]struct{}
}

func (h *held) begin(t *turn) (done func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.turns == nil {
		h.turns = map[*turn]struct{}{}
	}
	h.turns[t] = struct{}{}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.turns, t)
	}
}

// visits are those of a domain.
func (h *held) visits(domain passerelle.Domain) (visits []visit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for t := range h.turns {
		if t.domain.ID == domain.ID {
			visits = append(visits, visit{domain: domain, webhook: t.visit.webhook, troubled: t.troubled})
		}
	}
	return visits
}

// work sends what is new, and does a run of the flusher if one is due. A run
// whose caller leaves plans nothing: what was due stays due.
func (t *turn) work(ctx context.Context, e errand) error {
	to, err := t.target(ctx)
	if err != nil {
		return err
	}
	due := to.webhook.NextFlush
	if due != nil && due.After(to.clock.Now(t.Now())) {
		due = nil
	}
	if to.webhook.Stopped && due == nil {
		return nil
	}
	f, err := t.newFlow(ctx, to, due, e.more)
	if err != nil {
		return err
	}
	if err := f.run(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	return t.conclude(ctx, f.to, due, f.pace.ended())
}

// concerns keeps of an error what somebody should hear of: not that the caller
// has left, and not that the lease lapsed, which is in the log.
func (t *turn) concerns(ctx context.Context, err error) error {
	lapsed := errors.Is(err, store.ErrConflict)
	if lapsed {
		t.Log.WarnContext(ctx, "the lease of a webhook lapsed; what was sent and is not on record is sent again", "webhook", t.visit.webhook)
	}
	if err != nil && !lapsed && !errors.Is(err, errHeldUp) && ctx.Err() == nil {
		return fmt.Errorf("send to webhook %d: %w", t.visit.webhook, err)
	}
	return nil
}

// take gets the lease, or finds that it is somebody else's. With wait it stays
// until the lease is free, nothing may be sent to the webhook, or the context
// ended.
func (t *turn) take(ctx context.Context, wait bool) (held bool, err error) {
	for {
		to, err := t.target(ctx)
		if errors.Is(err, errHeldUp) {
			return false, nil
		}
		if err != nil || to.webhook.Deleted != nil || to.webhook.Disabled != nil {
			return false, err
		}
		held, err := t.lease(ctx, to)
		if wait && !held {
			t.lingering.hurry(t.visit.webhook)
		}
		if held || err != nil || !wait || !pause(ctx, leasePause) {
			return held, err
		}
	}
}

func (t *turn) lease(ctx context.Context, to target) (held bool, err error) {
	t.calmly(func() {
		t.until = t.Now().Add(to.lease())
		err = t.DB.Write(ctx, func(tx *store.Tx) error {
			tx.LeaseWebhook(to.webhook, t.holder, to.lease())
			return nil
		})
	})
	if errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lease webhook %d: %w", t.visit.webhook, err)
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

// conclude ends a run, which failures may have stopped: it has told what there
// is to tell, and plans the next run of the flusher if this was one.
func (t *turn) conclude(ctx context.Context, to target, due *time.Time, stopped bool) (err error) {
	t.calmly(func() { err = t.finish(ctx, to, due, stopped) })
	return err
}

func (t *turn) finish(ctx context.Context, to target, due *time.Time, stopped bool) error {
	n, err := t.notice(ctx, to, stopped)
	if err != nil || n == nil && due == nil {
		return err
	}
	err = t.DB.Write(ctx, func(tx *store.Tx) error {
		tx.KeepWebhook(to.webhook, t.holder, to.lease())
		if due != nil {
			tx.PlanFlush(to.webhook, *due, to.clock.Now(t.Now()).Add(to.interval))
		}
		return n.write(tx)
	})
	if err != nil {
		return fmt.Errorf("end a run: %w", err)
	}
	return nil
}

// release ends the lease, also when the caller has left. One that lapsed
// meanwhile is left alone.
func (t *turn) release(ctx context.Context) error {
	var err error
	t.calmly(func() {
		ctx, cancel := recording(ctx)
		defer cancel()
		err = t.DB.Write(ctx, func(tx *store.Tx) error {
			if t.left > 0 {
				tx.LeaveToFlusher(t.news, t.holder, t.left)
			}
			tx.ReleaseWebhook(store.Webhook{ID: t.visit.webhook, Domain: t.domain.ID}, t.holder)
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("release webhook %d: %w", t.visit.webhook, err)
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
	clock             passerelle.Clock
	authority         *authority
	client            *http.Client
	names             spelling
	compress          bool
	timeout, interval time.Duration
}

// exchangeTime is how long an exchange may take: getting a credential, and a
// second request with another one, may take as long as the receiver.
func (to target) exchangeTime() time.Duration { return 2 * to.timeout }

// lease outlasts an exchange and the recording of it.
func (to target) lease() time.Duration { return to.exchangeTime() + batchTime + leaseReserve }

// covers tells whether an exchange that begins now is over and on record before the
// lease can lapse. One that is not might be under way beside a successor's, which has
// sent the same already and what comes after it.
func (t *turn) covers(to *target) bool {
	return t.until.Sub(t.Now()) >= to.exchangeTime()+recordTime
}

func (t *turn) target(ctx context.Context) (to target, err error) {
	t.calmly(func() { to, err = t.load(ctx) })
	return to, err
}

// load reads the target anew for each page, so that a long run notices that the
// webhook was deleted or leads elsewhere.
func (t *turn) load(ctx context.Context) (target, error) {
	a, err := t.DB.Addressee(ctx, t.domain.ID, t.visit.webhook)
	if err != nil {
		return target{}, fmt.Errorf("load webhook %d with what its requests need: %w", t.visit.webhook, err)
	}
	values := settings.Values(a.Served.Settings)
	auth, err := t.authority(a, values)
	if err != nil {
		return target{}, err
	}
	client, err := t.trusts.client(t.Client, values.Text(settings.Authorities))
	if err != nil {
		return target{}, err
	}
	return target{
		webhook: a.Webhook, clock: a.Served.Clock, authority: auth, client: client,
		names: spell(values.List(settings.SignatureAliases)), compress: values.On(settings.Compression),
		timeout: values.Seconds(settings.DeliveryTimeout), interval: values.Seconds(settings.FlushInterval),
	}, nil
}
