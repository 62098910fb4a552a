package database

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"passerelle/internal/store/storetest"
)

func reportOn(t *testing.T, url, table string) (end func()) {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.RuntimeParams["application_name"] = "slow report"
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), `BEGIN; SELECT count(*) FROM `+table); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := conn.Exec(t.Context(), `COMMIT`); err != nil {
			t.Error(err)
		}
	}
}

const widening = "ALTER TABLE one ADD COLUMN more BIGINT;\nINSERT INTO one (more) VALUES (7);"

// migrator returns a handle whose migration changes a table, and whose tries and pauses are
// short.
func migrator(t *testing.T, url string, tries int) *Handle {
	t.Helper()
	db := openOnly(t, url, stepOne, widening)
	db.engine.(*postgresEngine).giving = way{lock: 200 * time.Millisecond, pause: 50 * time.Millisecond, longest: 100 * time.Millisecond, tries: tries}
	return db
}

// TestWaitingMigrationDoesNotBlockReads checks that others can read a table while a migration waits
// for a long read of this table. The migration must run after the long read has ended.
func TestWaitingMigrationDoesNotBlockReads(t *testing.T) {
	url := storetest.Postgres(t)
	if _, err := migrating(t, url, stepOne); err != nil {
		t.Fatal(err)
	}
	end := reportOn(t, url, "one")
	db, other := migrator(t, url, 1_000_000), openOnly(t, url)
	migrated := make(chan error)
	go func() { migrated <- db.Migrate(t.Context()) }()
	for range 3 {
		awaitWaiting(t, other, 1)
		within, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if _, err := One(within, &other.Querier, ScanInt, `SELECT count(*) FROM one`); err != nil {
			t.Fatalf("behind the migration: %v", err)
		}
		cancel()
	}
	end()
	if err := <-migrated; err != nil {
		t.Fatal(err)
	}
	if n, err := One(t.Context(), &other.Querier, ScanInt, `SELECT count(*) FROM one WHERE more = 7`); err != nil || n != 1 {
		t.Errorf("%d rows, %v", n, err)
	}
}

// TestMigrationTimesOutBehindALongTransaction checks that the error names the transaction that does
// not end.
func TestMigrationTimesOutBehindALongTransaction(t *testing.T) {
	url := storetest.Postgres(t)
	if _, err := migrating(t, url, stepOne); err != nil {
		t.Fatal(err)
	}
	end := reportOn(t, url, "one")
	db := migrator(t, url, 3)
	err := db.Migrate(t.Context())
	if err == nil || !strings.Contains(err.Error(), "slow report (idle in transaction, for ") || !strings.Contains(err.Error(), "after 3 tries") || !strings.Contains(err.Error(), "0002_step") {
		t.Errorf("given up with %v", err)
	}
	wantError(t, db.SchemaCurrent(t.Context()), errPending)
	end()
	for range 2 {
		if err := db.Migrate(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := db.SchemaCurrent(t.Context()); err != nil {
		t.Error(err)
	}
}
