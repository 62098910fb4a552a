package store

import "context"

// Reclaim ends every lease on a SQLite database, whose only process is
// starting: whoever held one is dead, and waiting for it to lapse would only
// delay recovery. On PostgreSQL it does nothing, because the holder may be
// another replica at work.
func (db *DB) Reclaim(ctx context.Context) error {
	if db.engine.words().replicas {
		return nil
	}
	return db.Write(ctx, func(tx *Tx) error {
		tx.exec(`UPDATE attempt SET lease_until = 0 WHERE state <> 'answered'`)
		tx.exec(`UPDATE payment SET check_lease = 0 WHERE next_check IS NOT NULL AND check_lease > 0`)
		tx.exec(`UPDATE webhook SET lease_until = 0 WHERE lease_until > 0`)
		tx.exec(`UPDATE idempotency SET lease_until = 0 WHERE answer IS NULL AND lease_until > 0`)
		return nil
	})
}
