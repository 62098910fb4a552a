package database

import (
	"context"
	"testing"

	"passerelle/internal/store/storetest"
)

// TestReadersAreLimited checks that a query waits for a free connection until its context ends, and
// that the connection is free again after an error, a panic and a cancelled query.
func TestReadersAreLimited(t *testing.T) {
	db := limited(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	err := db.Each(t.Context(), `SELECT 1`, nil, func(Row) (bool, error) {
		cancel()
		_, err := One(ctx, &db.Querier, ScanInt, `SELECT 2`)
		wantError(t, err, context.Canceled)
		return false, ErrConflict
	})
	wantError(t, err, ErrConflict)
	wantPanic(t, func() { _ = db.Each(t.Context(), `SELECT 1`, nil, func(Row) (bool, error) { panic("boom") }) })
	wantPanic(t, func() { _ = db.Together(t.Context(), func(*Querier) error { panic("boom") }) })
	if err := db.Write(t.Context(), insert(1, "a")); err != nil {
		t.Fatal(err)
	}
	err = db.Together(t.Context(), func(r *Querier) error {
		n, err := One(t.Context(), r, ScanInt, `SELECT COUNT(*) FROM probe`)
		if n != 1 {
			t.Errorf("after a panic, Together reads %d rows, want 1", n)
		}
		return err
	})
	wantError(t, err, nil)
	ctx, cancel = context.WithCancel(t.Context())
	err = db.Together(t.Context(), func(r *Querier) error {
		cancel()
		return r.Each(ctx, `SELECT 1`, nil, func(Row) (bool, error) { return true, nil })
	})
	wantError(t, err, context.Canceled)
	if n, err := One(t.Context(), &db.Querier, ScanInt, `SELECT 3`); n != 3 || err != nil {
		t.Errorf("the next query: %d, %v", n, err)
	}
}

// TestTogetherReadsOneState checks that on SQLite, the functions of Together read the same state,
// even if a unit is written meanwhile. A later query reads what the unit wrote.
func TestTogetherReadsOneState(t *testing.T) {
	db := limited(t, 2)
	count := func(r *Querier) int64 {
		n, err := One(t.Context(), r, ScanInt, `SELECT COUNT(*) FROM probe`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var before, after int64
	err := db.Together(t.Context(),
		func(r *Querier) error { before = count(r); return db.Write(t.Context(), insert(1, "a")) },
		func(r *Querier) error { after = count(r); return nil })
	if err != nil || before != 0 || after != 0 {
		t.Errorf("read %d rows before the unit and %d after it, want 0 twice: %v", before, after, err)
	}
	if n := count(&db.Querier); n != 1 {
		t.Errorf("%d rows after Together, want 1", n)
	}
}

// TestCloseWhileReading checks that a running query may end after Close, and that later queries
// fail.
func TestCloseWhileReading(t *testing.T) {
	db := limited(t, 1)
	err := db.Each(t.Context(), `SELECT 1 UNION ALL SELECT 2`, nil, func(row Row) (bool, error) {
		return true, db.Close()
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := One(t.Context(), &db.Querier, ScanInt, `SELECT 3`); err == nil {
		t.Error("a query after Close succeeded")
	}
}

func limited(t *testing.T, connections int) *Handle {
	t.Helper()
	address := storetest.SQLite(t)
	open(t, address)
	db, err := Open(t.Context(), address, Config{MaxConns: connections})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
