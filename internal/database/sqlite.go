package database

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// busyTimeout is the longest time for which a statement waits for another process, such as a
// command of the operator.
const busyTimeout = 10 * time.Second

// sqliteEngine is a database file with one writing connection and several reading connections.
type sqliteEngine struct {
	path      string
	temporary string // directory that is removed at the end, or empty
	readers   *sqliteReaders
	serving   *sqliteConn // holds the lock that prevents a second server, or nil
	writer    *writer
	dialect   *Dialect
}

func openSQLite(ctx context.Context, path string, options Config) (_ engine, err error) {
	s := &sqliteEngine{path: path, dialect: SQLiteDialect()}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open the SQLite database: %w", classify(err)), s.close())
		}
	}()
	if err := s.locate(); err != nil {
		return nil, err
	}
	if s.writer, err = newWriter(ctx, s.opener("journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)", "secure_delete(ON)", "temp_store(MEMORY)")); err != nil {
		return nil, err
	}
	if options.Alone {
		s.writer.most = 1
	}
	connections := options.MaxConns
	if connections <= 0 {
		connections = 2 * runtime.GOMAXPROCS(0)
	}
	s.readers = newSQLiteReaders(s.opener("query_only(ON)"), connections)
	return s, s.ping(ctx)
}

// locate creates the file when it is missing, and removes the permissions of all users except its
// owner. It resolves symbolic links, because the names of further files begin with the path of the
// database. All processes must use the same files. One of these files prevents a second server.
func (s *sqliteEngine) locate() error {
	var err error
	if s.path == ":memory:" {
		if s.temporary, err = os.MkdirTemp("", "passerelle-"); err != nil {
			return err
		}
		s.path = filepath.Join(s.temporary, "database")
	}
	if s.path, err = filepath.Abs(s.path); err != nil {
		return err
	}
	if err := privateFile(s.path); err != nil {
		return err
	}
	s.path, err = filepath.EvalSymlinks(s.path)
	return err
}

// privateFile creates a file that only its owner can access, or removes the permissions of other
// users from an existing file. SQLite creates its additional files with the permissions of the
// database file.
func privateFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	stat, err := file.Stat()
	if err == nil && stat.Mode().Perm()&0o077 != 0 {
		err = file.Chmod(stat.Mode().Perm() & 0o700)
	}
	return errors.Join(err, file.Close())
}

// opener returns a function that opens a connection with these settings.
func (s *sqliteEngine) opener(settings ...string) opener {
	return func(ctx context.Context) (*sqliteConn, error) {
		return openSQLiteConn(ctx, s.path, s.dialect, settings...)
	}
}

// opener opens a connection.
type opener func(ctx context.Context) (*sqliteConn, error)

func (s *sqliteEngine) words() *Dialect { return s.dialect }

func (s *sqliteEngine) ping(ctx context.Context) error {
	_, err := One(ctx, &Querier{engine: s}, ScanInt, `SELECT 1`)
	return err
}

func (s *sqliteEngine) close() error {
	var errs []error
	if s.writer != nil {
		s.writer.close()
	}
	if s.readers != nil {
		errs = append(errs, s.readers.close())
	}
	if s.serving != nil {
		errs = append(errs, s.serving.close())
	}
	if s.temporary != "" {
		errs = append(errs, os.RemoveAll(s.temporary))
	}
	return errors.Join(errs...)
}

func (s *sqliteEngine) write(ctx context.Context, tx *Unit) error { return s.writer.submit(ctx, tx) }

// migrate uses a separate connection that does not enforce references. A migration can therefore
// rebuild a table. migrate checks the references at the end.
func (s *sqliteEngine) migrate(ctx context.Context, fn func(session) error) (err error) {
	conn, err := s.opener("foreign_keys(OFF)", "synchronous(FULL)")(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.close()) }() // rolls back uncommitted changes
	session := sqliteSession{conn}
	if err := conn.script(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := fn(session); err != nil {
		return err
	}
	if err := session.query(ctx, danglingReference, "PRAGMA foreign_key_check"); err != nil {
		return err
	}
	return conn.script(ctx, "COMMIT")
}

func danglingReference(row Row) error {
	var table, parent string
	var rowid, constraint *int64
	if err := row.Scan(&table, &rowid, &parent, &constraint); err != nil {
		return err
	}
	return fmt.Errorf("%w: a row of %s refers to a missing one of %s", ErrConstraint, table, parent)
}

type sqliteSession struct{ *sqliteConn }

func (s sqliteSession) exec(ctx context.Context, text string, args ...any) error {
	values, err := arguments(args)
	if err == nil {
		_, err = s.sqliteConn.exec(ctx, text, values)
	}
	return err
}

func (s sqliteSession) query(ctx context.Context, row func(Row) error, text string) error {
	return s.sqliteConn.query(ctx, text, nil, func(r Row) (bool, error) { return true, row(r) })
}
