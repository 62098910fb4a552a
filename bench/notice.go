package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"passerelle/internal/delivery"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// notices returns the rows about the time until a receiver gets an event.
func notices() []row {
	var all []row
	for _, kind := range []string{sqlite, postgres} {
		all = append(all, row{
			name: "event committed to received, 50 a second, 99th in a hundred, " + kind, budget: 3, unit: "ms",
			limit: "the same body posted on the loopback interface",
			open:  func(ctx context.Context, p *place) (side, side, error) { return noticeBesideLimit(ctx, p, kind) },
		}, row{
			name: fmt.Sprintf("the same beside %d endpoints that take %v for each response, %s", slowEndpoints, slowAnswer, kind), most: 1.2, unit: "ms",
			limit: "itself, without them",
			open: func(ctx context.Context, p *place) (side, side, error) {
				return p.both(func(measured bool) (side, error) {
					return p.noticeBeside(ctx, kind, map[bool]int{true: slowEndpoints}[measured])
				})
			},
		})
	}
	return all
}

const (
	noticesOf   = 1000
	noticeEvery = time.Second / 50

	slowEndpoints = 5
	slowAnswer    = 5 * time.Second
)

func noticeBesideLimit(ctx context.Context, p *place, kind string) (side, side, error) {
	r, err := p.listen(ctx)
	if err != nil {
		return nil, nil, err
	}
	w, err := p.freshService(ctx, kind)
	if err != nil {
		return nil, nil, err
	}
	c := newCaller("", 1)
	post := func(ctx context.Context) (time.Time, error) {
		begun := time.Now()
		_, err := c.call(ctx, http.MethodPost, r.origin, bytes.Clone(eventOf(w.domain.ID, 0).Body))
		return begun, err
	}
	return p.noticing(w.eventCommitter(), r.received), p.noticing(post, r.received), w.subscribe(ctx, r.origin)
}

// noticeBeside measures a receiver while a number of slow receivers get the same events.
func (p *place) noticeBeside(ctx context.Context, kind string, slow int) (side, error) {
	r, err := p.listen(ctx)
	if err != nil {
		return nil, err
	}
	w, err := p.freshService(ctx, kind)
	if err != nil {
		return nil, err
	}
	if err := w.subscribe(ctx, r.origin); err != nil {
		return nil, err
	}
	for range slow {
		origin, err := p.serve(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { pause(r.Context(), slowAnswer) }))
		if err != nil {
			return nil, err
		}
		if err := w.register(ctx, origin); err != nil {
			return nil, err
		}
	}
	return p.noticing(w.eventCommitter(), r.received), nil
}

// listener is a receiver that reports the id in the body of each request.
type listener struct {
	origin   string
	received chan int64
}

func (p *place) listen(ctx context.Context) (listener, error) {
	var (
		r   listener
		err error
	)
	r.received = make(chan int64, noticesOf)
	r.origin, err = p.serve(ctx, http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		var body struct {
			ID int64 `json:"id"`
		}
		if json.NewDecoder(q.Body).Decode(&body) == nil {
			r.received <- body.ID
		}
	}))
	return r, err
}

// subscribe registers the first receiver of a service, for the event PAYMENT_STATE_UPDATED.
func (w *instance) subscribe(ctx context.Context, origin string) error {
	if _, err := w.Delivery.RegisterProvider(ctx, w.domain, "bench", "bench"); err != nil {
		return err
	}
	return w.register(ctx, origin)
}

func (w *instance) register(ctx context.Context, origin string) error {
	_, err := w.Delivery.Register(ctx, w.domain, delivery.Registration{Event: string(webhook.PaymentStateUpdated), URL: origin, Auth: "bench"})
	return err
}

// eventCommitter returns a function that commits one event and returns the time of the commit.
func (w *instance) eventCommitter() func(context.Context) (time.Time, error) {
	var last int64
	return func(ctx context.Context) (time.Time, error) {
		last++
		err := w.DB.Write(ctx, func(tx *store.Tx) error {
			tx.AfterCommit(w.Initiation.Wake)
			return tx.Emit(eventOf(w.domain.ID, last))
		})
		return time.Now(), err
	}
}

// noticing returns a side that measures the time from an event to its arrival at the receiver. The
// function tell causes the event and returns its time. The result is the 99th percentile, in
// milliseconds.
func (p *place) noticing(tell func(context.Context) (time.Time, error), received <-chan int64) side {
	return func(ctx context.Context) (measured, error) {
		var took []time.Duration
		before := processorTime()
		ticks := time.NewTicker(noticeEvery)
		defer ticks.Stop()
		for range max(100, p.amount(noticesOf)) {
			<-ticks.C
			since, err := tell(ctx)
			if err != nil {
				return measured{}, err
			}
			<-received
			took = append(took, time.Since(since))
		}
		slices.Sort(took)
		return measured{took[len(took)*99/100].Seconds() * 1000, processorTime() - before}, nil
	}
}
