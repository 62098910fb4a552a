package store

import (
	"errors"
	"testing"

	"passerelle/internal/store/storetest"
)

// A second server of a SQLite database would take the first one's leases for
// those of the dead, and send its orders again.
func TestOneServerAtATime(t *testing.T) {
	address := storetest.SQLite(t)
	first, second := migrated(t, address), migrated(t, address)
	if err := first.Reclaim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := second.Reclaim(t.Context()); !errors.Is(err, ErrServed) {
		t.Errorf("the second server got %v, want ErrServed", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := second.Reclaim(t.Context()); err != nil {
		t.Errorf("after the first has gone: %v", err)
	}
}

func TestReplicasServeTogether(t *testing.T) {
	address := storetest.Postgres(t)
	for _, db := range []*DB{migrated(t, address), migrated(t, address)} {
		if err := db.Reclaim(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func migrated(t *testing.T, address string) *DB {
	t.Helper()
	db := openOnly(t, address)
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}
