package database

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"passerelle"
)

// Config contains the settings of a database, except its address.
type Config struct {
	// Migrations contains the files that [Handle.Migrate] applies. Nil means no migrations.
	Migrations fs.FS
	// Log receives messages for operators. A nil Log discards them.
	Log *slog.Logger
	// MaxConns limits the reading connections on SQLite, and all connections on PostgreSQL. On
	// SQLite, zero means twice GOMAXPROCS. On PostgreSQL, zero means pool_max_conns of the address,
	// or 16 without it.
	MaxConns int
	// Alone gives each unit its own transaction. Benchmarks use it to measure the gain from
	// shared transactions.
	Alone bool
	// Limit is the longest time for a query or unit, including the wait for a connection. After
	// this time, the query or unit fails with context.DeadlineExceeded or passerelle.Unavailable. A
	// unit may wait some seconds longer for COMMIT, and for work that it shares with other units.
	// Zero means no limit. Commands that read whole tables use zero.
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

// bounded returns a context for a query or a unit. The context ends after the limit.
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
	// readWhole does the same as read, for a query that reads whole tables.
	readWhole(ctx context.Context, sql string, args []any, row func(Row) (more bool, err error)) error
	// readByKey does the same as read, for a query that finds at most a few rows by a key. It may
	// finish the query after the context has ended.
	readByKey(ctx context.Context, sql string, args []any, row func(Row) (more bool, err error)) error
	// together runs functions that read, and combines their queries.
	together(ctx context.Context, r *Querier, questions []func(*Querier) error) error
	// write executes the unit. If it returns nil, the unit is durable.
	write(ctx context.Context, u *Unit) error
	// migrate calls fn in a transaction. No other migration runs at the same time.
	migrate(ctx context.Context, fn func(session) error) error
	// keepStatistics stores the statistics that the planner needs, or removes statistics that
	// would mislead it.
	keepStatistics(ctx context.Context) error
	ping(ctx context.Context) error
	close() error
	words() *Dialect
}

// Open opens the database at an address. "sqlite:PATH" is a file. Open creates a missing file, and
// only its owner can read it. "sqlite::memory:" is a private temporary file that Close removes.
// "postgres://…" is an address in the form that libpq reads. Open does not change the schema.
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

// schemeForm matches the scheme of a URL.
var schemeForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)

// openEngine opens the engine for the scheme of an address. Its errors omit the address, which
// may contain a password.
func openEngine(ctx context.Context, url string, config Config) (engine, error) {
	scheme, path, separated := strings.Cut(url, ":")
	switch {
	case separated && scheme == "sqlite":
		return openSQLite(ctx, path, config)
	case isPostgres(url):
		return openPostgres(ctx, url, config)
	case !separated || !schemeForm.MatchString(scheme): // perhaps libpq's form "host=… password=…"
		return nil, passerelle.InvalidField("database", "the address must begin with sqlite: or postgres://")
	}
	return nil, passerelle.InvalidField("database", "the address begins with %q instead of sqlite: or postgres://", scheme)
}

// Ping fails when the database does not respond.
func (p *Handle) Ping(ctx context.Context) error {
	if err := p.engine.ping(ctx); err != nil {
		return fmt.Errorf("ping the database: %w", classify(err))
	}
	return nil
}

// Close waits for running writes and closes all connections. On SQLite, a query that is still
// running closes its connection when it ends. A second call does nothing.
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

// Observe sets a function that the handle calls with the statements of each query and unit, before
// it executes them. It leaves out queries for whole tables. An error from fn becomes the error of
// the query or unit. Tests use Observe to measure and plan statements. Call it while nothing else
// uses the database.
func (p *Handle) Observe(fn func(ctx context.Context, statements []Statement) error) { p.observer = fn }

// observe reports a query to the observer.
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
