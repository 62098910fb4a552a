package storetest

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Break executes statements that violate the schema. It disables triggers, references and checks
// while the statements run. On SQLite the triggers, and on PostgreSQL the checks, stay dropped
// afterwards.
func Break(t testing.TB, url string, statements ...string) {
	t.Helper()
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		breakSQLite(t, path, statements)
		return
	}
	breakPostgres(t, url, statements)
}

func breakSQLite(t testing.TB, path string, statements []string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=foreign_keys(OFF)&_pragma=ignore_check_constraints(ON)&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), `SELECT name FROM sqlite_schema WHERE type = 'trigger'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var drops []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		drops = append(drops, "DROP TRIGGER "+name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, statement := range append(drops, statements...) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// DropChecks drops the checks of the present PostgreSQL schema, because PostgreSQL cannot
// disable checks.
const DropChecks = `DO $$ DECLARE c record; BEGIN
	FOR c IN SELECT conrelid::regclass AS relation, conname FROM pg_constraint WHERE contype = 'c' AND connamespace = current_schema()::regnamespace LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.relation, c.conname);
	END LOOP;
END $$`

func breakPostgres(t testing.TB, url string, statements []string) {
	t.Helper()
	markAltered(url)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, Direct(t, url))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range append([]string{DropChecks, `SET session_replication_role = replica`}, statements...) {
		if err := execAgain(ctx, conn, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// execAgain executes a statement. It tries again after a deadlock, because DropChecks locks many
// tables, and loops of a running service may lock them in another order.
func execAgain(ctx context.Context, conn *pgx.Conn, statement string) error {
	for attempt := 1; ; attempt++ {
		_, err := conn.Exec(ctx, statement)
		var fault *pgconn.PgError
		if attempt == 10 || !errors.As(err, &fault) || fault.Code != "40P01" {
			return err
		}
	}
}
