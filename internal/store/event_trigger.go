package store

import (
	"context"
	"fmt"

	"passerelle"
	"passerelle/internal/database"
)

// triggeredFrom is higher than any version that real changes of a subject can reach. A triggered
// event therefore never takes the version of a real event.
const triggeredFrom = 1 << 40

const triggered = "triggered"

// TriggeredVersion returns the version for an event that a client requested in a sandbox and that
// reports no change. Each call returns a greater version than all earlier calls for the domain, in
// any process. A separate unit reserves the version, so it counts as used even when the caller's
// unit fails.
func (db *DB) TriggeredVersion(ctx context.Context, domain passerelle.DomainID) (int64, error) {
	var version int64
	err := db.Write(ctx, func(tx *Tx) error {
		tx.unit.Returning(func(row database.Row) error { return row.Scan(&version) }, `INSERT INTO counter (domain_id, name, shard, n) VALUES ($1, $2, 0, 1)
			ON CONFLICT (domain_id, name, shard) DO UPDATE SET n = counter.n + 1 RETURNING n`, int64(domain), triggered)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count the triggered events of domain %d: %w", domain, err)
	}
	return triggeredFrom + version, nil
}

// DeliveriesOf lists at most limit deliveries of an event. It finds the event by name, subject and
// version.
func (r *Reader) DeliveriesOf(ctx context.Context, e EmittedEvent, limit int) ([]passerelle.DeliveryID, error) {
	return database.Collect(ctx, r.rows, func(row database.Row) (passerelle.DeliveryID, error) {
		var id passerelle.DeliveryID
		err := row.Scan(&id)
		return id, err
	}, `SELECT d.id FROM event e JOIN delivery d ON d.event_id = e.id
		WHERE e.domain_id = $1 AND e.subject = $2 AND e.subject_id = $3 AND e.name = $4 AND e.version = $5 ORDER BY d.id LIMIT $6`,
		int64(e.Domain), e.Subject, e.SubjectID, string(e.Name), e.Version, limit)
}
