package store_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error is %v, want %v", err, want)
	}
}

func openOnly(t testing.TB, url string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

func firstMigrations(t *testing.T, n int) fs.FS {
	t.Helper()
	names, err := fs.Glob(store.Migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, name := range names[:n] {
		text, err := store.Migrations.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	return files
}

// TestMigrateInASchemaOfAnyName checks that migrations also run in a schema whose name must be
// quoted. The schema already contains a view and a table of other programs.
func TestMigrateInASchemaOfAnyName(t *testing.T) {
	address := storetest.Direct(t, storetest.EmptyPostgres(t)) // a pooler does not pass on search_path
	runs(t, address, `CREATE SCHEMA "Tenant-A"; CREATE VIEW "Tenant-A".other AS SELECT 1 AS domain_id; CREATE TABLE "Tenant-A".more (domain_id TEXT)`)
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := parsed.Query()
	query.Set("search_path", `"Tenant-A"`)
	parsed.RawQuery = query.Encode()
	db := openOnly(t, parsed.String())
	if err := db.Database.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	options, err := database.Collect(t.Context(), db.Rows(), database.ScanString, `SELECT COALESCE(CAST(attoptions AS TEXT), 'none') FROM pg_attribute
		WHERE attrelid IN ('"Tenant-A".payment'::regclass, '"Tenant-A".more'::regclass) AND attname = 'domain_id' ORDER BY 1`)
	if err != nil || !slices.Equal(options, []string{"none", "{n_distinct=100}"}) {
		t.Errorf("%v, %v", options, err)
	}
}

// runs executes a statement on a separate connection, as a migration does. SQLite enforces no
// references on this connection.
func runs(t *testing.T, address, text string, args ...any) {
	t.Helper()
	dialect, driver, source := database.PostgresDialect(), "pgx", storetest.Direct(t, address)
	if path, isSQLite := strings.CutPrefix(address, "sqlite:"); isSQLite {
		dialect, driver, source = database.SQLiteDialect(), "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	pool, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.ExecContext(t.Context(), dialect.Text(text), args...); err != nil {
		t.Fatal(err)
	}
}

// outdated creates a database with an earlier schema. The function run executes a statement outside
// units, because units need the present schema. The function renew migrates the database and opens
// the store.
func outdated(t *testing.T, url string, migrations int, ring *keys.Ring) (run func(text string, args ...any), renew func() *store.DB) {
	t.Helper()
	old, err := database.Open(t.Context(), url, database.Config{Migrations: firstMigrations(t, migrations)})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(old.Migrate(t.Context()), old.Close()); err != nil {
		t.Fatal(err)
	}
	run = func(text string, args ...any) { t.Helper(); runs(t, url, text, args...) }
	return run, func() *store.DB { t.Helper(); return withKeys(t, url, ring) }
}
