package database

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"passerelle"
	"passerelle/internal/store/storetest"
)

// TestUnitsHaveALimit checks that a unit fails in time, and releases its locks and connections,
// when another transaction blocks the unit or the unit gets no connection.
func TestUnitsHaveALimit(t *testing.T) {
	url := storetest.Postgres(t)
	slow := open(t, url)
	script(t, slow, `INSERT INTO probe (id, name) VALUES (1, 'a')`)
	const limit = 2 * time.Second
	hurried, err := Open(t.Context(), url, Config{Limit: limit, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer hurried.Close()

	holder, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(t.Context())
	if _, err := holder.Exec(t.Context(), `BEGIN; SELECT id FROM probe FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	begun, failed := time.Now(), make(chan error)
	for range 2 { // the second unit waits for the connection of the first
		go func() {
			failed <- hurried.Write(t.Context(), func(tx *Unit) error { tx.Exec(`UPDATE probe SET name = 'b'`); return nil })
		}()
	}
	for range 2 {
		if err := <-failed; !errors.Is(err, passerelle.Unavailable) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a unit that cannot end: %v", err)
		}
	}
	if took := time.Since(begun); took < limit/2 || took > 10*limit {
		t.Errorf("given up after %v, want %v", took, limit)
	}
	if _, err := holder.Exec(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := hurried.Write(t.Context(), func(tx *Unit) error { tx.Exec(`UPDATE probe SET name = 'c'`); return nil }); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
