package store_test

import (
	"fmt"
	"testing"
	"time"

	"passerelle/internal/store"
	"passerelle/webhook"
)

func (s fixture) receiver(event webhook.Event) store.Webhook {
	s.t.Helper()
	w := store.Webhook{Domain: s.domain, Event: event, URL: "https://client.example/", Created: now}
	s.write(func(tx *store.Tx) error { return tx.CreateWebhook(&w) })
	return w
}

func (s fixture) happen(first, count int, from time.Time) {
	s.t.Helper()
	s.write(func(tx *store.Tx) error {
		for i := range count {
			err := tx.Emit(store.EmittedEvent{
				Domain: s.domain, Name: webhook.PaymentStateUpdated, Subject: "payment", SubjectID: int64(first + i), Version: 1,
				Body: []byte(`{}`), Created: from.Add(time.Duration(i) * time.Minute),
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// deliver records a request for each delivery that Undelivered lists, up to the id in the argument
// upTo.
func (s fixture) deliver(w store.Webhook, upTo int64, failure string) {
	s.t.Helper()
	list, err := s.db.Undelivered(s.t.Context(), w, 0, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	b := store.Batch{Webhook: w.ID, Holder: "test", Lease: time.Minute, Now: now, NextFlush: now}
	for _, d := range list {
		if int64(d.ID) <= upTo {
			b.Attempts = append(b.Attempts, store.DeliveryAttempt{Delivery: d.ID, At: now, Failure: failure})
		}
	}
	s.write(func(tx *store.Tx) error { tx.LeaseWebhook(w, "test", time.Minute); return nil })
	s.write(func(tx *store.Tx) error { return tx.RecordBatches(w.Domain, b) })
	s.write(func(tx *store.Tx) error { tx.ReleaseWebhook(w, "test"); return nil })
}

func (s fixture) purge(events time.Time, batch, batches int) {
	s.t.Helper()
	r := store.Retention{Domain: s.domain, Events: events, Health: events, Batch: batch, Batches: batches}
	if err := s.db.PurgeEvents(s.t.Context(), r); err != nil {
		s.t.Fatal(err)
	}
}

func (s fixture) left() string {
	s.t.Helper()
	count := func(table string) int64 { return s.count(`SELECT count(*) FROM ` + table) }
	return fmt.Sprint(count("event"), " ", count("delivery"), " ", count("delivery_attempt"), " ", count("event_part"), " ", count("webhook_health"))
}

func (s fixture) wantLeft(want string) {
	s.t.Helper()
	if got := s.left(); got != want {
		s.t.Errorf("left are %q events, deliveries, attempts, parts, hours, want %q", got, want)
	}
}

func TestOldEventsGo(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		s.happen(1, 3, now.Add(-time.Hour)) // no webhook receives these
		w, other := s.receiver(webhook.PaymentStateUpdated), s.receiver(webhook.UserCreated)
		s.happen(11, 10, now)
		s.deliver(w, 7, "")
		s.deliver(w, 8, "status 500")
		s.wantLeft("13 10 8 0 1")
		s.purge(now.Add(-2*time.Hour), 3, 100)
		s.wantLeft("13 10 8 0 1")
		s.purge(now.Add(5*time.Minute), 2, 1)
		s.wantLeft("9 8 6 0 1") // one pass with a batch of two: two events without deliveries and two with finished deliveries
		s.purge(now.Add(5*time.Minute), 2, 100)
		s.wantLeft("5 5 0 0 1") // the delivered events of the first five minutes are removed, and all requests
		s.purge(now.Add(24*time.Hour), 2, 100)
		s.wantLeft("3 3 0 0 0") // undelivered events stay, without their old requests
		s.deliver(w, 10, "")
		s.purge(now.Add(24*time.Hour), 100, 100)
		s.wantLeft("0 0 0 0 0")
		if _, err := s.db.Webhook(t.Context(), s.domain, other.ID); err != nil {
			t.Error(err)
		}
	})
}

// TestEventsStayWhileSomebodyWaits checks that an event with deliveries to several webhooks stays
// until the last delivery is removed.
func TestEventsStayWhileSomebodyWaits(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		first, second := s.receiver(webhook.PaymentStateUpdated), s.receiver(webhook.PaymentStateUpdated)
		s.happen(1, 4, now)
		s.deliver(first, 1<<40, "")
		s.purge(now.Add(time.Hour), 3, 100)
		s.wantLeft("4 4 0 0 0")
		s.deliver(second, 1<<40, "")
		s.purge(now.Add(time.Hour), 3, 100)
		s.wantLeft("0 0 0 0 0")
	})
}

// TestManyAttemptsOfOneDelivery checks that attempts are removed in limited steps, and that a
// delivery is removed after its attempts.
func TestManyAttemptsOfOneDelivery(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		w := s.receiver(webhook.PaymentStateUpdated)
		s.happen(1, 1, now)
		for range 30 {
			s.deliver(w, 1<<40, "status 500")
		}
		s.deliver(w, 1<<40, "")
		s.write(func(tx *store.Tx) error {
			tx.Unit().Exec(`UPDATE delivery_attempt SET at = at + 3600000000`)
			return nil
		})
		s.purge(now.Add(time.Minute), 1, 1)
		s.wantLeft("1 1 21 0 1")
		s.purge(now.Add(time.Minute), 1, 100)
		s.wantLeft("0 0 0 0 1")
	})
}

// TestPartsWithoutEventsGo checks that a body whose event was never stored is removed after a day
// of real time.
func TestPartsWithoutEventsGo(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		write := func() *store.EventBody {
			b := s.db.WriteBody(t.Context(), s.domain)
			if _, err := b.Write([]byte(`{"a":"b"}`)); err != nil {
				t.Fatal(err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			return b
		}
		write()
		kept := write()
		s.write(func(tx *store.Tx) error {
			return tx.Emit(store.EmittedEvent{Domain: s.domain, Name: webhook.UserCreated, Subject: "user", SubjectID: 1, Version: 1, Parts: kept, Created: now})
		})
		purge := func() {
			t.Helper()
			if err := s.db.PurgeParts(t.Context(), 1, 100); err != nil {
				t.Fatal(err)
			}
		}
		purge()
		s.wantLeft("1 0 0 2 0")
		s.write(func(tx *store.Tx) error {
			tx.Unit().Exec(`UPDATE event_part SET created = created - 86400000001`)
			return nil
		})
		purge()
		s.wantLeft("1 0 0 1 0")
		write()
		s.write(func(tx *store.Tx) error { tx.Unit().Exec(`UPDATE event_part SET created = 0`); return nil })
		purge() // PurgeParts continues where it stopped, and does not check earlier rows
		s.purge(now.Add(time.Hour), 10, 10)
		s.wantLeft("0 0 0 1 0")
	})
}

// TestPurgeReadsUndeliveredRowsOnce checks that a purge goes past the undelivered rows only once.
func TestPurgeReadsUndeliveredRowsOnce(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		w := s.receiver(webhook.PaymentStateUpdated)
		s.happen(1, 50, now)
		s.deliver(w, 1<<40, "status 500")
		s.purge(now.Add(24*time.Hour), 7, 100)
		s.wantLeft("50 50 0 0 0")
		place, err := s.db.UnsentPlace(t.Context(), s.domain)
		if err != nil {
			t.Fatal(err)
		}
		beyond := s.count(`SELECT count(*) FROM event WHERE (created, id) > ($1, $2)`, place[0], place[1])
		over := s.count(`SELECT count(*) FROM delivery WHERE delivered IS NOT NULL OR dropped IS NOT NULL`)
		if beyond != 0 || over != 0 {
			t.Errorf("%d events and %d deliveries would be looked at again", beyond, over)
		}
		other := store.Retention{Domain: s.other, Events: now.Add(24 * time.Hour), Health: now, Batch: 10, Batches: 10}
		if err := s.db.PurgeEvents(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		s.wantLeft("50 50 0 0 0")
	})
}
