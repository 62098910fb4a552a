package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// lists returns the rows about pages of payments that have the same state, or labels with the same
// beginning. Each row compares many stored payments with few.
func lists() []row {
	var all []row
	for _, kind := range []string{sqlite, postgres} {
		for by, query := range map[string]string{"state": "state=done", "label": "label=Invoice"} {
			all = append(all, row{
				name: fmt.Sprintf("page of %d of %d payments by %s, against %d, %s", listOf, manyPayments, by, fewPayments, kind), goal: 1 / 1.1, limit: "itself, among fewer payments",
				open: func(ctx context.Context, p *place) (side, side, error) {
					return p.manyBesideFew(ctx, kind, func(w *instance) side { return p.listing(w, query) })
				},
			}, row{
				name: fmt.Sprintf("page of %d of %d payments by %s, one client, %s", listOf, manyPayments, by, kind), budget: 10, unit: "ms", limit: "itself, among fewer payments",
				open: func(ctx context.Context, p *place) (side, side, error) {
					return p.manyBesideFew(ctx, kind, func(w *instance) side { return p.awaitingList(w, query) })
				},
			})
		}
	}
	slices.SortStableFunc(all, func(a, b row) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	return all
}

const (
	listOf  = 50
	listsOf = 400
)

// listing returns a side in which clients read the first page.
func (p *place) listing(w *instance, query string) side {
	read := w.lister(fewClients, query)
	return func(ctx context.Context) (measured, error) { return load(ctx, fewClients, p.amount(listsOf), read) }
}

// awaitingList returns a side that measures how long one client waits for the first page.
func (p *place) awaitingList(w *instance, query string) side {
	read := w.lister(1, query)
	return func(ctx context.Context) (measured, error) { return waited(ctx, p.amount(listsOf/4), read) }
}

func (w *instance) lister(clients int, query string) func(ctx context.Context, n int) error {
	c, address := newCaller(w.token, clients), w.base+"/payments?limit="+number(listOf)+"&"+query
	return func(ctx context.Context, _ int) error {
		answer, err := c.call(ctx, http.MethodGet, address, nil)
		if n := bytes.Count(answer, []byte(`"instructions":`)); err == nil && n != listOf {
			err = fmt.Errorf("%d payments on a page", n)
		}
		return err
	}
}

// waited repeats an action and returns its median time in milliseconds.
func waited(ctx context.Context, times int, do func(ctx context.Context, n int) error) (measured, error) {
	took, before := make([]float64, times), processorTime()
	for n := range took {
		begun := time.Now()
		if err := do(ctx, n+1); err != nil {
			return measured{}, err
		}
		took[n] = time.Since(begun).Seconds() * 1000
	}
	return measured{median(took), processorTime() - before}, nil
}
