package store_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"passerelle/internal/store"
)

func TestSandboxOrder(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		ledger := store.SandboxLedger{s.db}
		for n, body := range []string{"first", "repeated"} {
			stored, version, submissions, err := ledger.Submit(t.Context(), s.domain, "key", []byte(body))
			if err != nil || string(stored) != "first" || version != 1 || submissions != int64(n+1) {
				t.Errorf("submission %d: %q version %d, %d times, %v", n+1, stored, version, submissions, err)
			}
		}
		for _, want := range []bool{true, false} {
			saved, err := ledger.Save(t.Context(), s.domain, "key", 1, []byte("second"))
			if err != nil || saved != want {
				t.Errorf("saved over version 1: %v, %v", saved, err)
			}
		}
		body, version, found, err := ledger.Load(t.Context(), s.domain, "key")
		if err != nil || !found || string(body) != "second" || version != 2 {
			t.Errorf("%q version %d, %v, %v", body, version, found, err)
		}
		n, err := s.db.SandboxSubmissions(t.Context(), s.domain, "key")
		if err != nil || n != 2 {
			t.Errorf("%d submissions, %v", n, err)
		}
	})
}

func TestSandboxOrderOfAnotherDomain(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		ledger := store.SandboxLedger{s.db}
		if _, _, _, err := ledger.Submit(t.Context(), s.domain, "key", []byte("body")); err != nil {
			t.Fatal(err)
		}
		body, version, found, err := ledger.Load(t.Context(), s.other, "key")
		if body != nil || version != 0 || found || err != nil {
			t.Errorf("%q version %d, %v, %v", body, version, found, err)
		}
		if saved, err := ledger.Save(t.Context(), s.other, "key", 1, []byte("x")); saved || err != nil {
			t.Errorf("saved %v, %v", saved, err)
		}
		got, err := s.db.SandboxSubmissions(t.Context(), s.other, "key")
		wantNotFound(t, got, err)
		if _, _, n, err := ledger.Submit(t.Context(), s.other, "key", []byte("own")); n != 1 || err != nil {
			t.Errorf("%d submissions, %v", n, err)
		}
	})
}

// TestSandboxSubmissionsAreCounted checks the count on which other tests rely to show that an order
// is sent at most once.
func TestSandboxSubmissionsAreCounted(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		ledger := store.SandboxLedger{s.db}
		var all sync.WaitGroup
		var saved atomic.Int64
		for range 20 {
			all.Go(func() {
				_, version, _, err := ledger.Submit(t.Context(), s.domain, "key", []byte("body"))
				if err != nil {
					t.Error(err)
				}
				if won, err := ledger.Save(t.Context(), s.domain, "key", version, []byte("changed")); err != nil {
					t.Error(err)
				} else if won {
					saved.Add(1)
				}
			})
		}
		all.Wait()
		n, err := s.db.SandboxSubmissions(t.Context(), s.domain, "key")
		_, version, _, _ := ledger.Load(t.Context(), s.domain, "key")
		if err != nil || n != 20 || version != saved.Load()+1 {
			t.Errorf("%d submissions, version %d after %d changes, %v", n, version, saved.Load(), err)
		}
	})
}
