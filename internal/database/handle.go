package database

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"
)

// Config contains the settings of a database in addition to its address.
type Config struct {
	// Migrations contains the steps of the schema, see [Handle.Migrate]; nil means none.
	Migrations fs.FS
	// Log receives messages for operators; nil discards them.
	Log *slog.Logger
	// MaxConns limits reading connections on SQLite and all connections on PostgreSQL. Zero means
	// twice the number of processors on SQLite, and 16 on PostgreSQL.
	MaxConns int
	// Alone gives each unit its own transaction, to measure the gain from shared transactions.
	Alone bool
	// Limit is the longest time of a query or unit, including the wait for a connection, before
	// it fails with context.DeadlineExceeded or passerelle.Unavailable. Zero means no limit, for
	// commands that read whole tables. A unit may wait some seconds longer for COMMIT, and for
	// work that it shares with other units.
	Limit time.Duration
}

// Handle is an open database. It is safe for concurrent use.
type Handle struct {
	Querier

	log        *slog.Logger
	migrations []migration
	sequences  sequences
	closed     atomic.Bool
}

// Querier reads committed rows and cannot write.
type Querier struct {
	engine   engine
	limit    time.Duration
	observer func(ctx context.Context, statements []Statement) error
}

// bounded is the context of a query or a unit.
func (r *Querier) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, r.limit)
}

// engine contains the operations that differ between the two databases.
type engine interface {
	// read calls row for each row until row returns false or an error.
	read(ctx context.Context, sql string, args []any, row func(Row) (more bool, err error)) error
	// readWhole is like read, for a query that reads whole tables.
	readWhole(ctx context.Context, sql string, args []any, row func(Row) (more bool, err error)) error
	// write executes the unit. A nil error means that it is durable.
	write(ctx context.Context, u *Unit) error
	// migrate calls fn in a transaction that excludes other migrators.
	migrate(ctx context.Context, fn func(session) error) error
	// keepStatistics stores the statistics that planning needs, or removes misleading ones.
	keepStatistics(ctx context.Context) error
	ping(ctx context.Context) error
	close() error
	words() *Dialect
}

// Open opens the database at an address: "sqlite:PATH", a file that is created when missing and
// readable by its owner only; "sqlite::memory:", a private temporary file that Close removes; or
// "postgres://…", as libpq reads it. Open does not change the schema.
func Open(ctx context.Context, url string, config Config) (*Handle, error) {
	migrations, err := loadMigrations(config.Migrations)
	if err != nil {
		return nil, err
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	engine, err := openEngine(ctx, url, config)
	if err != nil {
		return nil, err
	}
	return &Handle{Querier: Querier{engine: engine, limit: config.Limit}, log: config.Log, migrations: migrations}, nil
}

// openEngine omits addresses from errors, because they may contain a password.
func openEngine(ctx context.Context, url string, config Config) (engine, error) {
	scheme, path, _ := strings.Cut(url, ":")
	switch scheme {
	case "sqlite":
		return openSQLite(ctx, path, config)
	case "postgres", "postgresql":
		return openPostgres(ctx, url, config)
	}
	return nil, fmt.Errorf("open the database: the address begins with %q, and neither with sqlite: nor with postgres://", scheme)
}

// Ping fails when the database does not answer.
func (p *Handle) Ping(ctx context.Context) error {
	if err := p.engine.ping(ctx); err != nil {
		return fmt.Errorf("ping the database: %w", classify(err))
	}
	return nil
}

// Close waits for running writes and closes all connections. A second call does nothing.
func (p *Handle) Close() error {
	if p.closed.Swap(true) {
		return nil
	}
	if err := p.engine.close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}

// Dialect returns the SQL dialect of the database.
func (r *Querier) Dialect() *Dialect { return r.engine.words() }

// Observe makes the handle call fn with the statements of each query and unit before they are
// executed, except queries for whole tables. An error of fn becomes the error of the query or
// unit. Tests measure and plan statements with it. It must be called while nothing else uses the
// database.
func (p *Handle) Observe(fn func(ctx context.Context, statements []Statement) error) { p.observer = fn }

// observe reports a query.
func (r *Querier) observe(ctx context.Context, sql string, args []any) error {
	if r.observer == nil {
		return nil
	}
	values, err := arguments(args)
	if err != nil {
		return err
	}
	return r.observer(ctx, []Statement{{sql, values}})
}
