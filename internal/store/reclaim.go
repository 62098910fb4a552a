package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
)

// ErrServed reports that another process already serves from the database.
var ErrServed = errors.New("another process serves from this SQLite database")

// Reclaim prepares a database to be served from. A SQLite database has one
// server at a time: a second one gets ErrServed, and the first, once it has
// the database for itself, ends every lease, because whoever held one is dead
// and waiting for it to lapse would only delay recovery. On PostgreSQL Reclaim
// does nothing: the holder may be another replica at work.
func (db *DB) Reclaim(ctx context.Context) error {
	single, ok := db.engine.(*sqliteEngine)
	if !ok {
		return nil
	}
	if err := single.lockOut(ctx); err != nil {
		return err
	}
	return db.Write(ctx, func(tx *Tx) error {
		tx.exec(`UPDATE attempt SET lease_until = 0 WHERE state <> 'answered'`)
		tx.exec(`UPDATE payment SET check_lease = 0 WHERE next_check IS NOT NULL AND check_lease > 0`)
		tx.exec(`UPDATE mail SET lease_until = 0 WHERE sent IS NULL AND lease_until > 0`)
		tx.exec(`UPDATE webhook SET lease_until = 0 WHERE lease_until > 0`)
		tx.exec(`UPDATE stored_file SET lease_until = 0 WHERE next_fetch IS NOT NULL AND lease_until > 0`)
		tx.exec(`UPDATE audit_turn SET lease_until = 0 WHERE lease_until > 0`)
		tx.exec(`UPDATE idempotency SET lease_until = 0 WHERE answer IS NULL AND lease_until > 0`)
		return nil
	})
}

// lockOut keeps other servers away until the store is closed or the process
// ends, however it ends. The lock is a transaction on a file beside the
// database, which no command that merely reads or writes rows opens; SQLite
// takes it in the way of each operating system.
func (s *sqliteEngine) lockOut(ctx context.Context) error {
	if err := privateFile(s.path + "-serving"); err != nil {
		return fmt.Errorf("make the file of the one server: %w", err)
	}
	address := url.URL{Scheme: "file", Path: s.path + "-serving"}
	pool, err := sql.Open("sqlite", address.String())
	if err != nil {
		panic(err) // only an unknown driver fails here
	}
	pool.SetMaxOpenConns(1)
	if _, err := pool.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrServed, err), pool.Close())
	}
	s.serving = pool
	return nil
}
