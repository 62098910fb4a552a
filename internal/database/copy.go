package database

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// CopySQLite writes the state of a database file at one moment to a new file, and then checks the
// copy. Other processes may use the database at the same time.
func CopySQLite(ctx context.Context, path, to string) (err error) {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("there is no database to copy: %w", err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return fmt.Errorf("find the database: %w", err)
	}
	if to, err = filepath.Abs(to); err != nil {
		return fmt.Errorf("find the file of the copy: %w", err)
	}
	if err := privateFile(to); err != nil {
		return fmt.Errorf("make the file of the copy: %w", err)
	}
	conn, err := openSQLiteConn(ctx, path, SQLiteDialect())
	if err != nil {
		return fmt.Errorf("open the database: %w", classify(err))
	}
	defer func() { err = errors.Join(err, conn.close()) }()
	if _, err := conn.exec(ctx, `VACUUM INTO $1`, []any{to}); err != nil {
		return fmt.Errorf("write the copy: %w", classify(err))
	}
	return checkCopy(ctx, to)
}

// checkCopy makes SQLite check a file for damage. Nothing else may use the file.
func checkCopy(ctx context.Context, path string) (err error) {
	conn, err := openSQLiteConn(ctx, path, SQLiteDialect(), "query_only(ON)")
	if err != nil {
		return fmt.Errorf("open the copy: %w", classify(err))
	}
	defer func() { err = errors.Join(err, conn.close()) }()
	result, err := only(ctx, conn, ScanString, `PRAGMA quick_check(1)`)
	if err != nil {
		return fmt.Errorf("read the copy: %w", classify(err))
	}
	if result != "ok" {
		return fmt.Errorf("the copy is damaged: %s", result)
	}
	return nil
}

// Analyze makes PostgreSQL collect statistics. A newly filled database has no statistics, and
// PostgreSQL reads whole tables until it has collected some.
func Analyze(ctx context.Context, url string) error {
	return once(ctx, url, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `ANALYZE`)
		return err
	})
}

// TableSizes returns the size in bytes, without indexes, of each table in the PostgreSQL database
// at an address, by schema and name. It leaves out the server's own tables.
func TableSizes(ctx context.Context, url string) (map[string]int64, error) {
	sizes := map[string]int64{}
	err := once(ctx, url, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT n.nspname || '.' || c.relname, pg_table_size(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r'
			AND n.nspname NOT IN ('pg_catalog', 'information_schema')`)
		if err != nil {
			return err
		}
		var (
			name string
			size int64
		)
		_, err = pgx.ForEachRow(rows, []any{&name, &size}, func() error { sizes[name] = size; return nil })
		return err
	})
	return sizes, err
}

// Filled reports whether a PostgreSQL database already has tables, in any schema except the
// server's own schemas.
func Filled(ctx context.Context, url string) (bool, error) {
	var filled bool
	err := once(ctx, url, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM information_schema.tables
			WHERE table_schema NOT IN ('pg_catalog', 'information_schema'))`).Scan(&filled)
	})
	return filled, err
}

// once calls do with a separate connection to a PostgreSQL database. The database need not have the
// schema of the service.
func once(ctx context.Context, url string, do func(*pgx.Conn) error) error {
	if !isPostgres(url) {
		return errPostgresAddress
	}
	pool, err := pgxpool.ParseConfig(url) // the address may have settings for a pool of connections
	if err != nil {
		return errPostgresAddress
	}
	config := pool.ConnConfig
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // the connection may go through a pooler
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", classify(err))
	}
	if err := errors.Join(do(conn), conn.Close(ctx)); err != nil {
		return fmt.Errorf("query the database: %w", classify(err))
	}
	return nil
}
