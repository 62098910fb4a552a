package database

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// CounterShards is the number of rows into which a total is divided. Because of this division,
// concurrent transactions seldom wait for each other. A reader adds up the rows.
const CounterShards = 16

// total identifies one row of a total that units change.
type total struct {
	domain int64
	name   string
	shard  int64
}

func (t total) compare(o total) int {
	return cmp.Or(cmp.Compare(t.domain, o.domain), cmp.Compare(t.name, o.name), cmp.Compare(t.shard, o.shard))
}

// Count changes a total by delta. spread selects the row of the total.
func (u *Unit) Count(domain int64, name string, spread, delta int64) {
	if u.totals == nil {
		u.totals = map[total]int64{}
	}
	u.totals[total{domain, name, spread % CounterShards}] += delta
}

const changeTotal = `INSERT INTO counter (domain_id, name, shard, n) VALUES ($1, $2, $3, $4)
	ON CONFLICT (domain_id, name, shard) DO UPDATE SET n = counter.n + excluded.n`

// tallies returns the statements that change the totals of units in a shared transaction. These
// statements come last, because other transactions wait for a changed total until COMMIT. Each
// total is changed once. All transactions change totals in the same order, so they cannot deadlock.
func tallies(units ...*Unit) []statement {
	changes := map[total]int64{}
	for _, u := range units {
		for t, delta := range u.totals {
			changes[t] += delta
		}
	}
	var all []statement
	for _, t := range slices.SortedFunc(maps.Keys(changes), total.compare) {
		all = append(all, statement{args: []any{t.domain, t.name, t.shard, changes[t]}, sql: changeTotal})
	}
	return all
}

// Total returns a total of a domain, or zero when it was never changed.
func (r *Querier) Total(ctx context.Context, domain int64, name string) (int64, error) {
	return One(ctx, r, func(row Row) (int64, error) {
		var n int64
		err := row.Scan(&n)
		return n, err
	}, `SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM counter WHERE domain_id = $1 AND name = $2`, domain, name)
}
