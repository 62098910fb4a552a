package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
)

// ErrServed reports that another process already serves from the database.
var ErrServed = errors.New("another process serves from this SQLite database")

// LockOut keeps other servers away from a SQLite database until the pool is closed or the
// process ends. It fails with ErrServed when another server is there. It returns false for
// PostgreSQL, from which several processes serve.
func (p *Handle) LockOut(ctx context.Context) (bool, error) {
	single, ok := p.engine.(*sqliteEngine)
	if !ok {
		return false, nil
	}
	return true, single.lockOut(ctx)
}

// lockOut locks the database for one server. The lock is a transaction on a file beside the
// database, which commands that read or write rows do not open. SQLite locks it with the means
// of each operating system.
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
