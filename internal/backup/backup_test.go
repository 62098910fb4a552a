package backup_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"passerelle"
	"passerelle/internal/backup"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	_ "passerelle/internal/store/storetest/migrated"
)

// TestRestoreBesideAnotherLog checks that Restore fails while a log of SQLite is beside the path,
// because SQLite would replay the log.
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
		if err := backup.Restore(t.Context(), copied, "sqlite:"+path, 0, nil); !errors.Is(err, passerelle.Invalid) || !strings.Contains(err.Error(), path+log) {
			t.Errorf("beside %s: %v", log, err)
		}
		left, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(left) != 1 {
			t.Errorf("beside %s there is more now: %v, %v", log, left, err)
		}
		if err := os.Remove(path + log); err != nil {
			t.Fatal(err)
		}
		if err := backup.Restore(t.Context(), copied, "sqlite:"+path, 0, nil); err != nil {
			t.Errorf("without %s: %v", log, err)
		}
	}
}

// TestACopyOfTheOtherDatabase: Restore refuses a copy of the other kind of database, says why, and
// creates no file.
func TestACopyOfTheOtherDatabase(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "copy")
	if err := backup.Make(t.Context(), storetest.SQLite(t), copied, nil); err != nil {
		t.Fatal(err)
	}
	dumped := filepath.Join(t.TempDir(), "dump")
	if err := os.WriteFile(dumped, []byte("PGDMP\x01\x0e and so on, as pg_dump writes it"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("Dear all, this is no copy."), 0o600); err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(t.TempDir(), "passerelle.db")
	for _, test := range []struct{ from, to, want string }{
		{other, "postgres://nobody@127.0.0.1:1/none", "--from: must be a file that passerelle backup made from PostgreSQL; " + other + " is not"},
		{other, "sqlite:" + made, "--from: must be a file that passerelle backup made from SQLite; " + other + " is not"},
		{copied, "postgres://nobody@127.0.0.1:1/none", "a copy of a SQLite database"},
		{dumped, "sqlite:" + made, "a copy of a PostgreSQL database"},
	} {
		if err := backup.Restore(t.Context(), test.from, test.to, 0, nil); !errors.Is(err, passerelle.Invalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s restored to %s: %v, want %q", test.from, test.to, err, test.want)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(made)); err != nil || len(left) > 0 {
		t.Errorf("left there: %v, %v", left, err)
	}
}

// TestAddressesWithKeywords: the driver also reads addresses of the form "host=…", but pg_dump would
// get their password as an argument. Make and Restore refuse them, without a connection.
func TestAddressesWithKeywords(t *testing.T) {
	dumped := filepath.Join(t.TempDir(), "dump")
	if err := os.WriteFile(dumped, []byte("PGDMP"), 0o600); err != nil {
		t.Fatal(err)
	}
	const address = "host=127.0.0.1 port=1 user=u password=secret dbname=d"
	for act, err := range map[string]error{
		"copied":   backup.Make(t.Context(), address, filepath.Join(t.TempDir(), "copy"), nil),
		"restored": backup.Restore(t.Context(), dumped, address, 0, nil),
	} {
		if err == nil || !strings.Contains(err.Error(), "not of the form postgres://") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", act, err)
		}
	}
}

// spy runs the original program of the same name, and then records what the tests compare.
const spy = `#!/bin/sh
'%s' "$@" || exit
{
	echo "$@"
	env | grep ^PG
	[ -z "$PGSERVICEFILE" ] || stat -c 'service file %%a' "$PGSERVICEFILE"
	[ -z "$PGSERVICEFILE" ] || cat "$PGSERVICEFILE"
	for argument; do
		case $argument in --file=*) stat -c 'mode %%a' "${argument#--file=}" ;; esac
	done
} >>'%s'
`

// watched puts spies first in the search path, and returns a function that reads the records of the
// spies.
func watched(t *testing.T, names ...string) func() string {
	t.Helper()
	folder := t.TempDir()
	seen := filepath.Join(folder, "seen")
	for _, name := range names {
		real, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), fmt.Appendf(nil, spy, real, seen), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	return func() string {
		text, err := os.ReadFile(seen)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// separate makes a separate PostgreSQL database, because a copy contains all schemas. It returns
// the database's address, which ends with a parameter.
func separate(t *testing.T, name, contents string) string {
	t.Helper()
	address, err := url.Parse(storetest.Direct(t, storetest.Postgres(t))) // a connection pooler does not know a new database
	if err != nil {
		t.Fatal(err)
	}
	execute := func(statements ...string) {
		t.Helper()
		for _, statement := range statements {
			conn, err := pgx.Connect(t.Context(), address.String())
			if err == nil {
				_, err = conn.Exec(t.Context(), statement)
				err = errors.Join(err, conn.Close(t.Context()))
			}
			if err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
	}
	execute("DROP DATABASE IF EXISTS "+name, "CREATE DATABASE "+name)
	address.Path, address.RawQuery = name, "sslmode=disable"
	execute(contents)
	return address.String()
}

// TestACopyIsPrivateFromTheBeginning checks the mode of the file that pg_dump has written. The
// umask is zero and does not protect the file.
func TestACopyIsPrivateFromTheBeginning(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	address := separate(t, "private_copy", "CREATE TABLE one (n INT)")
	seen := watched(t, "pg_dump")
	copied := filepath.Join(t.TempDir(), "copy")
	if err := backup.Make(t.Context(), address, copied, nil); err != nil {
		t.Fatal(err)
	}
	if said := seen(); !strings.Contains(said, "\nmode 600\n") {
		t.Errorf("want the mode 600, got:\n%s", said)
	}
}

// slow writes a part of a copy, and waits for a signal before it writes the rest.
const slow = `#!/bin/sh
for argument; do
	case $argument in --file=*) file=${argument#--file=} ;; esac
done
n=1
mkdir '%[1]s/called' 2>/dev/null || n=2
printf 'PGDMP, ' >>"$file"
echo >'%[1]s/begun'
read -r _ <'%[1]s/go'$n
printf 'complete' >>"$file"
`

// TestCopiesThatOverlap begins two copies to the same file. The file must appear when the first
// copy is complete, and the second copy must not change it.
func TestCopiesThatOverlap(t *testing.T) {
	address := separate(t, "overlapping_copies", "CREATE TABLE one (n INT)")
	folder := t.TempDir()
	for _, pipe := range []string{"begun", "go1", "go2"} {
		if err := syscall.Mkfifo(filepath.Join(folder, pipe), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "pg_dump"), fmt.Appendf(nil, slow, folder), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	copied := filepath.Join(t.TempDir(), "copy")
	begin := func() chan error {
		ended := make(chan error, 1)
		go func() { ended <- backup.Make(t.Context(), address, copied, nil) }()
		if _, err := os.ReadFile(filepath.Join(folder, "begun")); err != nil {
			t.Fatal(err)
		}
		return ended
	}
	first, second := begin(), begin()
	for _, step := range []struct {
		pipe  string
		ended chan error
		want  error
	}{{"go1", first, nil}, {"go2", second, passerelle.Invalid}} {
		if _, err := os.Stat(copied); step.want == nil && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a copy appeared before it was complete: %v", err)
		}
		if err := os.WriteFile(filepath.Join(folder, step.pipe), []byte("\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := <-step.ended; !errors.Is(err, step.want) {
			t.Errorf("after %s: %v, want %v", step.pipe, err, step.want)
		}
		text, err := os.ReadFile(copied)
		if want := "PGDMP, complete"; err != nil || string(text) != want {
			t.Errorf("after %s, the copy is %q, %v, want %q", step.pipe, text, err, want)
		}
	}
	left, err := os.ReadDir(filepath.Dir(copied))
	if err != nil || len(left) != 1 {
		t.Errorf("left there: %v, %v", left, err)
	}
	if stat, err := os.Stat(copied); err != nil || stat.Mode().Perm() != 0o600 {
		t.Errorf("the copy has the mode %v, %v", stat.Mode(), err)
	}
}

// TestAddressesOfTheService copies and restores with an address that has parameters for the
// service. Passwords must not be in arguments.
func TestAddressesOfTheService(t *testing.T) {
	const more = "&pool_max_conns=3&pool_max_conn_lifetime=1h&default_query_exec_mode=exec&statement_cache_capacity=0&description_cache_capacity=0" +
		"&search_path=%22Tenant%20A%22&jit=off&password=hidden%20one&sslpassword=hidden%20two"
	from := separate(t, "service_address_from", "CREATE TABLE one AS SELECT 7 AS n")
	to := separate(t, "service_address_to", "SELECT")
	seen := watched(t, "pg_dump", "pg_restore")
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	copied := filepath.Join(t.TempDir(), "copy")
	if err := backup.Make(t.Context(), from+more, copied, nil); err != nil {
		t.Fatal(err)
	}
	if err := backup.Restore(t.Context(), copied, to+more, 0, nil); err != nil {
		t.Fatal(err)
	}
	if n := storetest.Inspect(t, to).Count("SELECT n FROM one"); n != 7 {
		t.Errorf("restored %d, want 7", n)
	}
	said := seen()
	if strings.Count(said, "\nPGPASSWORD=hidden one\n") != 2 || strings.Count(said, "hidden one") != 2 {
		t.Errorf("want the password only in the environment, got:\n%s", said)
	}
	if strings.Count(said, "\nservice file 600\n[passerelle]\nsslpassword=hidden two\n") != 2 || strings.Count(said, "hidden two") != 2 {
		t.Errorf("want the password of the key only in a private service file, got:\n%s", said)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
	if want := `PGOPTIONS=-c jit=off -c search_path="Tenant\ A"`; strings.Count(said, want) != 2 {
		t.Errorf("want %s, got:\n%s", want, said)
	}
}

// TestIDsAfterARestore: a restored database must not assign ids that were assigned after the copy,
// because receivers ignore a delivery with a known id.
func TestIDsAfterARestore(t *testing.T) {
	const skipped = 1000
	for kind, places := range map[string]func(*testing.T) (lost, restored string){
		"sqlite": func(t *testing.T) (string, string) {
			return "sqlite:" + filepath.Join(t.TempDir(), "lost"), "sqlite:" + filepath.Join(t.TempDir(), "restored")
		},
		"postgres": func(t *testing.T) (string, string) {
			return separate(t, "ids_lost", "SELECT"), separate(t, "ids_restored", "SELECT")
		},
	} {
		t.Run(kind, func(t *testing.T) {
			lost, restored := places(t)
			known := nextIDs(t, lost)
			copied := filepath.Join(t.TempDir(), "copy")
			if err := backup.Make(t.Context(), lost, copied, nil); err != nil {
				t.Fatal(err)
			}
			for table, id := range nextIDs(t, lost) {
				known[table] = max(known[table], id)
			}
			if err := backup.Restore(t.Context(), copied, restored, skipped, nil); err != nil {
				t.Fatal(err)
			}
			for table, id := range nextIDs(t, restored) {
				if id <= known[table] || id > known[table]+2*skipped {
					t.Errorf("%s: after id %d, the restored database gives %d", table, known[table], id)
				}
			}
		})
	}
}

// nextIDs creates or opens a database, and returns the next ids of some tables.
func nextIDs(t *testing.T, address string) map[string]int64 {
	t.Helper()
	db, err := store.Open(t.Context(), address, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if db.Database.SchemaCurrent(t.Context()) != nil {
		if err := db.Database.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	row := func(table, columns, values string) int64 {
		storetest.Break(t, address, fmt.Sprintf(`INSERT INTO %s (%s) VALUES (%s)`, table, columns, values))
		id := storetest.Inspect(t, address).Count(`SELECT max(id) FROM ` + table)
		storetest.Break(t, address, `DELETE FROM `+table) // a copy with dangling references cannot be restored
		return id
	}
	ids := map[string]int64{"delivery": row("delivery", "domain_id, webhook_id, event_id, subject, subject_id, version, created", "1, 1, 1, 'payment', 1, 1, 1")}
	sequences := []string{"event"}
	if ids["delivery"] > 1 {
		sequences = append(sequences, "end_user")
		ids["withdrawal"] = row("withdrawal", "domain_id, kind, subject_id, created", "1, 'account', 1, 1")
	}
	err = db.Write(t.Context(), func(tx *store.Tx) error {
		for _, sequence := range sequences {
			if ids[sequence], err = tx.Unit().NewID(sequence); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}
