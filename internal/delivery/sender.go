package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"passerelle"
)

// maxTroubled is how many of the webhooks that a process works for may be such
// that have failed: however many receivers are dead, the others find room.
const maxTroubled = maxWebhooks / 2

// Sender works for webhooks in the background, in a goroutine for each one
// that has something to send, which ends when nothing is left. No webhook waits
// for another: a pass that waited for the receivers would make the news of all
// wait for the slowest of them, and a pool of few workers is soon full of
// requests that will time out.
//
// A webhook is worked for once at a time; its worker is told of what comes for it
// meanwhile, and looks again. Across processes the lease in the database decides.
type Sender struct {
	delivery *Delivery
	// ctx ends when the workers are to stop.
	ctx  context.Context
	stop context.CancelFunc

	mu       sync.Mutex
	busy     map[passerelle.WebhookID]*worker
	troubled int
	workers  sync.WaitGroup
}

// worker is the goroutine of one webhook. Again is the visit asked for while
// it works, of which more tells it.
type worker struct {
	job
	again *job
	more  chan struct{}
}

// requestAgain asks for a further visit.
func (w *worker) requestAgain(j job) {
	w.again = &j
	select {
	case w.more <- struct{}{}:
	default: // it has not yet heard of the last time
	}
}

// NewSender makes a sender that works when Pass is called.
func NewSender(d *Delivery) *Sender {
	s := &Sender{delivery: d, busy: map[passerelle.WebhookID]*worker{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Pass starts work for every webhook that has something new to send or for
// which the flusher is due, in all domains, and returns without waiting for
// it. It is meant to be called by a loop that every event wakes, and about
// every second besides: for the flusher, for events of other processes, and
// for webhooks that found no room. What fails in the work is logged.
func (s *Sender) Pass(ctx context.Context) error {
	domains, err := s.delivery.DB.Domains(ctx)
	if err != nil {
		return fmt.Errorf("list domains: %w", err)
	}
	var errs []error
	// News is what somebody waits for: it is asked for first, and nothing else before
	// it is on its way.
	for _, list := range []func(context.Context, passerelle.Domain) ([]job, error){s.delivery.withNewDeliveries, s.delivery.due} {
		for _, domain := range domains {
			jobs, err := list(ctx, domain)
			errs = append(errs, err)
			for _, j := range jobs {
				s.startJob(j)
			}
		}
	}
	return errors.Join(errs...)
}

// Stop lets the requests under way come to an end, starts no more, and returns
// when all is on record and every lease is released, or with the context's
// error when that ends first. What is not on record then is sent again by
// whoever comes next, once the leases have lapsed. Pass does nothing afterwards.
func (s *Sender) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		s.workers.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop sending webhooks: %w", ctx.Err())
	}
}

// startJob gives a webhook its worker, or the worker a further visit.
func (s *Sender) startJob(j job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.busy[j.webhook]; w != nil {
		w.requestAgain(j)
		return
	}
	full := len(s.busy) >= maxWebhooks || j.troubled && s.troubled >= maxTroubled
	if full || s.ctx.Err() != nil {
		return
	}
	w := &worker{job: j, more: make(chan struct{}, 1)}
	s.busy[j.webhook] = w
	if j.troubled {
		s.troubled++
	}
	s.workers.Go(func() { s.work(w) })
}

func (s *Sender) work(w *worker) {
	for j, more := w.job, true; more; j, more = s.next(w) {
		if _, err := s.delivery.serve(s.ctx, j, jobOptions{more: w.more}); err != nil {
			s.delivery.Log.Error("webhook not served", "webhook", j.webhook, "error", err)
		}
	}
}

// next is the further visit that was asked for. When there is none the worker
// has ended: who asks from now on starts another.
func (s *Sender) next(w *worker) (job, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.again != nil && s.ctx.Err() == nil {
		j := *w.again
		w.again = nil
		return j, true
	}
	delete(s.busy, w.webhook)
	if w.troubled {
		s.troubled--
	}
	return job{}, false
}
