package database

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
)

// SkipIDs makes a restored database skip ids, because the original database may have assigned the
// next ids to objects that clients and receivers know. SkipIDs advances all sources of ids of each
// table, even of a table without rows. On PostgreSQL, SkipIDs covers the schemas of all services in
// the database. It returns the number of tables whose ids the database itself assigns. This number
// is zero for a database without the schema of the service. No other process may use the database.
func SkipIDs(ctx context.Context, address string, ids int64) (int64, error) {
	var (
		tables int64
		err    error
	)
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		tables, err = skipSQLite(ctx, path, ids)
	} else {
		err = once(ctx, address, func(conn *pgx.Conn) error {
			return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				tables, err = skipPostgres(ctx, tx, ids)
				return err
			})
		})
	}
	if err != nil {
		return 0, fmt.Errorf("skip ids: %w", err)
	}
	return tables, nil
}

// skipSQLite advances both sources of ids: the table "sequence" of the service, and the table
// sqlite_sequence, in which SQLite counts. SQLite adds a table to sqlite_sequence when the table
// gets its first row.
func skipSQLite(ctx context.Context, path string, ids int64) (tables int64, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return 0, err
	}
	conn, err := openSQLiteConn(ctx, path, SQLiteDialect(), "synchronous(FULL)")
	if err != nil {
		return 0, classify(err)
	}
	defer func() { err = errors.Join(err, conn.close()) }() // rolls back uncommitted changes
	const schema = `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('sequence', 'sqlite_sequence')`
	if found, err := only(ctx, conn, ScanInt, schema); err != nil || found < 2 {
		return 0, classify(err)
	}
	for _, statement := range []string{
		`BEGIN IMMEDIATE`,
		`INSERT INTO sqlite_sequence (name, seq) SELECT name, 0 FROM sqlite_master WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'
			AND name NOT IN (SELECT name FROM sqlite_sequence)`,
		`INSERT INTO sequence (name, next) SELECT name, 1 FROM sqlite_sequence WHERE true ON CONFLICT DO NOTHING`,
		fmt.Sprintf(`UPDATE sequence SET next = next + %d`, ids),
		fmt.Sprintf(`UPDATE sqlite_sequence SET seq = seq + %d`, ids),
	} {
		if _, err := conn.exec(ctx, statement, nil); err != nil {
			return 0, classify(err)
		}
	}
	if tables, err = only(ctx, conn, ScanInt, `SELECT count(*) FROM sqlite_sequence`); err != nil {
		return 0, classify(err)
	}
	_, err = conn.exec(ctx, `COMMIT`, nil)
	return tables, classify(err)
}

// skipPostgres does the same for PostgreSQL. If the server assigns the ids of a table, they come
// from a PostgreSQL sequence of this table.
func skipPostgres(ctx context.Context, tx pgx.Tx, ids int64) (int64, error) {
	rows, err := tx.Query(ctx, `SELECT table_schema FROM information_schema.columns
		WHERE table_name = 'sequence' AND column_name IN ('name', 'next') GROUP BY table_schema HAVING count(*) = 2`)
	if err != nil {
		return 0, err
	}
	schemas, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, err
	}
	var tables int64
	for _, schema := range schemas {
		sequence := pgx.Identifier{schema, "sequence"}.Sanitize()
		if _, err := tx.Exec(ctx, `INSERT INTO `+sequence+` (name, next) SELECT table_name, 1 FROM information_schema.columns
			WHERE table_schema = $1 AND column_name = 'id' AND is_identity = 'YES' ON CONFLICT DO NOTHING`, schema); err != nil {
			return 0, err
		}
		if _, err := tx.Exec(ctx, `UPDATE `+sequence+` SET next = next + $1`, ids); err != nil {
			return 0, err
		}
		advanced, err := tx.Exec(ctx, `SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, COALESCE(last_value, 0) + $2) FROM pg_sequences
			WHERE schemaname = $1`, schema, ids)
		if err != nil {
			return 0, err
		}
		tables += advanced.RowsAffected()
	}
	return tables, nil
}
