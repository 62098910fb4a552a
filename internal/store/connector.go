package store

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// ConnectorUse counts the payments of a domain since an instant, by connector. It counts only the
// latest payments, up to limit.
func (r *Reader) ConnectorUse(ctx context.Context, domain passerelle.DomainID, since time.Time, limit int) (map[string]int64, error) {
	type use struct {
		connector string
		payments  int64
	}
	list, err := database.Collect(ctx, r.rows, func(row database.Row) (use, error) {
		var u use
		err := row.Scan(&u.connector, &u.payments)
		return u, err
	}, `SELECT connector_uuid, COUNT(*) FROM (
			SELECT connector_uuid FROM payment WHERE domain_id = $1 AND registered >= $2 ORDER BY registered DESC, id DESC LIMIT $3) AS latest
		WHERE connector_uuid IS NOT NULL GROUP BY connector_uuid`, int64(domain), database.Micros(since), limit)
	used := make(map[string]int64, len(list))
	for _, u := range list {
		used[u.connector] = u.payments
	}
	return used, err
}
