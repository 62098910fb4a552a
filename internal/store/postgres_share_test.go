package store

import (
	"errors"
	"sync"
	"testing"

	"passerelle/internal/store/storetest"
)

// TestUnitsShareATransaction has units that only add rows come together: they share
// a transaction, and a unit at fault fails alone.
func TestUnitsShareATransaction(t *testing.T) {
	db := open(t, storetest.Postgres(t))
	script(t, db, `CREATE TABLE counter (domain_id BIGINT, name TEXT, shard BIGINT, n BIGINT, PRIMARY KEY (domain_id, name, shard))`)
	engine := db.engine.(*postgresEngine)
	engine.sharers.close()
	engine.sharers = newSharers(engine.attempt, 1)
	together := func(units ...func(*Tx) error) []error {
		engine.sharers.atLeast = len(units)
		errs := make([]error, len(units))
		var working sync.WaitGroup
		for i, unit := range units {
			working.Go(func() { errs[i] = db.Write(t.Context(), unit) })
		}
		working.Wait()
		return errs
	}
	counted := func(id int64, name string) func(*Tx) error {
		return all(insert(id, name), func(tx *Tx) error { tx.count(7, "probe", id, 1); return nil })
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

// wantTransactions holds how many transactions wrote the probes, and their total.
func wantTransactions(t *testing.T, db *DB, transactions, total int64) {
	t.Helper()
	n, err := one(t.Context(), &db.Reader, scanInt, `SELECT count(DISTINCT CAST(xmin AS TEXT)) FROM probe`)
	if err != nil || n != transactions {
		t.Errorf("%d transactions (%v), want %d", n, err, transactions)
	}
	if n, err := db.total(t.Context(), 7, "probe"); err != nil || n != total {
		t.Errorf("a total of %d (%v), want %d", n, err, total)
	}
}
