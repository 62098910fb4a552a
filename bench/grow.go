package main

import "context"

// growing returns a side that measures the service on a database. The database has the usual number
// of rows, multiplied by the argument `times`.
type growing func(ctx context.Context, p *place, kind string, times int) (side, error)

// growths returns the rows that compare a database with a database that has ten times as much data.
func growths() []row {
	var all []row
	for _, kind := range []string{sqlite, postgres} {
		for _, g := range []struct {
			name string
			side growing
		}{{"get payment", getAmong}, {"create payment", createAmong}, {"page of transactions", pageAmong}, {"deliver", deliverAmong}} {
			all = append(all, row{
				name: g.name + " at ten times the rows, " + kind, goal: 1 / 1.5, limit: "itself, at a tenth of the rows",
				open: func(ctx context.Context, p *place) (side, side, error) { return g.side.besideTenth(ctx, p, kind) },
			})
		}
	}
	return all
}

func (g growing) besideTenth(ctx context.Context, p *place, kind string) (side, side, error) {
	return p.both(func(large bool) (side, error) {
		if large {
			return g(ctx, p, kind, 10)
		}
		return g(ctx, p, kind, 1)
	})
}

// These are numbers at scale 1: rows in the smaller database, and deliveries in a measurement.
const (
	storedPayments     = 20_000
	storedTransactions = 100_000
	storedDeliveries   = 20_000
	deliveriesOf       = 4000
)

func amongPayments(ctx context.Context, p *place, kind string, times int) (*instance, error) {
	return p.filled(ctx, kind, times*storedPayments)
}

func getAmong(ctx context.Context, p *place, kind string, times int) (side, error) {
	w, err := amongPayments(ctx, p, kind, times)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, times*p.amount(storedPayments))
	for i := range ids {
		ids[i] = copiesAfter + 1 + int64(i*7919%len(ids)) // not in the order of the ids
	}
	return p.getting(w.base, w.token, ids), nil
}

func createAmong(ctx context.Context, p *place, kind string, times int) (side, error) {
	w, err := amongPayments(ctx, p, kind, times)
	if err != nil {
		return nil, err
	}
	return p.creating(w.base, w.token, manyClients), nil
}

func pageAmong(ctx context.Context, p *place, kind string, times int) (side, error) {
	w, err := p.freshService(ctx, kind)
	if err != nil {
		return nil, err
	}
	l, err := w.longList(ctx, p, times*p.amount(storedTransactions))
	if err != nil {
		return nil, err
	}
	address, err := l.address(ctx, lastPage)
	return p.paging(address, l.token), err
}

func deliverAmong(ctx context.Context, p *place, kind string, times int) (side, error) {
	o, err := p.sendingService(ctx, kind, 1)
	if err != nil {
		return nil, err
	}
	if _, err := o.posting(1)(ctx); err != nil {
		return nil, err
	}
	one, err := p.numberIn(ctx, kind, o.database, `SELECT MAX(id) FROM delivery`)
	if err != nil {
		return nil, err
	}
	w := &instance{kind: kind, database: o.database}
	o.subject = 10 * copiesAfter
	return o.posting(p.amount(deliveriesOf)), w.multiply(ctx, p, one, times*p.amount(storedDeliveries), copyDelivery...)
}
