package store

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"passerelle"
)

// counterShards spreads one total over rows, so that concurrent transactions
// seldom wait for each other; a reader adds them up.
const counterShards = 16

// total is a row of which units change the number.
type total struct {
	domain int64
	name   string
	shard  int64
}

func (t total) compare(o total) int {
	return cmp.Or(cmp.Compare(t.domain, o.domain), cmp.Compare(t.name, o.name), cmp.Compare(t.shard, o.shard))
}

// count changes a total by delta. Spread picks the shard.
func (tx *Tx) count(domain passerelle.DomainID, name string, spread, delta int64) {
	if tx.totals == nil {
		tx.totals = map[total]int64{}
	}
	tx.totals[total{int64(domain), name, spread % counterShards}] += delta
}

const changeTotal = `INSERT INTO counter (domain_id, name, shard, n) VALUES ($1, $2, $3, $4)
	ON CONFLICT (domain_id, name, shard) DO UPDATE SET n = counter.n + excluded.n`

// tallies change the totals of units that share a transaction, as its last
// statements: each total once, since whoever changes it keeps others waiting until
// COMMIT, and in one order, so that two transactions never wait for each other.
func tallies(units ...*Tx) []statement {
	changes := map[total]int64{}
	for _, tx := range units {
		for t, delta := range tx.totals {
			changes[t] += delta
		}
	}
	var all []statement
	for _, t := range slices.SortedFunc(maps.Keys(changes), total.compare) {
		all = append(all, statement{args: []any{t.domain, t.name, t.shard, changes[t]}, sql: changeTotal})
	}
	return all
}

func (r *Reader) total(ctx context.Context, domain passerelle.DomainID, name string) (int64, error) {
	return one(ctx, r, func(row scanner) (int64, error) {
		var n int64
		err := row.Scan(&n)
		return n, err
	}, `SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM counter WHERE domain_id = $1 AND name = $2`, int64(domain), name)
}
