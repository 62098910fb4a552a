package store

import "context"

// Reclaim prepares a database for use by a server. Only one server at a time can use a SQLite
// database. For a second server, Reclaim fails with ErrInUse. Reclaim locks a SQLite database, and
// then ends the leases of the previous server. The process that held these leases has ended, so
// waiting until they lapse would only delay recovery. On PostgreSQL Reclaim does nothing, because
// the holder of a lease may be another running replica.
func (db *DB) Reclaim(ctx context.Context) error {
	if single, err := db.Database.LockOut(ctx); err != nil || !single {
		return err
	}
	return db.Write(ctx, func(tx *Tx) error {
		tx.unit.Exec(`UPDATE attempt SET lease_until = 0 WHERE state <> 'answered'`)
		tx.unit.Exec(`UPDATE payment SET check_lease = 0 WHERE next_check IS NOT NULL AND check_lease > 0`)
		// Expiry also leases payments without a planned check.
		tx.unit.Exec(`UPDATE payment SET check_lease = 0 WHERE expires_from IS NOT NULL AND check_lease > 0`)
		tx.unit.Exec(`UPDATE mail SET lease_until = 0 WHERE sent IS NULL AND lease_until > 0`)
		tx.unit.Exec(`UPDATE webhook SET lease_until = 0 WHERE lease_until > 0`)
		// The column holder keeps its value, which marks an interrupted sync.
		tx.unit.Exec(`UPDATE connection SET lease_until = 0 WHERE lease_until > 0`)
		tx.unit.Exec(`UPDATE stored_file SET lease_until = 0 WHERE next_fetch IS NOT NULL AND lease_until > 0`)
		tx.unit.Exec(`UPDATE audit_turn SET lease_until = 0 WHERE lease_until > 0`)
		tx.unit.Exec(`UPDATE idempotency SET lease_until = 0 WHERE answer IS NULL AND lease_until > 0`)
		return nil
	})
}
