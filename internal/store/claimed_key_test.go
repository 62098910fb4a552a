package store_test

import (
	"testing"

	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// TestPurgeKeepsAClaimedKey: a request claims an expired key while a purge waits for this claim. The
// purge must keep the key, because otherwise the request would fail and could be executed again.
func TestPurgeKeepsAClaimedKey(t *testing.T) {
	url := storetest.Postgres(t)
	s := newFixture(t, url)
	claim(t, s.db, repeat(s.domain, "k", "r"))
	lapse(t, s.db, "expires")
	holder, observer := openPgx(t, url), openPgx(t, url)
	for _, statement := range []string{"BEGIN", "UPDATE idempotency SET run = run + 1, expires = 9000000000000000"} {
		if _, err := holder.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	purged := make(chan error, 1)
	go func() {
		purged <- s.db.Write(t.Context(), func(tx *store.Tx) error { tx.PurgeResponses(10); return nil })
	}()
	for waiting := 0; waiting == 0; {
		err := observer.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := holder.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-purged; err != nil {
		t.Fatal(err)
	}
	if n := s.count("SELECT count(*) FROM idempotency"); n != 1 {
		t.Errorf("%d keys are left, want the claimed one", n)
	}
}
