package store

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"passerelle/internal/keys"
	"passerelle/internal/store/storetest"
)

func TestADatabaseKnowsItsKeys(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		ring := keys.Generate()
		db := withKeys(t, url, ring)
		if err := db.CheckKeys(t.Context()); !errors.Is(err, ErrNotFound) {
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
			"other": {keys.Generate(), ErrOtherKeys}, "other fixed key": {refixed(t, ring), ErrOtherKeys},
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

func withKeys(t *testing.T, url string, ring *keys.Ring) *DB {
	t.Helper()
	db, err := Open(t.Context(), url, Options{Keys: ring})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// refixed is the ring with another fixed key.
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
