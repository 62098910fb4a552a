package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
)

// CopySQLite writes what the database file at a path holds at one moment to
// another file, which must not exist, and reads the copy again. The database may
// be in use, by other processes as well.
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
	source := &sqliteEngine{path: path, dialect: sqliteDialect()}
	pool := source.connect()
	defer func() { err = errors.Join(err, pool.Close()) }()
	if _, err := pool.ExecContext(ctx, `VACUUM INTO $1`, to); err != nil {
		return fmt.Errorf("write the copy: %w", classify(err))
	}
	return checkCopy(ctx, to)
}

// checkCopy has SQLite look for damage in a file that nobody uses.
func checkCopy(ctx context.Context, path string) (err error) {
	copied := &sqliteEngine{path: path, dialect: sqliteDialect()}
	pool := copied.connect("query_only(ON)")
	defer func() { err = errors.Join(err, pool.Close()) }()
	var verdict string
	if err := pool.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&verdict); err != nil {
		return fmt.Errorf("read the copy: %w", classify(err))
	}
	if verdict != "ok" {
		return fmt.Errorf("the copy is damaged: %s", verdict)
	}
	return nil
}

// Filled reports whether the PostgreSQL database at an address holds any table
// where a restore would put its own.
func Filled(ctx context.Context, url string) (filled bool, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return false, fmt.Errorf("connect to the database: %w", classify(errPostgresAddress))
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema'))`).Scan(&filled)
	if err != nil {
		return false, fmt.Errorf("look for tables: %w", classify(err))
	}
	return filled, nil
}
