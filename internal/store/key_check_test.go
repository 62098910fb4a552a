package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"

	"passerelle"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

func TestADatabaseKnowsItsKeys(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		ring := keys.Generate()
		db := withKeys(t, url, ring)
		if err := db.CheckKeys(t.Context()); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("before it was tied to any: %v, want ErrNotFound", err)
		}
		if err := db.BindKeys(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, test := range map[string]struct {
			ring *keys.Ring
			want error
		}{
			"the same": {ring, nil}, "rotated": {ring.Rotated(), nil},
			"other": {keys.Generate(), store.ErrOtherKeys}, "other fixed key": {refixed(t, ring), store.ErrOtherKeys},
		} {
			again := withKeys(t, url, test.ring)
			if err := again.BindKeys(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("%s: tying to them gives %v, want %v", name, err, test.want)
			}
			if err := again.CheckKeys(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("%s: checking them gives %v, want %v", name, err, test.want)
			}
		}
	})
}

// TestNothingIsSealedWithRetiredKeys checks that a process with an older key file can encrypt until
// all values are rewrapped with the new key. From then on, a transaction in which this process
// encrypts must fail.
func TestNothingIsSealedWithRetiredKeys(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		ring := keys.Generate()
		old, fresh := withKeys(t, url, ring), withKeys(t, url, ring.Rotated())
		if err := old.BindKeys(t.Context()); err != nil {
			t.Fatal(err)
		}
		domain := passerelle.Domain{Name: "one", Kind: passerelle.Sandbox, BaseURL: "http://one.example/2.0"}
		mustWrite(t, old, func(tx *store.Tx) error { return tx.CreateDomain(&domain, "one.example") })
		keep := func(db *store.DB, key string) error {
			execution := claim(t, db, repeat(domain.ID, key, "request")).Execution
			return db.Write(t.Context(), func(tx *store.Tx) error { return tx.KeepResponse(execution, []byte("answer")) })
		}
		for name, err := range map[string]error{"before": keep(old, "a"), "with a key more": keep(fresh, "b"), "before it is needed": keep(old, "c")} {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, _, err := fresh.Rewrap(t.Context(), 10, func(int64) {}); err != nil {
			t.Fatal(err)
		}
		if err := keep(old, "d"); !errors.Is(err, passerelle.Unavailable) || !errors.Is(err, store.ErrOtherKeys) {
			t.Errorf("without the key: %v", err)
		}
		if answer := claim(t, fresh, repeat(domain.ID, "d", "request")).Response; answer != nil {
			t.Errorf("there is %q", answer)
		}
		if err := keep(fresh, "e"); err != nil {
			t.Errorf("with the key: %v", err)
		}
	})
}

func withKeys(t *testing.T, url string, ring *keys.Ring) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), url, store.Options{Keys: ring})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Database.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

func openPgx(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), storetest.Direct(t, url))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func refixed(t *testing.T, ring *keys.Ring) *keys.Ring {
	t.Helper()
	fixed := regexp.MustCompile(`(?m)^fixed .*$`)
	text := func(ring *keys.Ring) []byte {
		path := filepath.Join(t.TempDir(), "keys")
		if err := ring.Save(path); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, fixed.ReplaceAll(text(ring), fixed.Find(text(keys.Generate()))), 0o600); err != nil {
		t.Fatal(err)
	}
	changed, err := keys.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// TestRewrapWaitsForUnitsThatReadTheKeyProof checks that the value in key_check does not change
// while a transaction that has read the value is open.
func TestRewrapWaitsForUnitsThatReadTheKeyProof(t *testing.T) {
	url, ring := storetest.Postgres(t), keys.Generate()
	old, fresh := withKeys(t, url, ring), withKeys(t, url, ring.Rotated())
	if err := old.BindKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	beside := openPgx(t, url)
	unit, err := openPgx(t, url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unit.Rollback(context.Background()) }()
	if _, err := unit.Exec(t.Context(), `SELECT sealed FROM key_check`); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, _, err := fresh.Rewrap(context.WithoutCancel(t.Context()), 10, func(int64) {})
		ended <- err
	}()
	for waits := false; !waits; {
		select {
		case err := <-ended:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		if err := beside.QueryRow(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE relation = 'key_check'::regclass AND NOT granted)`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if err := unit.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
