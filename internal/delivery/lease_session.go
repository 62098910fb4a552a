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
func (d *Delivery) serve(ctx context.Context, j job, e jobOptions) (total Counts, err error) {
	defer guard(&err)
	for ctx.Err() == nil {
		counts, held, err := d.runSession(ctx, j, e)
		total.add(counts)
		if err != nil || !held {
			return total, err
		}
		s := &leaseSession{d: d, job: j}
		var more bool
		s.limitDB(func() { more, err = s.d.hasNewDeliveries(ctx, j) })
		if err != nil || !more {
			return total, err
		}
	}
	return total, nil
}

func (d *Delivery) hasNewDeliveries(ctx context.Context, j job) (bool, error) {
	w, err := d.DB.Webhook(ctx, j.domain.ID, j.webhook)
	if err != nil {
		return false, fmt.Errorf("load webhook %d: %w", j.webhook, err)
	}
	if w.Stopped || w.AuthDeleted {
		return false, nil
	}
	fresh, err := d.DB.NewDeliveries(ctx, w, 0, 1)
	if err != nil {
		return false, fmt.Errorf("look for news of webhook %d: %w", j.webhook, err)
	}
	return len(fresh) > 0, nil
}

// runSession is the time during which one sender holds the lease of a webhook.
type leaseSession struct {
	d   *Delivery
	job job
	// holder names this turn, not the process: another turn of the same
	// process must not be taken for it after the lease has lapsed.
	holder string
	// until is when the lease lapses at the earliest. It is counted from before the
	// database was asked, which may have taken its time to answer.
	until  time.Time
	counts Counts
	// scanned is the webhook as it was before the last look for news, and left the
	// delivery up to which they are left to the flusher.
	scanned store.Webhook
	left    passerelle.DeliveryID
}

// runSession does an errand under the lease, unless the lease is somebody else's.
func (d *Delivery) runSession(ctx context.Context, j job, e jobOptions) (_ Counts, held bool, err error) {
	s := &leaseSession{d: d, job: j, holder: fmt.Sprintf("%s/%d", d.Name, d.process.sessionCount.Add(1))}
	if held, err = s.take(ctx, e.wait); !held {
		return Counts{}, false, err
	}
	defer s.d.process.active.add(s)()
	err = s.work(ctx, e)
	return s.counts, true, errors.Join(s.reportable(ctx, err), s.release(ctx))
}

// activeSessions are the turns of this process that work for a webhook under its lease.
type activeSessions struct {
	mu       sync.Mutex
	sessions map[*leaseSession]struct{}
}

func (h *activeSessions) add(s *leaseSession) (done func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions == nil {
		h.sessions = map[*leaseSession]struct{}{}
	}
	h.sessions[s] = struct{}{}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.sessions, s)
	}
}

// jobs are those of a domain.
func (h *activeSessions) jobs(domain passerelle.Domain) (jobs []job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.sessions {
		if s.job.domain.ID == domain.ID {
			jobs = append(jobs, job{domain: domain, webhook: s.job.webhook, troubled: s.job.troubled})
		}
	}
	return jobs
}

// work sends what is new, and does a run of the flusher if one is due. A run
// whose caller leaves plans nothing: what was due stays due.
func (s *leaseSession) work(ctx context.Context, e jobOptions) error {
	to, err := s.target(ctx)
	if err != nil {
		return err
	}
	due := to.webhook.NextFlush
	if due != nil && due.After(to.clock.Now(s.d.Now())) {
		due = nil
	}
	if to.webhook.Stopped && due == nil {
		return nil
	}
	l, err := s.newSendLoop(ctx, to, due, e.more)
	if err != nil {
		return err
	}
	if err := l.run(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	return s.conclude(ctx, l.to, due, l.limit.ended())
}

// reportable keeps of an error what somebody should hear of: not that the caller
// has left, and not that the lease lapsed, which is in the log.
func (s *leaseSession) reportable(ctx context.Context, err error) error {
	lapsed := errors.Is(err, store.ErrConflict)
	if lapsed {
		s.d.Log.WarnContext(ctx, "the lease of a webhook lapsed; what was sent and is not on record is sent again", "webhook", s.job.webhook)
	}
	if err != nil && !lapsed && !errors.Is(err, errHeldUp) && ctx.Err() == nil {
		return fmt.Errorf("send to webhook %d: %w", s.job.webhook, err)
	}
	return nil
}

// take gets the lease, or finds that it is somebody else's. With wait it stays
// until the lease is free, nothing may be sent to the webhook, or the context
// ended.
func (s *leaseSession) take(ctx context.Context, wait bool) (held bool, err error) {
	for {
		to, err := s.target(ctx)
		if errors.Is(err, errHeldUp) {
			return false, nil
		}
		if err != nil || to.webhook.Deleted != nil || to.webhook.Disabled != nil {
			return false, err
		}
		held, err := s.lease(ctx, to)
		if wait && !held {
			s.d.process.keptLeases.giveUp(s.job.webhook)
		}
		if held || err != nil || !wait || !pause(ctx, leasePause) {
			return held, err
		}
	}
}

func (s *leaseSession) lease(ctx context.Context, to target) (held bool, err error) {
	s.limitDB(func() {
		s.until = s.d.Now().Add(to.lease())
		err = s.d.DB.Write(ctx, func(tx *store.Tx) error {
			tx.LeaseWebhook(to.webhook, s.holder, to.lease())
			return nil
		})
	})
	if errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lease webhook %d: %w", s.job.webhook, err)
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
func (s *leaseSession) conclude(ctx context.Context, to target, due *time.Time, stopped bool) (err error) {
	s.limitDB(func() { err = s.finish(ctx, to, due, stopped) })
	return err
}

func (s *leaseSession) finish(ctx context.Context, to target, due *time.Time, stopped bool) error {
	n, err := s.notice(ctx, to, stopped)
	if err != nil || n == nil && due == nil {
		return err
	}
	err = s.d.DB.Write(ctx, func(tx *store.Tx) error {
		tx.KeepWebhook(to.webhook, s.holder, to.lease())
		if due != nil {
			tx.PlanFlush(to.webhook, *due, to.clock.Now(s.d.Now()).Add(to.interval))
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
func (s *leaseSession) release(ctx context.Context) error {
	var err error
	s.limitDB(func() {
		ctx, cancel := recording(ctx)
		defer cancel()
		err = s.d.DB.Write(ctx, func(tx *store.Tx) error {
			if s.left > 0 {
				tx.LeaveToFlusher(s.scanned, s.holder, s.left)
			}
			tx.ReleaseWebhook(store.Webhook{ID: s.job.webhook, Domain: s.job.domain.ID}, s.holder)
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("release webhook %d: %w", s.job.webhook, err)
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
func (s *leaseSession) covers(to *target) bool {
	return s.until.Sub(s.d.Now()) >= to.exchangeTime()+recordTime
}

func (s *leaseSession) target(ctx context.Context) (to target, err error) {
	s.limitDB(func() { to, err = s.load(ctx) })
	return to, err
}

// load reads the target anew for each page, so that a long run notices that the
// webhook was deleted or leads elsewhere.
func (s *leaseSession) load(ctx context.Context) (target, error) {
	a, err := s.d.DB.Addressee(ctx, s.job.domain.ID, s.job.webhook)
	if err != nil {
		return target{}, fmt.Errorf("load webhook %d with what its requests need: %w", s.job.webhook, err)
	}
	values := settings.Values(a.Served.Settings)
	auth, err := s.authority(a, values)
	if err != nil {
		return target{}, err
	}
	client, err := s.d.process.trusts.client(s.d.Client, values.Text(settings.Authorities))
	if err != nil {
		return target{}, err
	}
	return target{
		webhook: a.Webhook, clock: a.Served.Clock, authority: auth, client: client,
		names: spell(values.List(settings.SignatureAliases)), compress: values.On(settings.Compression),
		timeout: values.Seconds(settings.DeliveryTimeout), interval: values.Seconds(settings.FlushInterval),
	}, nil
}
