package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
)

// ErrInUse reports that another server already uses the database.
var ErrInUse = errors.New("another server uses this SQLite database")

// LockOut prevents other servers from using a SQLite database until the handle is closed or the
// process ends. It fails with ErrInUse when another server uses the database. For PostgreSQL,
// which several servers may use, it returns false and does nothing.
func (p *Handle) LockOut(ctx context.Context) (bool, error) {
	single, ok := p.engine.(*sqliteEngine)
	if !ok {
		return false, nil
	}
	return true, single.lockOut(ctx)
}

// lockOut locks the database for this server. The lock is a transaction on a second file next to
// the database, so SQLite chooses the right kind of file lock for the operating system. Commands
// that read or write rows do not open that file.
func (s *sqliteEngine) lockOut(ctx context.Context) error {
	if err := privateFile(s.path + "-serving"); err != nil {
		return fmt.Errorf("make the file of the one server: %w", err)
	}
	address := url.URL{Scheme: "file", Path: s.path + "-serving"}
	pool, err := sql.Open("sqlite", address.String())
	if err != nil {
		panic(err) // Open fails only for an unknown driver
	}
	pool.SetMaxOpenConns(1)
	if _, err := pool.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrInUse, err), pool.Close())
	}
	s.serving = pool
	return nil
}
