package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
)

type probe struct {
	ID     passerelle.PaymentID
	Name   *string
	Amount *int64
	Flag   *bool
	Data   []byte
	Parent *passerelle.PaymentID
}

func scanProbe(row Row) (p probe, err error) {
	return p, row.Scan(&p.ID, &p.Name, &p.Amount, &p.Flag, &p.Data, &p.Parent)
}

func TestValuesAreReadBack(t *testing.T) {
	type word string
	rows := []probe{
		{ID: 1},
		{ID: 2, Name: new(""), Amount: new(int64(0)), Flag: new(false), Data: []byte{0}, Parent: new(passerelle.PaymentID(1))},
		{ID: 3, Name: new("é'\"$1{now}"), Amount: new(int64(1<<63 - 1)), Flag: new(true), Data: []byte("\x00\xff{}"), Parent: new(passerelle.PaymentID(3))},
	}
	onEach(t, func(t *testing.T, db *Handle) {
		err := db.Write(t.Context(), func(tx *Unit) error {
			for _, p := range rows {
				tx.ExecOne(ErrConflict, `INSERT INTO probe (id, name, amount, flag, data, parent) VALUES ($1, $2, $3, $4, $5, $6)`,
					p.ID, (*word)(p.Name), p.Amount, p.Flag, p.Data, p.Parent)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Collect(t.Context(), &db.Querier, scanProbe, `SELECT id, name, amount, flag, data, parent FROM probe ORDER BY id`)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rows, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestEmptyBytesAreNotNull(t *testing.T) {
	onEach(t, func(t *testing.T, db *Handle) {
		err := db.Write(t.Context(), func(tx *Unit) error {
			tx.Exec(`INSERT INTO probe (id, name, data) VALUES (1, 'empty', $1), (2, 'null', $2)`, []byte{}, []byte(nil))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		name, err := One(t.Context(), &db.Querier, ScanString, `SELECT name FROM probe WHERE data IS NOT NULL`)
		if err != nil || name != "empty" {
			t.Errorf("not null is %q, %v", name, err)
		}
	})
}

func TestParametersGoByNumber(t *testing.T) {
	onEach(t, func(t *testing.T, db *Handle) {
		got, err := One(t.Context(), &db.Querier, ScanString,
			`SELECT CAST($2 AS TEXT) || CAST($1 AS TEXT) || CAST($2 AS TEXT)`, "a", "b")
		if err != nil || got != "bab" {
			t.Errorf("got %q and %v", got, err)
		}
	})
}

func TestArgumentsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, db *Handle) {
		for _, value := range []any{1.5, time.Unix(0, 0), struct{}{}, uint64(1 << 63), []string{"a"}} {
			err := db.Write(t.Context(), func(tx *Unit) error {
				tx.Exec(`INSERT INTO probe (id, amount) VALUES (1, $1)`, value)
				return nil
			})
			if err == nil || !strings.Contains(err.Error(), "argument $1") {
				t.Errorf("%T: error is %v", value, err)
			}
		}
		wantNames(t, db, "")
	})
}

func TestFailureWritesNothing(t *testing.T) {
	lost := errors.New("lost")
	failing := func(*Unit) error { return lost }
	after := func(sql string, args ...any) func(*Unit) error {
		return func(tx *Unit) error {
			tx.Exec(sql, args...)
			return nil
		}
	}
	tests := map[string]struct {
		fn   func(*Unit) error
		want error
	}{
		"function": {failing, lost},
		"no row": {func(tx *Unit) error {
			tx.ExecOne(lost, `UPDATE probe SET amount = 1 WHERE id = 9`)
			return nil
		}, lost},
		"two rows": {func(tx *Unit) error {
			tx.Exec(`INSERT INTO probe (id) VALUES (2)`)
			tx.ExecOne(lost, `UPDATE probe SET amount = 1`)
			return nil
		}, lost},
		"row function": {func(tx *Unit) error {
			tx.Query(func(Row) error { return lost }, `SELECT id FROM probe`)
			return nil
		}, lost},
		"primary key": {after(`INSERT INTO probe (id) VALUES (1)`), ErrDuplicate},
		"unique":      {after(`INSERT INTO probe (id, name) VALUES (2, 'new')`), ErrDuplicate},
		"mandatory":   {after(`INSERT INTO probe (id) VALUES (NULL)`), ErrConstraint},
		"check":       {after(`UPDATE probe SET amount = -1`), ErrConstraint},
		"reference":   {after(`UPDATE probe SET parent = 9`), ErrConstraint},
	}
	onEach(t, func(t *testing.T, db *Handle) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				err := db.Write(t.Context(), func(tx *Unit) error {
					tx.AfterCommit(func() { t.Error("called without a commit") })
					tx.Exec(`INSERT INTO probe (id, name) VALUES (1, 'new')`)
					return test.fn(tx)
				})
				wantError(t, err, test.want)
				wantNames(t, db, "")
			})
		}
	})
}

func TestBrokenStatementIsNamed(t *testing.T) {
	onEach(t, func(t *testing.T, db *Handle) {
		err := db.Write(t.Context(), func(tx *Unit) error {
			tx.Exec("UPDATE nowhere\nSET x = 1")
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "nowhere") {
			t.Errorf("error is %v", err)
		}
	})
}

type explosive struct{}

func (explosive) Value() (driver.Value, error) { panic("boom") }
func (*explosive) Scan(any) error              { panic("boom") }

func TestPanicReachesTheCaller(t *testing.T) {
	tests := map[string]func(*Unit){
		"function": func(*Unit) { panic("boom") },
		"argument": func(tx *Unit) { tx.Exec(`INSERT INTO probe (id) VALUES ($1)`, explosive{}) },
		"row function": func(tx *Unit) {
			tx.Query(func(Row) error { panic("boom") }, `SELECT id FROM probe`)
		},
		"destination": func(tx *Unit) {
			tx.Query(func(row Row) error { return row.Scan(&explosive{}) }, `SELECT id FROM probe`)
		},
	}
	onEach(t, func(t *testing.T, db *Handle) {
		for name, fn := range tests {
			t.Run(name, func(t *testing.T) {
				wantPanic(t, func() {
					_ = db.Write(t.Context(), func(tx *Unit) error {
						tx.Exec(`INSERT INTO probe (id, name) VALUES (1, 'new')`)
						fn(tx)
						return nil
					})
				})
				wantNames(t, db, "")
			})
		}
		t.Run("reading", func(t *testing.T) {
			wantPanic(t, func() {
				_, _ = One(t.Context(), &db.Querier, func(row Row) (e explosive, err error) { return e, row.Scan(&e) }, `SELECT 'text'`)
			})
		})
	})
}

func wantPanic(t *testing.T, fn func()) {
	t.Helper()
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "boom") {
			t.Errorf("recovered %s", got)
		}
	}()
	fn()
}

func TestUnitIsClosedWhenHandedOver(t *testing.T) {
	db := open(t, "sqlite::memory:")
	wantPanicOf := func(tx *Unit) {
		defer func() {
			if recover() == nil {
				t.Error("a statement was taken after the unit")
			}
		}()
		tx.Exec(`DELETE FROM probe`)
	}
	var kept *Unit
	if err := db.Write(t.Context(), func(tx *Unit) error { kept = tx; return nil }); err != nil {
		t.Fatal(err)
	}
	wantPanicOf(kept)
}

func TestAfterCommit(t *testing.T) {
	onEach(t, func(t *testing.T, db *Handle) {
		var called []string
		err := db.Write(t.Context(), func(tx *Unit) error {
			tx.AfterCommit(func() { called = append(called, "first"); wantNames(t, db, "a") })
			tx.AfterCommit(func() { called = append(called, "second") })
			return insert(1, "a")(tx)
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"first", "second"}, called); diff != "" {
			t.Error(diff)
		}
	})
}

func TestQueryReturnsRows(t *testing.T) {
	onEach(t, func(t *testing.T, db *Handle) {
		var ids []int64
		err := db.Write(t.Context(), func(tx *Unit) error {
			tx.Exec(`INSERT INTO probe (id) VALUES (1), (2)`)
			tx.Query(func(row Row) error {
				id, err := ScanInt(row)
				ids = append(ids, id)
				return err
			}, `UPDATE probe SET amount = 5 WHERE id > $1 RETURNING id`, 1)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int64{2}, ids); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNothingToWrite(t *testing.T) {
	onEach(t, func(t *testing.T, db *Handle) {
		called := false
		err := db.Write(t.Context(), func(tx *Unit) error {
			tx.AfterCommit(func() { called = true })
			return nil
		})
		if err != nil || !called {
			t.Errorf("error %v, called %v", err, called)
		}
	})
}

func TestEndedContext(t *testing.T) {
	onEach(t, func(t *testing.T, db *Handle) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantError(t, db.Write(ctx, insert(1, "a")), context.Canceled)
		_, err := One(ctx, &db.Querier, ScanInt, `SELECT 1`)
		wantError(t, err, context.Canceled)
		wantNames(t, db, "")
	})
}

func TestReadingNothing(t *testing.T) {
	onEach(t, func(t *testing.T, db *Handle) {
		_, err := One(t.Context(), &db.Querier, ScanInt, `SELECT id FROM probe`)
		wantError(t, err, ErrNotFound)
		all, err := Collect(t.Context(), &db.Querier, ScanInt, `SELECT id FROM probe`)
		if all != nil || err != nil {
			t.Errorf("got %v and %v", all, err)
		}
	})
}

func TestReadingStopsAtAnError(t *testing.T) {
	broken := errors.New("broken")
	onEach(t, func(t *testing.T, db *Handle) {
		_, err := Collect(t.Context(), &db.Querier, func(Row) (int64, error) { return 0, broken }, `SELECT 1 UNION ALL SELECT 2`)
		wantError(t, err, broken)
		_, err = Collect(t.Context(), &db.Querier, ScanInt, `SELECT nothing`)
		if err == nil {
			t.Error("no error")
		}
	})
}

// TestDatabaseClock stores a lease that lasts and a lease that has lapsed. By the database's clock,
// which must be close to the clock of the test, only the second must have lapsed.
func TestDatabaseClock(t *testing.T) {
	onEach(t, func(t *testing.T, db *Handle) {
		before := time.Now().Add(-time.Second).UnixMicro()
		now, err := One(t.Context(), &db.Querier, ScanInt, `SELECT {now}`)
		if after := time.Now().Add(time.Second).UnixMicro(); err != nil || now < before || now > after {
			t.Errorf("now is %d, want between %d and %d (%v)", now, before, after, err)
		}
		err = db.Write(t.Context(), func(tx *Unit) error {
			tx.Exec(`INSERT INTO probe (id, name, amount) VALUES (1, 'held', {now} + $1), (2, 'lapsed', {now} - $1)`, time.Minute.Microseconds())
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		free, err := Collect(t.Context(), &db.Querier, ScanString, `SELECT name FROM probe WHERE amount < {now}`)
		if diff := cmp.Diff([]string{"lapsed"}, free); err != nil || diff != "" {
			t.Error(err, diff)
		}
	})
}

func TestClaim(t *testing.T) {
	const claim = `WITH c AS MATERIALIZED (SELECT id FROM probe WHERE amount IS NULL ORDER BY id LIMIT $1 {skip locked})
		UPDATE probe SET amount = {now} WHERE id IN (SELECT id FROM c) AND amount IS NULL RETURNING id`
	onEach(t, func(t *testing.T, db *Handle) {
		claimed := 0
		err := db.Write(t.Context(), func(tx *Unit) error {
			tx.Exec(`INSERT INTO probe (id) VALUES (1), (2), (3)`)
			tx.Query(func(Row) error { claimed++; return nil }, claim, 2)
			return nil
		})
		if err != nil || claimed != 2 {
			t.Errorf("claimed %d, %v", claimed, err)
		}
	})
}
