package database

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"passerelle/internal/store/storetest"
)

// TestUnitsShareATransaction checks that simultaneous units that only add rows share a transaction.
// A failing unit must not make other units fail.
func TestUnitsShareATransaction(t *testing.T) {
	db := open(t, storetest.Postgres(t))
	engine := db.engine.(*postgresEngine)
	engine.sharers.close()
	engine.sharers = newSharers(engine.attempt, 1)
	together := func(units ...func(*Unit) error) []error {
		engine.sharers.atLeast = len(units)
		errs := make([]error, len(units))
		var working sync.WaitGroup
		for i, unit := range units {
			working.Go(func() { errs[i] = db.Write(t.Context(), unit) })
		}
		working.Wait()
		return errs
	}
	counted := func(id int64, name string) func(*Unit) error {
		return all(insert(id, name), func(tx *Unit) error { tx.Count(7, "probe", id, 1); return nil })
	}
	if err := errors.Join(together(counted(1, "a"), counted(2, "b"), counted(17, "c"))...); err != nil {
		t.Fatal(err)
	}
	wantTransactions(t, db, 1, 3)
	for i, err := range together(counted(3, "d"), counted(1, "again"), counted(4, "e")) {
		if i == 1 {
			wantError(t, err, ErrDuplicate)
		} else if err != nil {
			t.Error(err)
		}
	}
	wantTransactions(t, db, 3, 5)
}

// TestUnitsWithAConditionShare checks that one unit of a group finds out for all units whether a
// value has changed. If the value has changed, only the units that require the old value must fail.
func TestUnitsWithAConditionShare(t *testing.T) {
	db := open(t, storetest.Postgres(t))
	script(t, db, `CREATE TABLE version (n BYTEA); INSERT INTO version (n) VALUES ('1')`)
	errOld := errors.New("the value is old")
	engine := db.engine.(*postgresEngine)
	engine.sharers.close()
	var asked atomic.Int64
	engine.sharers = newSharers(func(ctx context.Context, statements []statement) error {
		for _, s := range statements {
			if s.requires {
				asked.Add(1)
			}
		}
		return engine.attempt(ctx, statements)
	}, 1)
	together := func(first int64, with ...bool) []error {
		engine.sharers.atLeast = len(with)
		errs := make([]error, len(with))
		var working sync.WaitGroup
		for i, requires := range with {
			working.Go(func() {
				errs[i] = db.Write(t.Context(), func(tx *Unit) error {
					if requires {
						tx.Require(`SELECT n FROM version WHERE n = $1`, []byte("1"), func(context.Context) ([]byte, error) { return nil, errOld })
					}
					tx.Exec(`INSERT INTO probe (id) VALUES ($1)`, first+int64(i))
					return nil
				})
			})
		}
		working.Wait()
		return errs
	}
	if err := errors.Join(together(1, true, true, false, true)...); err != nil {
		t.Fatal(err)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("four units asked %d times", n)
	}
	var transactions, rows int
	err := engine.pool.QueryRow(t.Context(), `SELECT count(DISTINCT xmin::text), count(*) FROM probe`).Scan(&transactions, &rows)
	if err != nil || transactions != 1 || rows != 4 {
		t.Errorf("%d rows in %d transactions: %v", rows, transactions, err)
	}
	script(t, db, `UPDATE version SET n = '2'`)
	for i, err := range together(5, true, false, true) {
		if requires := i != 1; requires != errors.Is(err, errOld) {
			t.Errorf("unit %d with the old value: %v", i, err)
		}
	}
}

func TestLargeUnitsHaveTheirOwn(t *testing.T) {
	db := open(t, storetest.Postgres(t))
	engine := db.engine.(*postgresEngine)
	engine.sharers.close()
	defer func() { engine.sharers = newSharers(engine.attempt, 1) }()
	many := func(count int) func(*Unit) error {
		return func(tx *Unit) error {
			for i := range count {
				if err := insert(int64(i), fmt.Sprint(i))(tx); err != nil {
					return err
				}
			}
			return nil
		}
	}
	wantError(t, db.Write(t.Context(), many(sharedStatements)), ErrClosed)
	if err := db.Write(t.Context(), many(sharedStatements+1)); err != nil {
		t.Error(err)
	}
}

func wantTransactions(t *testing.T, db *Handle, transactions, total int64) {
	t.Helper()
	n, err := One(t.Context(), &db.Querier, ScanInt, `SELECT count(DISTINCT CAST(xmin AS TEXT)) FROM probe`)
	if err != nil || n != transactions {
		t.Errorf("%d transactions (%v), want %d", n, err, transactions)
	}
	if n, err := db.Total(t.Context(), 7, "probe"); err != nil || n != total {
		t.Errorf("a total of %d (%v), want %d", n, err, total)
	}
}

// hold adds a row to the table probe in a transaction that stays open until the returned function
// is called or the test ends.
func hold(t *testing.T, url string, id int64) (end func()) {
	t.Helper()
	holder, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Close(context.Background()) })
	if _, err := holder.Exec(t.Context(), `BEGIN`); err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), `INSERT INTO probe (id, name) VALUES ($1, 'held')`, id); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := holder.Exec(t.Context(), `ROLLBACK`); err != nil {
			t.Error(err)
		}
	}
}

func awaitWaiting(t *testing.T, db *Handle, many int64) {
	t.Helper()
	for t.Context().Err() == nil {
		n, err := One(t.Context(), &db.Querier, ScanInt, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
		if err != nil {
			t.Fatal(err)
		}
		if n >= many {
			return
		}
	}
}

// TestWaitingUnitsDoNotBlockOthers checks that other units are written while the maximum number of
// shared transactions wait for an uncommitted row.
func TestWaitingUnitsDoNotBlockOthers(t *testing.T) {
	url := storetest.Postgres(t)
	db := open(t, url)
	free := hold(t, url, 1)
	slow := make(chan error)
	go func() { slow <- db.Write(t.Context(), insert(1, "patient")) }()
	hurried := make(chan error)
	leaving, leave := context.WithCancel(t.Context())
	for range sharing {
		go func() { hurried <- db.Write(leaving, insert(1, "hurried")) }()
	}
	awaitWaiting(t, db, sharing)
	begun := time.Now()
	for id := range int64(10) {
		if err := db.Write(t.Context(), insert(id+2, fmt.Sprint("other ", id))); err != nil {
			t.Error(err)
		}
	}
	leave()
	for range sharing {
		wantError(t, <-hurried, context.Canceled)
	}
	if took := time.Since(begun); took > 2*sharedLimit {
		t.Errorf("they were held up for %v", took)
	}
	select {
	case err := <-slow:
		t.Errorf("the row is another's, and was written: %v", err)
	default:
	}
	free()
	if err := <-slow; err != nil {
		t.Error(err)
	}
}
