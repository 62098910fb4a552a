package database

import (
	"context"
	"slices"
	"sync"
	"testing"

	"passerelle/internal/store/storetest"
)

func TestIDsStartAtOne(t *testing.T) {
	onEach(t, func(t *testing.T, db *Handle) {
		for want := int64(1); want <= 2*blockSize+1; want++ {
			if got := nextID(t, db, "payment"); got != want {
				t.Fatalf("id is %d, want %d", got, want)
			}
		}
		if got := nextID(t, db, "event"); got != 1 {
			t.Errorf("the first id of another sequence is %d", got)
		}
	})
}

// TestIDsAreUnique takes ids in many goroutines through two handles of one database, as two
// replicas do.
func TestIDsAreUnique(t *testing.T) {
	const goroutines, each = 8, 150
	storetest.Each(t, func(t *testing.T, url string) {
		stores := []*Handle{open(t, url), openOnly(t, url)}
		taken := make([][]int64, goroutines)
		var all sync.WaitGroup
		for g := range goroutines {
			all.Go(func() {
				for range each {
					taken[g] = append(taken[g], nextID(t, stores[g%len(stores)], "payment"))
				}
			})
		}
		all.Wait()
		ids := slices.Sorted(slices.Values(slices.Concat(taken...)))
		if unique := slices.Compact(slices.Clone(ids)); len(unique) != goroutines*each {
			t.Errorf("%d ids are %d different ones", len(ids), len(unique))
		}
	})
}

func TestIDsOfAnEndedContext(t *testing.T) {
	onEach(t, func(t *testing.T, db *Handle) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := (&Unit{ctx: ctx, handle: db}).NewID("payment")
		wantError(t, err, context.Canceled)
		if got := nextID(t, db, "payment"); got != 1 {
			t.Errorf("the next id is %d", got)
		}
	})
}

func nextID(t *testing.T, db *Handle, sequence string) (id int64) {
	t.Helper()
	err := db.Write(t.Context(), func(tx *Unit) (err error) {
		id, err = tx.NewID(sequence)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return id
}
