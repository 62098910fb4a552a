// Package storetest provides SQLite and PostgreSQL databases to tests. A database is empty, or has
// the complete schema if the test imports package migrated.
//
// The package owns these databases: it chooses their location and removes them. It does not open
// stores or create the schema, so that tests inside package database can import it. Without a
// PostgreSQL server, a test that needs one fails in CI and is skipped elsewhere.
package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"passerelle/internal/leftout"
)

// Each runs a subtest for each kind of database, with the address of a separate database.
func Each(t *testing.T, run func(t *testing.T, url string)) {
	t.Run("sqlite", func(t *testing.T) { run(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { run(t, Postgres(t)) })
}

// EachEmpty is like Each, but the databases never have the schema. Tests need EachEmpty if they
// migrate a database, alter its schema, or store so many rows that PostgreSQL would plan the
// queries of the next test differently.
func EachEmpty(t *testing.T, run func(t *testing.T, url string)) {
	t.Run("sqlite", func(t *testing.T) { run(t, EmptySQLite(t)) })
	t.Run("postgres", func(t *testing.T) { run(t, EmptyPostgres(t)) })
}

// SQLite returns the address of a database in a file. The file does not exist yet if the test does
// not import package migrated.
func SQLite(t testing.TB) string {
	t.Helper()
	address := EmptySQLite(t)
	if prepare != nil {
		if err := os.WriteFile(strings.TrimPrefix(address, "sqlite:"), sqliteCopy(t), 0o600); err != nil {
			t.Fatalf("copy the database with the schema: %v", err)
		}
	}
	return address
}

// EmptySQLite returns the address of a database in a file that does not exist yet.
func EmptySQLite(t testing.TB) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "database")
}

// Postgres returns the address of a schema on the server at PASSERELLE_TEST_POSTGRES. No other
// test uses the schema until this test ends.
func Postgres(t testing.TB) string {
	t.Helper()
	if prepare != nil {
		return postgresPrepared(t, testServer(t))
	}
	return EmptyPostgres(t)
}

// EmptyPostgres is like Postgres, but the schema has no tables.
func EmptyPostgres(t testing.TB) string {
	t.Helper()
	server, name := testServer(t), newName()
	createSchema(t, server, name)
	t.Cleanup(func() { execute(t, server, "DROP SCHEMA "+name+" CASCADE") })
	return inSchema(t, server, name)
}

func testServer(t testing.TB) string {
	t.Helper()
	server := os.Getenv("PASSERELLE_TEST_POSTGRES")
	if server == "" {
		leftout.Without(t, "PostgreSQL (PASSERELLE_TEST_POSTGRES, which scripts/with-postgres sets)")
	}
	return server
}

func newName() string { return "test_" + strings.ToLower(rand.Text()) }

func inSchema(t testing.TB, server, name string) string {
	t.Helper()
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal("PASSERELLE_TEST_POSTGRES is not a URL")
	}
	if pooler := os.Getenv("PASSERELLE_TEST_POOLER"); pooler != "" {
		address.Host, address.User = pooler, url.User(name)
	}
	query := address.Query()
	query.Set("search_path", name)
	address.RawQuery = query.Encode()
	return address.String()
}

// Direct returns an address that reaches a database without the pooler. Tests need Direct for
// connections with settings that a pooler does not pass on.
func Direct(t testing.TB, address string) string {
	t.Helper()
	if os.Getenv("PASSERELLE_TEST_POOLER") == "" || strings.HasPrefix(address, "sqlite:") {
		return address
	}
	direct, err := url.Parse(address)
	server, ofServer := url.Parse(os.Getenv("PASSERELLE_TEST_POSTGRES"))
	if err != nil || ofServer != nil {
		t.Fatal("the address of the database is not a URL")
	}
	direct.Host = server.Host
	return direct.String()
}

// createSchema creates a schema. A pooler does not pass on search_path. createSchema therefore also
// creates a role of the same name that has the search_path as its setting.
func createSchema(t testing.TB, server, name string) {
	t.Helper()
	execute(t, server, "CREATE SCHEMA "+name)
	if os.Getenv("PASSERELLE_TEST_POOLER") != "" {
		execute(t, server, "CREATE ROLE "+name+" SUPERUSER LOGIN; ALTER ROLE "+name+" SET search_path = "+name)
	}
}

func execute(t testing.TB, server, sql string) {
	t.Helper()
	ctx := context.Background()
	config, err := pgx.ParseConfig(server)
	if err != nil {
		t.Fatal("PASSERELLE_TEST_POSTGRES is not a URL")
	}
	config.DialFunc = Dial
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatalf("connect to PASSERELLE_TEST_POSTGRES: %v", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, sql)
	for tries := 1; deadlocked(err) && tries < mostTries; tries++ {
		_, err = conn.Exec(ctx, sql)
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// mostTries limits how often execute tries statements that end in a deadlock.
const mostTries = 5

// deadlocked reports whether statements had no effect because of a deadlock. While a test drops
// tables, a query of a service that has just ended may still lock them in another order.
func deadlocked(err error) bool {
	var failed *pgconn.PgError
	return errors.As(err, &failed) && failed.Code == "40P01"
}
