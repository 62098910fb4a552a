package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// TestOneServerAtATime checks that a SQLite database has one server at a time. A second server
// would end the leases of the first server, and send orders again.
func TestOneServerAtATime(t *testing.T) {
	address := storetest.SQLite(t)
	first, second := migrated(t, address), migrated(t, address)
	if err := first.Reclaim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := second.Reclaim(t.Context()); !errors.Is(err, store.ErrInUse) {
		t.Errorf("the second server got %v, want ErrInUse", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := second.Reclaim(t.Context()); err != nil {
		t.Errorf("after the first has gone: %v", err)
	}
}

// TestOneServerBehindLinks opens a database through a symbolic link to its folder or to its file.
// The database still has only one server.
func TestOneServerBehindLinks(t *testing.T) {
	address := storetest.SQLite(t)
	path, links := strings.TrimPrefix(address, "sqlite:"), t.TempDir()
	if err := migrated(t, address).Reclaim(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"folder": filepath.Dir(path), "file": path} {
		if err := os.Symlink(target, filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{filepath.Join(links, "folder", filepath.Base(path)), filepath.Join(links, "file")} {
		if err := migrated(t, "sqlite:"+name).Reclaim(t.Context()); !errors.Is(err, store.ErrInUse) {
			t.Errorf("a second server through %s got %v, want ErrInUse", name, err)
		}
	}
	if left, err := os.ReadDir(links); err != nil || len(left) != 2 {
		t.Errorf("beside the links: %v, %v", left, err)
	}
}

func TestReplicasServeTogether(t *testing.T) {
	address := storetest.Postgres(t)
	for _, db := range []*store.DB{migrated(t, address), migrated(t, address)} {
		if err := db.Reclaim(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func migrated(t *testing.T, address string) *store.DB {
	t.Helper()
	db := openOnly(t, address)
	if err := db.Database.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// In TestFilesAreTheOwnersAlone, the files of a database exist, and everybody can read them. After
// a server has opened the database, only the owner may read the files.
func TestFilesAreTheOwnersAlone(t *testing.T) {
	address := storetest.SQLite(t)
	path := strings.TrimPrefix(address, "sqlite:")
	for _, name := range []string{path, path + "-serving"} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := migrated(t, address).Reclaim(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) < 3 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, name := range files {
		if stat, err := os.Stat(name); err != nil || stat.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", filepath.Base(name), stat.Mode(), err)
		}
	}
}

// TestPaymentsAfterARestart leases a payment whose check is due, and an expiring payment without a
// planned check, and then calls Reclaim. On SQLite, the next server gets both payments at once. On
// PostgreSQL, another replica may have leased them.
func TestPaymentsAfterARestart(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		checked, expiring := s.create(draft(1), now), s.create(draft(1), now)
		s.write(func(tx *store.Tx) error { return tx.UpdatePayment(checked, nil, &now) })
		leased := func() (ids []int64) {
			var due []store.Due
			s.write(func(tx *store.Tx) error {
				tx.DuePayments(s.domain, now, time.Hour, 9, nil, &due)
				tx.ExpiringPayments(s.domain, now, now, time.Hour, 9, &ids)
				return nil
			})
			return append(idsOf(due), ids...)
		}
		both := []int64{int64(checked.ID), int64(expiring.ID)}
		wantSame(t, both, leased(), nil)
		wantSame(t, nil, leased(), nil)
		if err := s.db.Reclaim(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.db.Rows().Dialect().Name != "sqlite" {
			both = nil
		}
		wantSame(t, both, leased(), nil)
	})
}
