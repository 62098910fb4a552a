package store_test

import (
	"testing"
	"time"

	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
	"passerelle/webhook"
)

// These limits are a quarter above the allocations for a payment of one instruction on SQLite. They
// include the allocations of the writer's goroutine.
const (
	mostToCreate = 190
	mostToRead   = 286
)

func TestAllocationsOfAPayment(t *testing.T) {
	s := newFixture(t, storetest.SQLite(t))
	p, first, err := payment.New(draft(1), payment.Policy{}, zeros{}, now)
	if err != nil {
		t.Fatal(err)
	}
	p.Domain, p.Client = s.domain, s.client
	created := testing.AllocsPerRun(200, func() {
		if err := s.db.Write(t.Context(), func(tx *store.Tx) error { return tx.CreatePayment(p, first) }); err != nil {
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

// mostToRecord is a quarter above the allocations for recording one request, in a batch of 64.
const mostToRecord = 13

func TestAllocationsOfAnAttempt(t *testing.T) {
	s := newFixture(t, storetest.SQLite(t))
	w := s.receiver(webhook.PaymentStateUpdated)
	const requests = 64
	s.happen(1, requests, now)
	list, err := s.db.NewDeliveries(t.Context(), w, 0, requests)
	if err != nil {
		t.Fatal(err)
	}
	b := store.Batch{Webhook: w.ID, Holder: "test", Lease: time.Hour, Now: now, NextFlush: now}
	for _, d := range list {
		b.Attempts = append(b.Attempts, store.DeliveryAttempt{Delivery: d.ID, At: now, Status: 200, Signed: store.Signed{Opening: "POST./.", Signature: "x"}})
	}
	s.write(func(tx *store.Tx) error { tx.LeaseWebhook(w, b.Holder, b.Lease); return nil })
	recorded := testing.AllocsPerRun(50, func() { s.write(func(tx *store.Tx) error { return tx.RecordBatches(w.Domain, b) }) }) / requests
	if len(list) != requests || recorded > mostToRecord {
		t.Errorf("%.1f allocations for each of %d requests, at most %d", recorded, len(list), mostToRecord)
	}
}
