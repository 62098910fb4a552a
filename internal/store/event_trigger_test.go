package store_test

import (
	"slices"
	"sync"
	"testing"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/webhook"
)

// TestTriggeredVersionsGrow checks that a later caller gets a greater version. The test uses two
// stores on one database, like two replicas.
func TestTriggeredVersionsGrow(t *testing.T) {
	const goroutines, each = 6, 20
	storetest.Each(t, func(t *testing.T, url string) {
		s := newFixture(t, url)
		stores := []*store.DB{s.db, openOnly(t, url)}
		taken := make([][]int64, goroutines)
		var all sync.WaitGroup
		for g := range goroutines {
			all.Go(func() {
				for i := range each {
					taken[g] = append(taken[g], triggeredVersion(t, stores[(g+i)%len(stores)], s.domain))
				}
			})
		}
		all.Wait()
		for _, own := range taken {
			if !slices.IsSorted(own) {
				t.Errorf("versions %v", own)
			}
		}
		for i, version := range slices.Sorted(slices.Values(slices.Concat(taken...))) {
			if want := store.TriggeredFrom + 1 + int64(i); version != want {
				t.Fatalf("version %d instead of %d", version, want)
			}
		}
		if other := triggeredVersion(t, s.db, s.other); other != store.TriggeredFrom+1 {
			t.Errorf("another domain starts at %d", other)
		}
	})
}

func triggeredVersion(t *testing.T, db *store.DB, domain passerelle.DomainID) int64 {
	t.Helper()
	version, err := db.TriggeredVersion(t.Context(), domain)
	if err != nil {
		t.Error(err)
	}
	return version
}

func TestDeliveriesOfAnEvent(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		for range 3 {
			w := store.Webhook{Domain: s.domain, Event: webhook.AccountFound, URL: "https://a.example", Created: now}
			s.write(func(tx *store.Tx) error { return tx.CreateWebhook(&w) })
		}
		emitted := func(version int64) store.EmittedEvent {
			e := store.EmittedEvent{
				Domain: s.domain, Name: webhook.AccountFound, Subject: "connection", SubjectID: 42, Version: version,
				Body: []byte("{}"), Created: now,
			}
			s.write(func(tx *store.Tx) error { return tx.Emit(e) })
			return e
		}
		first, second := emitted(1), emitted(2)
		missing := first
		missing.Version = 3
		foreign := first
		foreign.Domain = s.other
		of := func(e store.EmittedEvent, limit int) []passerelle.DeliveryID {
			ids, err := s.db.DeliveriesOf(t.Context(), e, limit)
			if err != nil {
				t.Fatal(err)
			}
			return ids
		}
		ids := append(of(first, 10), of(second, 10)...)
		if len(ids) != 6 || !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != 6 {
			t.Errorf("deliveries %v", ids)
		}
		if !slices.Equal(of(first, 2), ids[:2]) || of(missing, 10) != nil || of(foreign, 10) != nil {
			t.Errorf("%v, %v, %v", of(first, 2), of(missing, 10), of(foreign, 10))
		}
	})
}

// TestTheOldestWebhookIsFirst updates the first of three webhooks last. Deliveries must still be in
// the order of the webhooks, both for an event that is sent immediately and for a held event, whose
// deliveries ReleaseHeld creates.
func TestTheOldestWebhookIsFirst(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		var webhooks []passerelle.WebhookID
		for range 3 {
			w := store.Webhook{Domain: s.domain, Event: webhook.AccountFound, URL: "https://a.example", Created: now}
			s.write(func(tx *store.Tx) error { return tx.CreateWebhook(&w) })
			webhooks = append(webhooks, w.ID)
		}
		for _, deleted := range []bool{true, false} {
			s.write(func(tx *store.Tx) error {
				tx.ChangeWebhook(s.domain, webhooks[0], store.WebhookChange{Deleted: &deleted}, now)
				return nil
			})
		}
		for version, held := range []bool{false, true} {
			e := store.EmittedEvent{
				Domain: s.domain, Name: webhook.AccountFound, Subject: "user", SubjectID: 1, Version: int64(version),
				User: 1, Held: held, Body: []byte("{}"), Created: now,
			}
			s.write(func(tx *store.Tx) error { return tx.Emit(e) })
			s.write(func(tx *store.Tx) error { tx.ReleaseHeld(s.domain, 1); return nil })
			ids, err := s.db.DeliveriesOf(t.Context(), e, 10)
			if err != nil || len(ids) != len(webhooks) {
				t.Fatalf("deliveries %v, %v", ids, err)
			}
			for n, id := range ids {
				if _, err := s.db.OneWebhookData(t.Context(), s.domain, webhooks[n], id); err != nil {
					t.Errorf("held %t: delivery %d is not of webhook %d: %v", held, id, n, err)
				}
			}
		}
	})
}
