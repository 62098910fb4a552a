// Package storetest gives tests an empty database of each kind.
//
// It owns where these databases are and their removal. It does not open stores
// or create a schema, so that the tests of package store can use it. It fails
// the test when there is no PostgreSQL; it never skips.
package storetest

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Each runs a subtest for each kind of database, with the address of an empty
// one of its own.
func Each(t *testing.T, run func(t *testing.T, url string)) {
	t.Run("sqlite", func(t *testing.T) { run(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { run(t, Postgres(t)) })
}

// SQLite is the address of a file that does not exist yet.
func SQLite(t testing.TB) string {
	return "sqlite:" + filepath.Join(t.TempDir(), "database")
}

// Postgres is the address of an empty schema, which is dropped when the test
// ends, on the server at PASSERELLE_TEST_POSTGRES.
func Postgres(t testing.TB) string {
	t.Helper()
	server := os.Getenv("PASSERELLE_TEST_POSTGRES")
	if server == "" {
		t.Fatal("PASSERELLE_TEST_POSTGRES is not set: run make test, or scripts/with-postgres go test ./…")
	}
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal("PASSERELLE_TEST_POSTGRES is not a URL")
	}
	schema := "test_" + strings.ToLower(rand.Text())
	execute(t, server, "CREATE SCHEMA "+schema)
	t.Cleanup(func() { execute(t, server, "DROP SCHEMA "+schema+" CASCADE") })
	query := address.Query()
	query.Set("search_path", schema)
	address.RawQuery = query.Encode()
	return address.String()
}

func execute(t testing.TB, server, sql string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("connect to PASSERELLE_TEST_POSTGRES: %v", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
