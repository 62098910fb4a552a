package storetest_test

import (
	"database/sql"
	"strings"
	"testing"

	"passerelle/internal/store/storetest"
)

func TestRowsAreCountedAfterEachCommit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		driver, address := "pgx", url
		if path, isSQLite := strings.CutPrefix(url, "sqlite:"); isSQLite {
			driver, address = "sqlite", "file:"+path+"?_pragma=journal_mode(WAL)"
		}
		db, err := sql.Open(driver, address)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		begin := func() *sql.Tx {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return tx
		}
		execute := func(tx *sql.Tx, query string) {
			t.Helper()
			if _, err := tx.ExecContext(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
		commit := func(query string) {
			t.Helper()
			tx := begin()
			execute(tx, query)
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		commit(`CREATE TABLE thing (id BIGINT)`)
		eyes := storetest.Inspect(t, url)
		has := func(when string, want int64) {
			t.Helper()
			for range 2 {
				if got := eyes.Rows()["thing"]; got != want {
					t.Errorf("%s: %d rows, want %d", when, got, want)
				}
			}
		}
		has("at first", 0)
		slow := begin()
		execute(slow, `INSERT INTO thing VALUES (1)`)
		has("before a commit", 0)
		if err := slow.Commit(); err != nil {
			t.Fatal(err)
		}
		has("after the commit", 1)
		commit(`INSERT INTO thing VALUES (2)`)
		has("after another", 2)
		undone := begin()
		execute(undone, `DELETE FROM thing`)
		has("before a rollback", 2)
		if err := undone.Rollback(); err != nil {
			t.Fatal(err)
		}
		has("after the rollback", 2)
		commit(`DELETE FROM thing WHERE id = 1`)
		has("after a deletion", 1)
	})
}
