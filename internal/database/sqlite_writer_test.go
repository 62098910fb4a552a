package database

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/store/storetest"
)

// together writes the units in one group. It also returns the number of units in each transaction.
func together(t *testing.T, db *Handle, units ...func(*Unit) error) (results []error, groups []int) {
	t.Helper()
	w := db.engine.(*sqliteEngine).writer
	w.atLeast, w.ended = len(units), func(group int) { groups = append(groups, group) }
	results = make([]error, len(units))
	var all sync.WaitGroup
	for i, fn := range units {
		all.Go(func() {
			results[i] = guard(func() error { return db.Write(t.Context(), fn) })
		})
	}
	all.Wait()
	w.atLeast, w.ended = 0, nil
	return results, groups
}

func all(fns ...func(*Unit) error) func(*Unit) error {
	return func(tx *Unit) error {
		for _, fn := range fns {
			if err := fn(tx); err != nil {
				return err
			}
		}
		return nil
	}
}

func runs(sql string) func(*Unit) error {
	return func(tx *Unit) error {
		tx.Exec(sql)
		return nil
	}
}

const endless = `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c`

// TestNeighboursCommit checks a group in which one unit fails after it has written a row. The
// other units must be written, in the same transaction if it still exists.
func TestNeighboursCommit(t *testing.T) {
	lost := errors.New("lost")
	oneTransaction, oneByOne := []int{3}, []int{1, 1, 1}
	tests := map[string]struct {
		bad    func(*Unit) error
		want   error
		groups []int
	}{
		"duplicate": {insert(4, "d"), ErrDuplicate, oneTransaction},
		"mismatch": {func(tx *Unit) error {
			tx.ExecOne(lost, `UPDATE probe SET amount = 1 WHERE id = 9`)
			return nil
		}, lost, oneTransaction},
		"row function": {func(tx *Unit) error {
			tx.Query(func(Row) error { return lost }, `SELECT 1`)
			return nil
		}, lost, oneTransaction},
		"panic": {func(tx *Unit) error {
			tx.Query(func(Row) error { panic(lost) }, `SELECT 1`)
			return nil
		}, nil, oneTransaction},
		"panic in a destination": {func(tx *Unit) error {
			tx.Query(func(row Row) error { return row.Scan(&explosive{}) }, `SELECT 1`)
			return nil
		}, nil, oneTransaction},
		"endless query":    {runs(endless), context.DeadlineExceeded, oneTransaction},
		"endless update":   {runs(`UPDATE probe SET amount = (` + endless + `)`), context.DeadlineExceeded, oneByOne},
		"lost transaction": {runs(`INSERT OR ROLLBACK INTO probe (id) VALUES (4)`), ErrDuplicate, oneByOne},
		"rolled back":      {runs(`ROLLBACK`), nil, oneByOne},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			db := open(t, storetest.SQLite(t))
			db.engine.(*sqliteEngine).writer.limit = 500 * time.Millisecond
			results, groups := together(t, db, insert(1, "a"), all(insert(4, "d"), test.bad), insert(3, "c"))
			if results[0] != nil || results[2] != nil {
				t.Errorf("the neighbours failed: %v, %v", results[0], results[2])
			}
			if results[1] == nil || test.want != nil && !errors.Is(results[1], test.want) {
				t.Errorf("the error is %v, want %v", results[1], test.want)
			}
			if diff := cmp.Diff(test.groups, groups); diff != "" {
				t.Error("groups:", diff)
			}
			wantNames(t, db, "a c")
			if err := db.Write(t.Context(), insert(5, "e")); err != nil {
				t.Errorf("the writer does not live on: %v", err)
			}
		})
	}
}

// TestGroupsAfterAFailure checks that, after a unit has failed without a savepoint, the next
// groups use savepoints, and later groups do not.
func TestGroupsAfterAFailure(t *testing.T) {
	db := open(t, storetest.SQLite(t))
	w := db.engine.(*sqliteEngine).writer
	change := runs(`UPDATE probe SET amount = 1 WHERE id = 1`)
	fail := func(tx *Unit) error {
		tx.ExecOne(ErrNotFound, `UPDATE probe SET amount = 1 WHERE id = 9`)
		return nil
	}
	for step, want := range []int{waryGroups - 1, waryGroups - 2} {
		if results, groups := together(t, db, change, fail); results[0] != nil || len(groups) != 1 {
			t.Errorf("step %d: %v in groups of %v", step, results, groups)
		}
		if w.wary != want {
			t.Errorf("step %d: %d groups are left, want %d", step, w.wary, want)
		}
	}
	for range waryGroups {
		together(t, db, change, change)
	}
	if w.wary != 0 {
		t.Errorf("%d groups are left", w.wary)
	}
}

// TestFailedCommit uses a unit whose error only COMMIT detects.
func TestFailedCommit(t *testing.T) {
	db := open(t, storetest.SQLite(t))
	script(t, db, `CREATE TABLE late (id BIGINT REFERENCES probe (id) DEFERRABLE INITIALLY DEFERRED)`)
	bad := all(insert(2, "b"), runs(`INSERT INTO late (id) VALUES (9)`))
	results, groups := together(t, db, insert(1, "a"), bad, insert(3, "c"))
	wantError(t, results[1], ErrConstraint)
	if diff := cmp.Diff([]error{nil, nil}, []error{results[0], results[2]}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{1, 1, 1}, groups); diff != "" {
		t.Error(diff)
	}
	wantNames(t, db, "a c")
}

// TestReset executes two units that insert the same row, and a unit that ends the transaction of
// all three. The writer then executes each unit again. One of the two equal units must be written,
// with the rows of its last run only. The other is a duplicate.
func TestReset(t *testing.T) {
	db := open(t, storetest.SQLite(t))
	reading := func(rows *[]int64) func(tx *Unit) error {
		return func(tx *Unit) error {
			tx.OnRetry(func() { *rows = nil })
			tx.Query(func(row Row) error {
				n, err := ScanInt(row)
				*rows = append(*rows, n)
				return err
			}, `INSERT INTO probe (id) VALUES (1) RETURNING id`)
			return nil
		}
	}
	duplicate := runs(`INSERT OR ROLLBACK INTO probe (id) VALUES (8), (8)`)
	var first, second []int64
	results, _ := together(t, db, reading(&first), duplicate, reading(&second))
	if written := (results[0] == nil) != (results[2] == nil); !written {
		t.Errorf("results are %v, and one of the two equal units must have won", results)
	}
	wantError(t, results[1], ErrDuplicate)
	won := first
	if results[0] != nil {
		won = second
	}
	if diff := cmp.Diff([]int64{1}, won); diff != "" {
		t.Error("rows of the written unit:", diff)
	}
}

// TestWithdrawnUnit cancels a unit while the writer executes another unit. The cancelled unit must
// never be executed, and its caller must get the error immediately.
func TestWithdrawnUnit(t *testing.T) {
	db := open(t, storetest.SQLite(t))
	working, release, answered := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		answered <- db.Write(t.Context(), all(insert(1, "a"), func(tx *Unit) error {
			tx.Query(func(Row) error { close(working); <-release; return nil }, `SELECT 1`)
			return nil
		}))
	}()
	<-working
	ctx, cancel := context.WithCancel(t.Context())
	withdrawn := make(chan error)
	go func() { withdrawn <- db.Write(ctx, insert(2, "b")) }()
	cancel()
	wantError(t, <-withdrawn, context.Canceled)
	close(release)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	wantNames(t, db, "a")
}

// TestTakenUnitIsAnswered ends the context of a unit during its execution. The unit must be
// written, and its caller must get no error.
func TestTakenUnitIsAnswered(t *testing.T) {
	db := open(t, storetest.SQLite(t))
	ctx, cancel := context.WithCancel(t.Context())
	err := db.Write(ctx, all(insert(1, "a"), func(tx *Unit) error {
		tx.Query(func(Row) error { cancel(); return nil }, `SELECT 1`)
		return nil
	}, insert(2, "b")))
	if err != nil {
		t.Error(err)
	}
	wantNames(t, db, "a b")
}

// TestAnotherProcessWrites locks the file while a unit waits. Commands of the program do so in a
// process of their own.
func TestAnotherProcessWrites(t *testing.T) {
	url := storetest.SQLite(t)
	db, other := open(t, url), another(t, url)
	other("BEGIN IMMEDIATE")
	other("INSERT INTO probe (id, name) VALUES (1, 'theirs')")
	answered := make(chan error)
	go func() { answered <- db.Write(t.Context(), insert(2, "ours")) }()
	wantNames(t, db, "")
	other("COMMIT")
	if err := <-answered; err != nil {
		t.Error(err)
	}
	wantNames(t, db, "theirs ours")
}

// TestBusyDatabase checks that the whole group fails when another process holds the lock for longer
// than the writer waits. The writer must continue with the next group.
func TestBusyDatabase(t *testing.T) {
	url := storetest.SQLite(t)
	db, other := open(t, url), another(t, url)
	if err := db.engine.(*sqliteEngine).writer.conn.control("PRAGMA busy_timeout = 10"); err != nil {
		t.Fatal(err)
	}
	other("BEGIN IMMEDIATE")
	results, groups := together(t, db, insert(1, "a"), insert(2, "b"))
	for _, err := range results {
		wantError(t, err, passerelle.Unavailable)
	}
	if diff := cmp.Diff([]int{2}, groups); diff != "" {
		t.Error(diff)
	}
	other("COMMIT")
	if err := db.Write(t.Context(), insert(3, "c")); err != nil {
		t.Error(err)
	}
	wantNames(t, db, "c")
}

// another acts as a second process that uses the file.
func another(t *testing.T, url string) func(statement string) {
	t.Helper()
	pool, err := sql.Open("sqlite", strings.TrimPrefix(url, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	pool.SetMaxOpenConns(1)
	return func(statement string) {
		t.Helper()
		if _, err := pool.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// TestManyTexts needs more statements than the cache of prepared statements can contain. The cache
// must contain the last statement.
func TestManyTexts(t *testing.T) {
	db := open(t, storetest.SQLite(t))
	for n := range statementLimit + 10 {
		text := "/* " + strings.Repeat("x", n) + " */ UPDATE probe SET amount = 1"
		if err := db.Write(t.Context(), runs(text)); err != nil {
			t.Fatal(err)
		}
		last := "SELECT 1 " + strings.Repeat(" ", n)
		if _, err := One(t.Context(), &db.Querier, ScanInt, last); err != nil {
			t.Fatal(err)
		}
		reader := db.engine.(*sqliteEngine).readers.idle[0]
		if kept := len(reader.prepared); reader.prepared[last] == nil || kept > statementLimit {
			t.Fatalf("statement %d is not among %d prepared statements", n, kept)
		}
	}
}
