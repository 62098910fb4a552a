package main

import (
	"context"
	"slices"
)

// These are numbers of stored payments at scale 1.
const (
	fewPayments  = 1000
	manyPayments = 1_000_000
)

// among returns a service with a number of stored payments. Filling a database with many payments
// takes minutes, so all benchmark rows of a run share one such service for each kind of database.
func (p *place) among(ctx context.Context, kind string, payments int) (*instance, error) {
	if payments < manyPayments {
		return p.filled(ctx, kind, payments)
	}
	if w := p.run.large[kind]; w != nil {
		return w, nil
	}
	w, err := p.run.place.filled(ctx, kind, payments)
	if err == nil {
		p.run.large[kind] = w
	}
	return w, err
}

// run holds the data that all rows of a run share.
type run struct {
	place *place
	large map[string]*instance
}

func newRun(o options) *run { return &run{place: &place{options: o}, large: map[string]*instance{}} }

// filled returns a new service with copies of payments. The argument payments is their number at
// scale 1. At any scale, there are enough payments for two pages of the payment list.
func (p *place) filled(ctx context.Context, kind string, payments int) (*instance, error) {
	database, err := p.database(ctx, kind)
	if err != nil {
		return nil, err
	}
	w, err := p.payingService(ctx, kind, database)
	if err != nil {
		return nil, err
	}
	first, err := w.liveThrough(ctx)
	if err != nil {
		return nil, err
	}
	return w, w.multiply(ctx, p, first, max(2*listOf, p.amount(payments)), copyPayment...)
}

// originals lists the payments that are copied in turn. Of ten payments, seven are done, two are
// cancelled and one was only created.
var originals = slices.Concat(
	slices.Repeat([][]step{{(*customer).order, (*customer).validate, (*customer).comeBack}}, 7),
	slices.Repeat([][]step{{(*customer).order, (*customer).cancel}}, 2),
	[][]step{{(*customer).order}},
)

// liveThrough makes the originals and returns the id of the first. The other originals have the
// next ids.
func (w *instance) liveThrough(ctx context.Context) (int64, error) {
	var first int64
	c := newCaller(w.token, 1)
	for _, steps := range originals {
		var v customer
		for _, take := range steps {
			if err := take(&v, ctx, c, w.base); err != nil {
				return 0, err
			}
		}
		if first == 0 {
			first = v.payment
		}
	}
	return first, nil
}

// manyBesideFew returns two sides with the same measurement: among many stored payments, and among
// few.
func (p *place) manyBesideFew(ctx context.Context, kind string, of func(*instance) side) (side, side, error) {
	return p.both(func(large bool) (side, error) {
		n := fewPayments
		if large {
			n = manyPayments
		}
		w, err := p.among(ctx, kind, n)
		if err != nil {
			return nil, err
		}
		return of(w), nil
	})
}
