package backup_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passerelle"
	"passerelle/internal/backup"
	"passerelle/internal/store/storetest"
	_ "passerelle/internal/store/storetest/migrated"
)

// TestRestoreBesideAnotherLog checks that nothing is restored beside a log of a killed program,
// because SQLite would replay that log.
func TestRestoreBesideAnotherLog(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "copy")
	if err := backup.Make(t.Context(), storetest.SQLite(t), copied, nil); err != nil {
		t.Fatal(err)
	}
	for _, log := range []string{"-wal", "-journal"} {
		path := filepath.Join(t.TempDir(), "passerelle.db")
		if err := os.WriteFile(path+log, []byte("of another one"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := backup.Restore(t.Context(), copied, "sqlite:"+path, nil); !errors.Is(err, passerelle.Invalid) || !strings.Contains(err.Error(), path+log) {
			t.Errorf("beside %s: %v", log, err)
		}
		left, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(left) != 1 {
			t.Errorf("beside %s there is more now: %v, %v", log, left, err)
		}
		if err := os.Remove(path + log); err != nil {
			t.Fatal(err)
		}
		if err := backup.Restore(t.Context(), copied, "sqlite:"+path, nil); err != nil {
			t.Errorf("without %s: %v", log, err)
		}
	}
}

// TestACopyOfTheOtherDatabase tries to restore a copy of the other kind of database. The program
// must refuse it with the reason, before it creates anything.
func TestACopyOfTheOtherDatabase(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "copy")
	if err := backup.Make(t.Context(), storetest.SQLite(t), copied, nil); err != nil {
		t.Fatal(err)
	}
	dumped := filepath.Join(t.TempDir(), "dump")
	if err := os.WriteFile(dumped, []byte("PGDMP\x01\x0e and so on, as pg_dump writes it"), 0o600); err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(t.TempDir(), "passerelle.db")
	for _, test := range []struct{ from, to, want string }{
		{copied, "postgres://nobody@127.0.0.1:1/none", "a copy of a SQLite database"},
		{dumped, "sqlite:" + made, "a copy of a PostgreSQL database"},
	} {
		if err := backup.Restore(t.Context(), test.from, test.to, nil); !errors.Is(err, passerelle.Invalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s restored to %s: %v, want %q", test.from, test.to, err, test.want)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(made)); err != nil || len(left) > 0 {
		t.Errorf("left there: %v, %v", left, err)
	}
}
