package store

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTogether asks questions of one query, of two and of none, and one that fails: each
// has its answer, and the error is that of the first.
func TestTogether(t *testing.T) {
	broken := errors.New("broken")
	onEach(t, func(t *testing.T, db *DB) {
		var got []string
		number := func(n int) func(*Reader) error {
			return func(r *Reader) error {
				found, err := one(t.Context(), r, scanInt, `SELECT CAST($1 AS BIGINT)`, n)
				got = append(got, fmt.Sprint(found))
				return err
			}
		}
		twice := func(r *Reader) error { return errors.Join(number(2)(r), number(3)(r)) }
		if err := db.Together(t.Context(), number(1), twice, func(*Reader) error { return nil }, number(4)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"sqlite": "[1 2 3 4]", "postgres": "[1 2 4 3]"}[db.engine.words().name], fmt.Sprint(got)); diff != "" {
			t.Error(diff)
		}
		err := db.Together(t.Context(), number(1), func(r *Reader) error {
			return r.Together(t.Context(), number(2), func(*Reader) error { return broken })
		}, number(3))
		wantError(t, err, broken)
		err = db.Together(t.Context(), number(1), func(r *Reader) error { _, err := one(t.Context(), r, scanInt, `SELECT nothing`); return err })
		if err == nil {
			t.Error("no error")
		}
		if n, err := one(t.Context(), &db.Reader, scanInt, `SELECT 7`); n != 7 || err != nil {
			t.Errorf("the next query: %d, %v", n, err)
		}
		t.Run("panic", func(t *testing.T) {
			wantPanic(t, func() {
				_ = db.Together(t.Context(), number(1), func(r *Reader) error {
					_, err := one(t.Context(), r, func(scanner) (int64, error) { panic("boom") }, `SELECT 1`)
					return err
				}, number(2))
			})
		})
	})
}
