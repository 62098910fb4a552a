package documents

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"passerelle/internal/bankstore"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// TestPauses checks that a failed fetch of a file is repeated a limited number of times, after
// pauses that double.
func TestPauses(t *testing.T) {
	broken := errors.New("the line broke")
	for failures, want := range map[int64]time.Duration{
		1: time.Minute, 2: 2 * time.Minute, 5: 16 * time.Minute, 10: 512 * time.Minute, 11: 1024 * time.Minute, 12: 0, 99: 0,
	} {
		if got := pauseAfter(failures, broken); got != want {
			t.Errorf("after %d failures %s, want %s", failures, got, want)
		}
	}
	for _, err := range []error{errLarge, errWithheld, errGone} {
		if got := pauseAfter(1, fmt.Errorf("store file 1: %w", err)); got != 0 {
			t.Errorf("after %v: %s", err, got)
		}
	}
}

func TestSlowClaimDoesNotDelayOtherConnectors(t *testing.T) {
	db, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{Keys: keys.Generate()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var e activeFetches
	claiming, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := e.begin(t.Context(), db, "slow", func(_ *store.Tx, into *[]bankstore.LeasedFile) {
			close(claiming)
			<-free
			*into = []bankstore.LeasedFile{{ID: 7}}
		})
		done <- err
	}()
	<-claiming
	if leased, err := e.begin(t.Context(), db, "quick", func(*store.Tx, *[]bankstore.LeasedFile) {}); err != nil || leased != nil || !e.enter("quick") || e.running(7) != nil {
		t.Errorf("another connector leases %v (%v)", leased, err)
	}
	if err := e.awaitAll(t.Context(), "quick"); err != nil {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.awaitClaims(over, "slow"); !errors.Is(err, context.Canceled) {
		t.Errorf("who waits for the claim gets %v", err)
	}
	close(free)
	if err := errors.Join(e.awaitClaims(t.Context(), "slow"), <-done); err != nil || e.running(7) == nil {
		t.Errorf("what was leased is not known (%v)", err)
	}
}
