package store

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"passerelle/internal/keys"
)

// Options has what a store needs in addition to its address.
type Options struct {
	// Keys seal sensitive columns; a store without them serves where none is
	// read or written.
	Keys *keys.Ring
	// Log takes what operators should know; nil discards it.
	Log *slog.Logger
	// MaxConns bounds the connections that read on SQLite, all connections on
	// PostgreSQL; zero is twice the processors, and 16.
	MaxConns int
	// Alone gives each unit a transaction of its own: it is there to measure what
	// sharing one gains.
	Alone bool
	// Limit is how long a query or a unit may take, the wait for a connection
	// included, before it is given up with context.DeadlineExceeded or as
	// passerelle.Unavailable; zero is as long as it likes, which is right for
	// commands that read whole tables. COMMIT, and what a unit shares with others, is
	// waited for beyond it, for seconds.
	Limit time.Duration
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	Reader

	log        *slog.Logger
	migrations []migration
	sequences  sequences
	closed     atomic.Bool
	keyRenewal time.Duration          // zero, but in tests
	proof      atomic.Pointer[[]byte] // that the keys are those of the database, as it was last seen
}

// Reader reads committed rows and cannot write.
type Reader struct {
	engine engine
	keys   *keys.Ring
	limit  time.Duration
	// sealing is set once it is known that account numbers are sealed.
	sealing *atomic.Bool
}

// bounded is the context of a query or a unit.
func (r *Reader) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, r.limit)
}

// engine is what the two databases do differently.
type engine interface {
	// read calls row for each row until it says no more or fails.
	read(ctx context.Context, sql string, args []any, row func(scanner) (more bool, err error)) error
	// readWhole is read for a query that goes through whole tables.
	readWhole(ctx context.Context, sql string, args []any, row func(scanner) (more bool, err error)) error
	// write executes the unit. A nil error means that it is durable.
	write(ctx context.Context, tx *Tx) error
	// migrate calls fn in a transaction that excludes other migrators.
	migrate(ctx context.Context, fn func(session) error) error
	// keepStatistics stores the statistics that planning needs, or removes misleading ones.
	keepStatistics(ctx context.Context) error
	ping(ctx context.Context) error
	close() error
	words() *dialect
}

// Open opens the database at an address: "sqlite:PATH", created when missing and
// readable by its owner only; "sqlite::memory:", a private temporary file that
// Close removes; or "postgres://…", in the form libpq reads. The schema is not
// touched.
func Open(ctx context.Context, url string, options Options) (*DB, error) {
	migrations, err := loadMigrations(migrationFiles)
	if err != nil {
		return nil, err
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	engine, err := openEngine(ctx, url, options)
	if err != nil {
		return nil, err
	}
	return &DB{Reader: Reader{engine: engine, keys: options.Keys, limit: options.Limit, sealing: &atomic.Bool{}}, log: options.Log, migrations: migrations}, nil
}

// openEngine names no address in its errors, which may hold a password.
func openEngine(ctx context.Context, url string, options Options) (engine, error) {
	scheme, path, _ := strings.Cut(url, ":")
	switch scheme {
	case "sqlite":
		return openSQLite(ctx, path, options)
	case "postgres", "postgresql":
		return openPostgres(ctx, url, options)
	}
	return nil, fmt.Errorf("open the database: the address begins with %q, and neither with sqlite: nor with postgres://", scheme)
}

// Ping reports whether the database answers.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.engine.ping(ctx); err != nil {
		return fmt.Errorf("ping the database: %w", classify(err))
	}
	return nil
}

// Close waits for the writes under way and closes all connections. A second
// call does nothing.
func (db *DB) Close() error {
	if db.closed.Swap(true) {
		return nil
	}
	if err := db.engine.close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}
