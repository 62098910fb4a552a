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
	// leaseReserve is the part of a lease's duration that allows for a slow database. It is added
	// to the time of the slowest exchange and its recording.
	leaseReserve = 30 * time.Second
	// recordTime is the longest time for storing results, even after the caller has left.
	recordTime = 10 * time.Second
	// leasePause is the interval between attempts to take a lease that another sender holds.
	leasePause = 20 * time.Millisecond
)

// serve runs sessions for a webhook until no new deliveries are left. After each release of the
// lease, it looks for new deliveries again, because another sender that could not take the lease
// may have left deliveries to this sender. A panic becomes an error that ends this session. It does
// not end the process. After a panic, the lease is not released and must lapse, because requests
// may be in flight.
func (d *Delivery) serve(ctx context.Context, j job, options jobOptions) (total Counts, err error) {
	defer guard(&err)
	for ctx.Err() == nil {
		counts, held, err := d.runSession(ctx, j, options)
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
		return false, fmt.Errorf("find new deliveries of webhook %d: %w", j.webhook, err)
	}
	return len(fresh) > 0, nil
}

// leaseSession is the work of one sender while it holds the lease of a webhook.
type leaseSession struct {
	d   *Delivery
	job job
	// holder identifies this session, not only the process. Otherwise the store could confuse this
	// session with a later session of the same process, after the lease has lapsed.
	holder string
	// until is the earliest time at which the lease can lapse. It is calculated from the time
	// before the database call that takes or renews the lease, because this call may be slow.
	until  time.Time
	counts Counts
	// scanned is the webhook as it was before the last scan of new deliveries. left is the last
	// delivery that this session leaves to the flusher.
	scanned store.Webhook
	left    passerelle.DeliveryID
}

// runSession takes the lease and does a job. The second result is false when it could not take the
// lease.
func (d *Delivery) runSession(ctx context.Context, j job, options jobOptions) (Counts, bool, error) {
	var (
		held bool
		err  error
	)
	s := &leaseSession{d: d, job: j, holder: fmt.Sprintf("%s/%d", d.Name, d.process.sessionCount.Add(1))}
	if held, err = s.take(ctx, options.wait); !held {
		return Counts{}, false, err
	}
	defer s.d.process.active.add(s)()
	err = s.work(ctx, options)
	return s.counts, true, errors.Join(s.reportable(ctx, err), s.release(ctx))
}

// activeSessions contains the lease sessions of this process, except the sessions of sendOne.
type activeSessions struct {
	mu       sync.Mutex
	sessions map[*leaseSession]struct{}
}

func (a *activeSessions) add(s *leaseSession) func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sessions == nil {
		a.sessions = map[*leaseSession]struct{}{}
	}
	a.sessions[s] = struct{}{}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.sessions, s)
	}
}

// jobs returns the jobs of a domain's sessions.
func (a *activeSessions) jobs(domain passerelle.Domain) []job {
	var jobs []job
	a.mu.Lock()
	defer a.mu.Unlock()
	for s := range a.sessions {
		if s.job.domain.ID == domain.ID {
			jobs = append(jobs, job{domain: domain, webhook: s.job.webhook, troubled: s.job.troubled})
		}
	}
	return jobs
}

// work sends the new deliveries, and runs the flusher if it is due. When the caller leaves during a
// run, the flusher stays due.
func (s *leaseSession) work(ctx context.Context, options jobOptions) error {
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
	l, err := s.newSendLoop(ctx, to, due, options.more)
	if err != nil {
		return err
	}
	if err := l.run(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	return s.conclude(ctx, l.to, due, l.limit.ended())
}

// reportable returns nil instead of three errors that callers do not need: the caller has left, the
// lease has lapsed, or the webhook's provider was deleted. It logs a lapsed lease.
func (s *leaseSession) reportable(ctx context.Context, err error) error {
	lapsed := errors.Is(err, store.ErrConflict)
	if lapsed {
		s.d.Log.WarnContext(ctx, "the lease of a webhook expired; requests whose results were not stored are sent again", "webhook", s.job.webhook)
	}
	if err != nil && !lapsed && !errors.Is(err, errHeldUp) && ctx.Err() == nil {
		return fmt.Errorf("send to webhook %d: %w", s.job.webhook, err)
	}
	return nil
}

// take takes the lease. It returns false when another sender holds the lease, when the webhook is
// deleted or disabled, or when its provider was deleted. If wait is true, it tries again while
// another sender holds the lease, until the context ends. Once it has waited, the end of the
// context is no error, even in the middle of a query.
func (s *leaseSession) take(ctx context.Context, wait bool) (bool, error) {
	for waited := false; ; waited = true {
		held, taken, err := s.takeOnce(ctx)
		if waited && ctx.Err() != nil {
			return held, nil //nolint:nilerr // the end of the wait is no failure
		}
		if wait && taken {
			s.d.process.keptLeases.giveUp(s.job.webhook)
		}
		if !wait || !taken || !pause(ctx, leasePause) {
			return held, err
		}
	}
}

// takeOnce tries once to take the lease, and reports whether it took the lease. The second result
// is true when another sender holds the lease.
func (s *leaseSession) takeOnce(ctx context.Context) (bool, bool, error) {
	to, err := s.target(ctx)
	if errors.Is(err, errHeldUp) {
		return false, false, nil
	}
	if err != nil || to.webhook.Deleted != nil || to.webhook.Disabled != nil {
		return false, false, err
	}
	held, err := s.lease(ctx, to)
	return held, !held && err == nil, err
}

func (s *leaseSession) lease(ctx context.Context, to target) (bool, error) {
	var err error
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

// pause waits for a duration. It returns false when the context ends first.
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

// conclude ends a run. It stores mails about the webhook. After a run of the flusher, it also plans
// the next run.
func (s *leaseSession) conclude(ctx context.Context, to target, due *time.Time, stopped bool) error {
	var err error
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

// release ends the lease, even when the caller has left. It does nothing when another session has
// taken the lease.
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

// recording returns a context for storing results. This context outlives the caller's context.
func recording(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), recordTime)
}

// target contains the present state of a webhook, with all data that a request to it needs.
type target struct {
	webhook           store.Webhook
	clock             passerelle.Clock
	authority         *authority
	client            *http.Client
	names             spelling
	compress          bool
	timeout, interval time.Duration
	// agent is the User-Agent of requests.
	agent []string
}

// exchangeTime returns the longest time of an exchange. This includes requests for tokens, the
// request to the receiver, and a second request with another token.
func (to target) exchangeTime() time.Duration { return 2 * to.timeout }

// lease returns the duration of the lease. It is longer than an exchange and its recording
// together.
func (to target) lease() time.Duration { return to.exchangeTime() + batchTime + leaseReserve }

// covers reports whether the lease lasts until the result of an exchange that begins now is stored.
// Otherwise the next holder could send this delivery and its successors while the exchange is still
// in flight.
func (s *leaseSession) covers(to *target) bool {
	return s.until.Sub(s.d.Now()) >= to.exchangeTime()+recordTime
}

func (s *leaseSession) target(ctx context.Context) (target, error) {
	var (
		to  target
		err error
	)
	s.limitDB(func() { to, err = s.load(ctx) })
	return to, err
}

// load reads the target. A session reads it again for each page of deliveries. A long run therefore
// notices when the webhook is deleted or its URL changes.
func (s *leaseSession) load(ctx context.Context) (target, error) {
	a, err := s.d.DB.Addressee(ctx, s.job.domain.ID, s.job.webhook)
	if err != nil {
		return target{}, fmt.Errorf("load webhook %d and the data for its requests: %w", s.job.webhook, err)
	}
	values := settings.Values(a.Served.Settings)
	auth, err := s.authority(a, values)
	if err != nil {
		return target{}, err
	}
	client, err := s.d.process.trusts.client(s.d.Client, values.Valid(settings.Authorities))
	if err != nil {
		return target{}, err
	}
	return target{
		webhook: a.Webhook, clock: a.Served.Clock, authority: auth, client: client,
		names: spell(values.List(settings.SignatureAliases)), compress: values.On(settings.Compression),
		timeout: values.Seconds(settings.DeliveryTimeout), interval: values.Seconds(settings.FlushInterval), agent: s.d.agent,
	}, nil
}
