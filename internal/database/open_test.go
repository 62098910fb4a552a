package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"passerelle/internal/store/storetest"
)

// probeTable has a column of each type and a constraint of each kind.
const probeTable = `CREATE TABLE probe (
	id BIGINT NOT NULL PRIMARY KEY,
	name TEXT UNIQUE,
	amount BIGINT CHECK (amount >= 0),
	flag BOOLEAN,
	data {bytes},
	parent BIGINT REFERENCES probe (id)
);`

const ownTables = `CREATE TABLE sequence (name TEXT NOT NULL PRIMARY KEY, next BIGINT NOT NULL);
CREATE TABLE counter (domain_id BIGINT NOT NULL, name TEXT NOT NULL, shard BIGINT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (domain_id, name, shard));
-- only postgres
CREATE TABLE unit_mark (slot BIGINT PRIMARY KEY, unit BIGINT NOT NULL, at BIGINT NOT NULL);
-- end
`

func steps(texts ...string) fs.FS {
	files := fstest.MapFS{}
	for i, text := range texts {
		files[fmt.Sprintf("migrations/%04d_step.sql", i+1)] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func open(t testing.TB, url string) *Handle {
	t.Helper()
	db := openOnly(t, url, ownTables+probeTable)
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

func openOnly(t testing.TB, url string, migrations ...string) *Handle {
	t.Helper()
	db, err := Open(t.Context(), url, Config{Migrations: steps(migrations...)})
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

func script(t testing.TB, db *Handle, sql string) {
	t.Helper()
	text, err := db.engine.words().script(sql)
	if err != nil {
		t.Fatal(err)
	}
	err = db.engine.migrate(t.Context(), func(s session) error { return s.script(t.Context(), text) })
	if err != nil {
		t.Fatal(err)
	}
}

func onEach(t *testing.T, run func(t *testing.T, db *Handle)) {
	storetest.Each(t, func(t *testing.T, url string) { run(t, open(t, url)) })
}

func insert(id int64, name string) func(*Unit) error {
	return func(tx *Unit) error {
		tx.Exec(`INSERT INTO probe (id, name) VALUES ($1, $2)`, id, name)
		return nil
	}
}

func wantNames(t *testing.T, db *Handle, want string) {
	t.Helper()
	names, err := Collect(context.Background(), &db.Querier, ScanString, `SELECT name FROM probe ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("rows are %q, want %q", got, want)
	}
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error is %v, want %v", err, want)
	}
}

func TestOpenRefusesAddresses(t *testing.T) {
	for name, url := range map[string]string{
		"no scheme":         "database.sqlite",
		"unknown scheme":    "mysql://user:secret@host/database",
		"keywords":          "host=127.0.0.1 user=user password=secret dbname=database",
		"keywords, colon":   "host=127.0.0.1 password=secret options=-c:x",
		"a mistyped scheme": "postgres//user secret:x@host/database",
		"broken":            "postgres://user:secret@host:port/database",
		"missing folder":    "sqlite:" + filepath.Join(t.TempDir(), "none", "database"),
		"nothing listens":   "postgres://user:secret@127.0.0.1:1/database",
		"file is a folder":  "sqlite:" + t.TempDir(),
	} {
		t.Run(name, func(t *testing.T) {
			db, err := Open(t.Context(), url, Config{})
			if err == nil {
				db.Close()
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
}

// TestServerKeepsWhatItAcknowledged checks that a server that may lose acknowledged transactions is
// refused.
func TestServerKeepsWhatItAcknowledged(t *testing.T) {
	url := storetest.Postgres(t)
	for setting, want := range map[string]error{"off": errNotDurable, "local": nil, "on": nil} {
		db, err := Open(t.Context(), url+"&synchronous_commit="+setting, Config{})
		wantError(t, err, want)
		if err == nil {
			db.Close()
		}
	}
}

func TestFileIsPrivate(t *testing.T) {
	url := storetest.SQLite(t)
	open(t, url)
	info, err := os.Stat(strings.TrimPrefix(url, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, want 0600", info.Mode())
	}
}

func TestMemoryLeavesNoFile(t *testing.T) {
	db, err := Open(t.Context(), "sqlite::memory:", Config{})
	if err != nil {
		t.Fatal(err)
	}
	path := db.engine.(*sqliteEngine).path
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestPathMayHoldAnyCharacter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a?b%20c#d é")
	db := open(t, "sqlite:"+path)
	if err := db.Write(t.Context(), insert(1, "a")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestSettingsOfSQLite(t *testing.T) {
	db := open(t, storetest.SQLite(t))
	engine := db.engine.(*sqliteEngine)
	reader, err := engine.readers.borrow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer engine.readers.giveBack(reader, false)
	tests := []struct {
		conn   *sqliteConn
		pragma string
		want   string
	}{
		{engine.writer.conn, "journal_mode", "wal"},
		{engine.writer.conn, "synchronous", "2"},
		{engine.writer.conn, "foreign_keys", "1"},
		{engine.writer.conn, "busy_timeout", "10000"},
		{reader, "query_only", "1"},
		{reader, "mmap_size", "0"},
		{reader, "cache_size", "-8192"},
	}
	for _, test := range tests {
		got, err := only(t.Context(), test.conn, ScanString, "PRAGMA "+test.pragma)
		if err != nil || got != test.want {
			t.Errorf("%s is %s, want %s: %v", test.pragma, got, test.want, err)
		}
	}
}

func TestReaderCannotWriteOnSQLite(t *testing.T) {
	db := open(t, storetest.SQLite(t))
	if _, err := One(t.Context(), &db.Querier, ScanInt, `INSERT INTO probe (id) VALUES (1) RETURNING id`); err == nil {
		t.Error("a reader has written")
	}
}

func TestWriteAfterClose(t *testing.T) {
	onEach(t, func(t *testing.T, db *Handle) {
		for range 2 {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
		wantError(t, db.Write(t.Context(), insert(1, "a")), ErrClosed)
	})
}

func TestPing(t *testing.T) {
	onEach(t, func(t *testing.T, db *Handle) {
		if err := db.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
