package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"passerelle"
)

// maxTroubled limits the failing webhooks that a Sender serves at the same time. Other webhooks are
// therefore served even when many receivers are unreachable.
const maxTroubled = maxWebhooks / 2

// Sender sends webhooks in the background. Each webhook with deliveries to send has a goroutine
// that ends when nothing is left. If all webhooks shared one pass, the slowest receiver would delay
// all others. A small pool would soon contain only requests that time out.
//
// A webhook has one worker at a time. The worker gets a signal when more deliveries arrive. The
// lease in the database decides which process sends.
type Sender struct {
	delivery *Delivery
	// ctx ends when the workers must stop.
	ctx  context.Context
	stop context.CancelFunc

	mu       sync.Mutex
	busy     map[passerelle.WebhookID]*worker
	troubled int
	workers  sync.WaitGroup
}

// worker is the goroutine of one webhook. again is a job that was requested while the worker was
// busy. The channel `more` signals such a job.
type worker struct {
	job
	again *job
	more  chan struct{}
}

// requestAgain requests one more job.
func (w *worker) requestAgain(j job) {
	w.again = &j
	select {
	case w.more <- struct{}{}:
	default: // the previous signal is still unread
	}
}

// NewSender returns a sender. It starts work when Pass is called.
func NewSender(d *Delivery) *Sender {
	s := &Sender{delivery: d, busy: map[passerelle.WebhookID]*worker{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Pass starts workers for all webhooks that have new deliveries or whose flusher is due, up to
// maxWebhooks workers. It returns without waiting for the workers. A loop calls Pass after each
// event. It also calls Pass about every second: for the flusher, for events of other processes, and
// for webhooks beyond the limit. The errors of workers are logged.
func (s *Sender) Pass(ctx context.Context) error {
	domains, err := s.delivery.DB.Domains(ctx)
	if err != nil {
		return fmt.Errorf("list domains: %w", err)
	}
	var errs []error
	// New deliveries start before the flusher's work is listed, because they are more urgent.
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

// Stop prevents new requests and waits for the requests in flight. It returns when their results
// are stored and all leases are released. If the context ends first, it fails with the context's
// error. In this case, deliveries without a stored result are sent again after the leases have
// lapsed. After Stop, Pass starts no workers.
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

// startJob starts a worker for a webhook. If the webhook already has a worker, startJob requests
// one more job from it.
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
		if _, err := s.delivery.serve(s.ctx, j, jobOptions{more: w.more}); err != nil && s.ctx.Err() == nil {
			s.delivery.Log.Error("webhook not served", "webhook", j.webhook, "error", err)
		}
	}
}

// next returns the job that was requested while the worker was busy. Without such a job, the worker
// ends. A later request then starts another worker.
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
