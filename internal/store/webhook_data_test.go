package store_test

import (
	"slices"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// TestRequestsAreInTheOrderOfTime gives the later of two processes the lower ids, as if this
// process had reserved its ids first. The instants must determine the last requests and their
// order.
func TestRequestsAreInTheOrderOfTime(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		w := store.Webhook{Domain: s.domain, Event: webhook.AccountFound, URL: "https://a.example", Created: now}
		s.write(func(tx *store.Tx) error { return tx.CreateWebhook(&w) })
		s.write(func(tx *store.Tx) error {
			return tx.Emit(store.EmittedEvent{Domain: s.domain, Name: webhook.AccountFound, Subject: "user", SubjectID: 1, User: 1, Body: []byte("{}"), Created: now})
		})
		const requests, last = 14, 10
		s.write(func(tx *store.Tx) error {
			for n := range requests {
				id := int64(1 + (n+requests/2)%requests)
				at := now.Add(time.Duration((n+1)/2) * time.Second) // most instants have two requests
				tx.InsertAttempts(w, id, []store.DeliveryAttempt{{Delivery: 1, At: at, Failure: "no answer"}})
			}
			return nil
		})
		want := []int64{8, 9, 10, 11, 12, 13, 14, 1, 2, 3, 4, 5, 6, 7}
		found, err := s.db.LastAttempts(t.Context(), s.domain, []passerelle.DeliveryID{1})
		if err != nil || !slices.Equal(requestsOf(found[1]), want[requests-last:]) {
			t.Errorf("the last are %v, %v, want %v", requestsOf(found[1]), err, want[requests-last:])
		}
		slices.Reverse(want)
		var got []int64
		for window := (store.Window{Limit: 3}); len(got) < requests; {
			page, err := s.db.AttemptsOf(t.Context(), s.domain, 1, window)
			if err != nil || len(page) == 0 {
				t.Fatalf("after %v: %v", got, err)
			}
			got, window.From = append(got, requestsOf(page)...), page[len(page)-1].Place()
		}
		if !slices.Equal(got, want) {
			t.Errorf("page by page %v, want %v", got, want)
		}
		back, err := s.db.AttemptsOf(t.Context(), s.domain, 1, store.Window{Limit: 2, Backward: true, From: []any{database.Micros(now.Add(time.Second)), int64(9)}})
		if err != nil || !slices.Equal(requestsOf(back), []int64{10, 11}) {
			t.Errorf("backward %v, %v", requestsOf(back), err)
		}
	})
}

func requestsOf(logs []store.WebhookLog) (ids []int64) {
	for _, l := range logs {
		ids = append(ids, l.ID)
	}
	return ids
}

// TestAcceptedDeliveriesAreNotDropped withdraws the data of two deliveries while their results wait
// to be recorded. The delivery that the receiver accepted must count as delivered.
func TestAcceptedDeliveriesAreNotDropped(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		w, withdrawn := s.receiver(webhook.AccountFound), store.HoldingOf("connection", 5, nil)
		s.write(func(tx *store.Tx) error {
			for user := range int64(2) {
				e := store.EmittedEvent{Domain: s.domain, Name: webhook.AccountFound, Subject: "user", SubjectID: user, User: 1, Body: []byte("{}"), Holds: []store.Holding{withdrawn}, Created: now}
				if err := tx.Emit(e); err != nil {
					return err
				}
			}
			tx.LeaseWebhook(w, "test", time.Minute)
			return nil
		})
		s.write(func(tx *store.Tx) error {
			tx.VoidBodiesWith(s.domain, 1, withdrawn, now.Add(time.Hour), 10, func() {})
			return nil
		})
		s.write(func(tx *store.Tx) error {
			return tx.RecordBatches(w.Domain, store.Batch{Webhook: w.ID, Holder: "test", Lease: time.Minute, Now: now, NextFlush: now, Attempts: []store.DeliveryAttempt{
				{Delivery: 1, At: now}, {Delivery: 2, At: now, Failure: "no answer"},
			}})
		})
		if n := s.count(`SELECT count(*) FROM delivery WHERE id = 1 AND delivered IS NOT NULL AND dropped IS NULL AND drop_reason IS NULL`); n != 1 {
			t.Error("the accepted delivery is not delivered")
		}
		if n := s.count(`SELECT count(*) FROM delivery WHERE id = 2 AND delivered IS NULL AND dropped IS NOT NULL AND drop_reason IS NOT NULL`); n != 1 {
			t.Error("the failed delivery is not dropped")
		}
		if breaches, err := s.db.CheckInvariants(t.Context(), s.domain, time.Time{}); err != nil || len(breaches) > 0 {
			t.Errorf("breaches %v, %v", breaches, err)
		}
	})
}

// TestLastAttemptsOfManyDeliveries reads the requests for more deliveries than a page lists. Each
// delivery must have its request.
func TestLastAttemptsOfManyDeliveries(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		const deliveries = 1100
		w := store.Webhook{Domain: s.domain, Event: webhook.AccountFound, URL: "https://a.example", Created: now}
		s.write(func(tx *store.Tx) error { return tx.CreateWebhook(&w) })
		s.write(func(tx *store.Tx) error {
			return tx.Emit(store.EmittedEvent{Domain: s.domain, Name: webhook.AccountFound, Subject: "user", SubjectID: 1, User: 1, Body: []byte("{}"), Created: now})
		})
		s.write(func(tx *store.Tx) error {
			tx.Unit().Exec(numbers+`INSERT INTO delivery (id, domain_id, webhook_id, event_id, subject, subject_id, version, created)
				SELECT i, d.domain_id, d.webhook_id, d.event_id, d.subject, d.subject_id, i, d.created FROM n, delivery d WHERE d.id = 1`, 2, deliveries)
			tx.Unit().Exec(`INSERT INTO delivery_attempt (domain_id, webhook_id, delivery_id, at, duration, failure)
				SELECT domain_id, webhook_id, id, created, 1, 'no answer' FROM delivery`)
			return nil
		})
		ids := make([]passerelle.DeliveryID, deliveries)
		for i := range ids {
			ids[i] = passerelle.DeliveryID(i + 1)
		}
		found, err := s.db.LastAttempts(t.Context(), s.domain, ids)
		if err != nil || len(found) != deliveries {
			t.Errorf("%d deliveries have requests, %v", len(found), err)
		}
	})
}
