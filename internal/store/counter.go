package store

import (
	"context"

	"passerelle"
)

// counterShards spreads one total over rows, so that concurrent transactions
// seldom wait for each other; a reader adds them up.
const counterShards = 16

// count changes a total by delta. Spread picks the shard.
func (tx *Tx) count(domain passerelle.DomainID, name string, spread, delta int64) {
	tx.exec(`INSERT INTO counter (domain_id, name, shard, n) VALUES ($1, $2, $3, $4)
		ON CONFLICT (domain_id, name, shard) DO UPDATE SET n = counter.n + excluded.n`, int64(domain), name, spread%counterShards, delta)
}

func (r *Reader) total(ctx context.Context, domain passerelle.DomainID, name string) (int64, error) {
	return one(ctx, r, func(row scanner) (int64, error) {
		var n int64
		err := row.Scan(&n)
		return n, err
	}, `SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM counter WHERE domain_id = $1 AND name = $2`, int64(domain), name)
}
