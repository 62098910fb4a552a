package database

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgresConns is the default limit for connections.
const postgresConns = 16

// postgresEngine is a PostgreSQL server behind a pool of connections.
type postgresEngine struct {
	pool        *pgxpool.Pool
	dialect     *Dialect
	sharers     *sharers      // nil when every unit has its own transaction
	pooled      bool          // connected through a pooler, which may change the server process between transactions
	settleLimit time.Duration // the constant settleLimit, except in tests
	slots       slots
	giving      way // the variable givingWay, except in tests
	log         *slog.Logger
}

// errPostgresAddress replaces the error of the driver, because that error may contain a password.
var errPostgresAddress = errors.New("read the PostgreSQL address: it is not of the form postgres://user:password@host:port/database?parameters, or a file it refers to cannot be read")

// isPostgres reports whether an address has the form postgres://… or postgresql://…. The driver also
// reads addresses of the form "host=… password=…", but the programs of PostgreSQL would get such a
// password as an argument, which other users of the machine can read.
func isPostgres(url string) bool {
	scheme, _, _ := strings.Cut(url, "://")
	return scheme == "postgres" || scheme == "postgresql"
}

// dial replaces the function that connects to servers, in tests.
var dial pgconn.DialFunc

// DialWith sets the function that connects to PostgreSQL servers. Tests use it to keep sessions of
// a server for later connections. Call DialWith before you open a store.
func DialWith(fn pgconn.DialFunc) { dial = fn }

func openPostgres(ctx context.Context, url string, options Config) (engine, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errPostgresAddress
	}
	switch {
	case options.MaxConns > 0:
		config.MaxConns = int32(options.MaxConns)
	case !strings.Contains(url, "pool_max_conns"):
		config.MaxConns = postgresConns
	}
	bound(config.ConnConfig, options.Limit)
	if dial != nil {
		config.ConnConfig.DialFunc = dial
	}
	for name, value := range parameters {
		if config.ConnConfig.RuntimeParams[name] == "" {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
	pooled, err := examine(ctx, config.ConnConfig)
	if err != nil {
		return nil, err
	}
	if pooled && !strings.Contains(url, "default_query_exec_mode") {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error { noteConnection(conn); return nil }
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the PostgreSQL database: %w", classify(err))
	}
	p := &postgresEngine{pool: pool, pooled: pooled, dialect: PostgresDialect(), settleLimit: settleLimit, giving: givingWay, log: options.Log}
	if !options.Alone {
		p.sharers = newSharers(p.attempt, sharing)
	}
	return p, nil
}

var errNotDurable = errors.New("open the PostgreSQL database: synchronous_commit is off for this server, database or role, so acknowledged data could be lost; set it to on, local or remote_apply")

// parameters are server settings. An address can replace each of them. The statements of the
// service read few rows, in the order of an index. Just-in-time compilation would take more time
// than it saves, because PostgreSQL overestimates the costs of a LIMIT. Planning for each set of
// arguments would take longer than the execution, and would always result in the same plan. A
// bitmap scan loses the order of the index: with old statistics, a query for one page of a list
// would read and sort the whole backlog. A sequential scan is a risk for a table that was small
// when its statistics were collected. PostgreSQL expects a tenth of all rows for a LIMIT parameter.
// A hash or a sort of each joined table would then look cheap.
var parameters = map[string]string{
	"application_name":  "passerelle",
	"jit":               "off",
	"plan_cache_mode":   "force_generic_plan",
	"enable_bitmapscan": "off",
	"enable_seqscan":    "off",
	"enable_hashjoin":   "off",
	"enable_mergejoin":  "off",
}

// forWholeTables resets, for one transaction, the settings that suit only queries for few rows,
// including generic plans.
const forWholeTables = `SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on; SET LOCAL enable_bitmapscan = on;
	SET LOCAL plan_cache_mode = force_custom_plan`

// PostgresParameters returns the server settings that the service uses unless the address contains
// others. With them, tests get the same plans as the service.
func PostgresParameters() map[string]string { return maps.Clone(parameters) }

// connectLimit is the longest time that a server may take to accept a connection.
const connectLimit = 10 * time.Second

// bound sets limits at which the server itself ends statements and idle transactions. Otherwise the
// server might notice a lost client only after hours, and would keep the locks of the client until
// then.
func bound(config *pgx.ConnConfig, limit time.Duration) {
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectLimit
	}
	for _, name := range []string{"statement_timeout", "idle_in_transaction_session_timeout"} {
		if limit > 0 && config.RuntimeParams[name] == "" {
			config.RuntimeParams[name] = strconv.FormatInt(limit.Milliseconds(), 10)
		}
	}
}

func (p *postgresEngine) words() *Dialect { return p.dialect }

func (p *postgresEngine) ping(ctx context.Context) error { return p.pool.Ping(ctx) }

func (p *postgresEngine) close() error {
	if p.sharers != nil {
		p.sharers.close()
	}
	p.pool.Close()
	return nil
}

func (p *postgresEngine) readByKey(ctx context.Context, sql string, args []any, row func(Row) (bool, error)) error {
	return p.read(ctx, sql, args, row)
}

func (p *postgresEngine) read(ctx context.Context, sql string, args []any, row func(Row) (bool, error)) error {
	return p.rows(ctx, p.pool, sql, args, row)
}

func (p *postgresEngine) readWhole(ctx context.Context, sql string, args []any, row func(Row) (bool, error)) error {
	return pgx.BeginTxFunc(ctx, p.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, forWholeTables, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		return p.rows(ctx, tx, sql, args, row)
	})
}

func (p *postgresEngine) rows(ctx context.Context, from interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}, sql string, args []any, row func(Row) (bool, error),
) error {
	rows, err := from.Query(ctx, p.dialect.Text(sql), args...)
	if err != nil {
		return err
	}
	return readRows(rows, row)
}

func readRows(rows pgx.Rows, row func(Row) (bool, error)) error {
	defer rows.Close()
	for rows.Next() {
		if more, err := row(rows); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}

type postgresSession struct{ tx pgx.Tx }

func (s postgresSession) script(ctx context.Context, sql string) error {
	_, err := s.tx.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	return err
}

func (s postgresSession) exec(ctx context.Context, sql string, args ...any) error {
	_, err := s.tx.Exec(ctx, sql, args...)
	return err
}

func (s postgresSession) query(ctx context.Context, row func(Row) error, sql string) error {
	rows, err := s.tx.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
