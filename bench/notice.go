package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"passerelle/internal/delivery"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// notices are the rows about how soon a receiver hears of an event.
func notices() []row {
	var all []row
	for _, kind := range []string{sqlite, postgres} {
		all = append(all, row{
			name: "event committed to received, 50 a second, 99th in a hundred, " + kind, budget: 10, unit: "ms",
			limit: "the same body posted on the loopback interface",
			open:  func(ctx context.Context, p *place) (side, side, error) { return noticeBesideLimit(ctx, p, kind) },
		})
	}
	return all
}

const (
	noticesOf   = 1000
	noticeEvery = time.Second / 50
)

func noticeBesideLimit(ctx context.Context, p *place, kind string) (ours, limit side, err error) {
	w, err := p.freshService(ctx, kind)
	if err != nil {
		return nil, nil, err
	}
	heard := make(chan int64, noticesOf)
	origin, err := p.serve(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct {
			ID int64 `json:"id"`
		}
		if json.NewDecoder(r.Body).Decode(&body) == nil {
			heard <- body.ID
		}
	}))
	if err != nil {
		return nil, nil, err
	}
	if _, err := w.Delivery.RegisterProvider(ctx, w.domain, "bench", "bench"); err != nil {
		return nil, nil, err
	}
	if _, err := w.Delivery.Register(ctx, w.domain, delivery.Registration{Event: string(webhook.PaymentStateUpdated), URL: origin, Auth: "bench"}); err != nil {
		return nil, nil, err
	}
	var last int64
	tell := func(ctx context.Context) (time.Time, error) {
		last++
		err := w.DB.Write(ctx, func(tx *store.Tx) error {
			tx.AfterCommit(w.Initiation.Wake)
			return tx.Emit(eventOf(w.domain.ID, last))
		})
		return time.Now(), err
	}
	c := newCaller("", 1)
	post := func(ctx context.Context) (time.Time, error) {
		begun := time.Now()
		_, err := c.call(ctx, http.MethodPost, origin, bytes.Clone(eventOf(w.domain.ID, 0).Body))
		return begun, err
	}
	return p.noticing(tell, heard), p.noticing(post, heard), nil
}

// noticing is how many milliseconds 99 in a hundred took at most, from the moment
// that tell names until somebody heard.
func (p *place) noticing(tell func(context.Context) (time.Time, error), heard <-chan int64) side {
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
			<-heard
			took = append(took, time.Since(since))
		}
		slices.Sort(took)
		return measured{took[len(took)*99/100].Seconds() * 1000, processorTime() - before}, nil
	}
}
