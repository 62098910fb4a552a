package database

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// ErrInUse reports that another server already uses the database.
var ErrInUse = errors.New("another server uses this SQLite database: stop that server, or choose another database")

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
	conn, err := bareSQLiteConn(s.path+"-serving", s.dialect, 0) // a PRAGMA would wait for the lock
	if err != nil {
		return fmt.Errorf("open the file of the one server: %w", err)
	}
	err = conn.script(ctx, "BEGIN EXCLUSIVE")
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy {
		return errors.Join(ErrInUse, conn.close())
	}
	if err != nil {
		return errors.Join(fmt.Errorf("lock the file of the one server: %w", err), conn.close())
	}
	s.serving = conn
	return nil
}
