package store

import (
	"testing"

	"passerelle/internal/store/storetest"
	"passerelle/payment"
)

// The bounds are a quarter above what a payment of one line allocates on SQLite,
// the writer's goroutine included.
const (
	mostToCreate = 190
	mostToRead   = 286
)

// TestAllocationsOfAPayment: what it takes to store a payment, and to read it, stays
// what it is.
func TestAllocationsOfAPayment(t *testing.T) {
	s := newSite(t, storetest.SQLite(t))
	p, first, err := payment.New(draft(1), payment.Policy{}, zeros{}, now)
	if err != nil {
		t.Fatal(err)
	}
	p.Domain, p.Client = s.domain, s.client
	created := testing.AllocsPerRun(200, func() {
		if err := s.db.Write(t.Context(), func(tx *Tx) error { return tx.CreatePayment(p, first) }); err != nil {
			t.Fatal(err)
		}
	})
	read := testing.AllocsPerRun(200, func() {
		if _, err := s.db.Payment(t.Context(), s.domain, p.ID, false); err != nil {
			t.Fatal(err)
		}
	})
	if created > mostToCreate || read > mostToRead {
		t.Errorf("%.0f and %.0f allocations, at most %d and %d", created, read, mostToCreate, mostToRead)
	}
}
