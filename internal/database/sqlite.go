package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// busyTimeout is the time for which a statement waits for another process, such as a command of the
// operator.
const busyTimeout = 10 * time.Second

// sqliteEngine is a database file with one writing connection and several reading connections.
type sqliteEngine struct {
	path      string
	temporary string // directory that is removed at the end, or empty
	readers   *sqliteReaders
	serving   *sql.DB // holds the lock of the only server, or nil
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
	if s.writer, err = newWriter(ctx, s.connect("journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)", "temp_store(MEMORY)"), s.dialect); err != nil {
		return nil, err
	}
	if options.Alone {
		s.writer.most = 1
	}
	connections := options.MaxConns
	if connections <= 0 {
		connections = 2 * runtime.GOMAXPROCS(0)
	}
	s.readers = newSQLiteReaders(s.connect("query_only(ON)"), connections, s.dialect)
	return s, s.ping(ctx)
}

// locate creates the file when it is missing, and removes the permissions of all users except
// its owner. It resolves symbolic links: the names of the other files, such as the lock of the only
// server, must not depend on the name by which a process reaches the database.
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

// connect returns a pool of connections with these settings. Each connection also has a cache of 8
// MiB. Connections do not map the file into memory: after each write of another connection, a reader
// would drop its map and map the file again, which costs more than the map saves.
func (s *sqliteEngine) connect(settings ...string) *sql.DB {
	shared := []string{fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "cache_size(-8192)"}
	address := url.URL{Scheme: "file", Path: s.path, RawQuery: url.Values{"_pragma": append(shared, settings...)}.Encode()}
	pool, err := sql.Open("sqlite", address.String())
	if err != nil {
		panic(err) // Open fails only for an unknown driver
	}
	return pool
}

func (s *sqliteEngine) words() *Dialect { return s.dialect }

func (s *sqliteEngine) ping(ctx context.Context) error {
	return s.readers.with(ctx, func(r *sqliteReader) error { return r.conn.PingContext(ctx) })
}

func (s *sqliteEngine) close() error {
	var errs []error
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	if s.readers != nil {
		errs = append(errs, s.readers.close())
	}
	if s.serving != nil {
		errs = append(errs, s.serving.Close())
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
	pool := s.connect("foreign_keys(OFF)", "synchronous(FULL)")
	defer func() { err = errors.Join(err, pool.Close()) }()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // rolls back uncommitted changes
	session := sqliteSession{conn}
	if err := session.script(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := fn(session); err != nil {
		return err
	}
	if err := session.query(ctx, danglingReference, "PRAGMA foreign_key_check"); err != nil {
		return err
	}
	return session.script(ctx, "COMMIT")
}

func danglingReference(row Row) error {
	var table, parent string
	var rowid, constraint *int64
	if err := row.Scan(&table, &rowid, &parent, &constraint); err != nil {
		return err
	}
	return fmt.Errorf("%w: a row of %s refers to a missing one of %s", ErrConstraint, table, parent)
}

type sqliteSession struct{ conn *sql.Conn }

func (s sqliteSession) script(ctx context.Context, text string) error { return s.exec(ctx, text) }

func (s sqliteSession) exec(ctx context.Context, text string, args ...any) error {
	_, err := s.conn.ExecContext(ctx, text, args...)
	return err
}

func (s sqliteSession) query(ctx context.Context, row func(Row) error, text string) error {
	rows, err := s.conn.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	return drain(rows, func(r Row) (bool, error) { return true, row(r) })
}

func drain(rows *sql.Rows, row func(Row) (more bool, err error)) error {
	defer rows.Close()
	for rows.Next() {
		if more, err := row(sqliteRow{rows}); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}

// sqliteRow catches the panic of an sql.Scanner. After such a panic, database/sql would leave the
// rows locked.
type sqliteRow struct{ rows *sql.Rows }

func (r sqliteRow) Scan(dest ...any) error {
	guarded := make([]any, len(dest))
	for i, d := range dest {
		guarded[i] = d
		if s, ok := d.(sql.Scanner); ok {
			guarded[i] = guardedScanner{s}
		}
	}
	return r.rows.Scan(guarded...)
}

type guardedScanner struct{ sql.Scanner }

func (g guardedScanner) Scan(value any) error {
	return guard(func() error { return g.Scanner.Scan(value) })
}
