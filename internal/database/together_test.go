package database

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTogether(t *testing.T) {
	broken := errors.New("broken")
	onEach(t, func(t *testing.T, db *Handle) {
		var got []string
		number := func(n int) func(*Querier) error {
			return func(r *Querier) error {
				found, err := One(t.Context(), r, ScanInt, `SELECT CAST($1 AS BIGINT)`, n)
				got = append(got, fmt.Sprint(found))
				return err
			}
		}
		twice := func(r *Querier) error { return errors.Join(number(2)(r), number(3)(r)) }
		if err := db.Together(t.Context(), number(1), twice, func(*Querier) error { return nil }, number(4)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"sqlite": "[1 2 3 4]", "postgres": "[1 2 4 3]"}[db.engine.words().Name], fmt.Sprint(got)); diff != "" {
			t.Error(diff)
		}
		err := db.Together(t.Context(), number(1), func(r *Querier) error {
			return r.Together(t.Context(), number(2), func(*Querier) error { return broken })
		}, number(3))
		wantError(t, err, broken)
		err = db.Together(t.Context(), number(1), func(r *Querier) error { _, err := One(t.Context(), r, ScanInt, `SELECT nothing`); return err })
		if err == nil {
			t.Error("no error")
		}
		if n, err := One(t.Context(), &db.Querier, ScanInt, `SELECT 7`); n != 7 || err != nil {
			t.Errorf("the next query: %d, %v", n, err)
		}
		t.Run("panic", func(t *testing.T) {
			wantPanic(t, func() {
				_ = db.Together(t.Context(), number(1), func(r *Querier) error {
					_, err := One(t.Context(), r, func(Row) (int64, error) { panic("boom") }, `SELECT 1`)
					return err
				}, number(2))
			})
		})
	})
}
