package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/webhook"
)

const fewDeliveries = 1000

// invariantTimeout is far more than the time for one pass over a million payments or deliveries. It
// is far less than the time for comparing each row with every other row.
const invariantTimeout = time.Minute

func manyDeliveries(t *testing.T) (deliveries int, long bool) {
	t.Helper()
	return inALongRun(t, "PASSERELLE_TEST_DELIVERIES", 5*fewDeliveries)
}

// deliverMany creates deliveries of one event: half of them are delivered and a quarter is dropped.
// It also creates as many requests: half for the first delivery, and one for each delivery with an
// odd number.
var deliverMany = []string{
	`INSERT INTO delivery (id, domain_id, webhook_id, event_id, subject, subject_id, version, created, attempts, delivered, dropped)
		SELECT i, CAST($3 AS BIGINT), CAST($4 AS BIGINT), 1, 'payment', i, 1, i * 1000000, 1, CASE WHEN i % 2 = 0 THEN i * 1000000 ELSE NULL END, CASE WHEN i % 4 = 1 THEN i ELSE NULL END FROM n`,
	`INSERT INTO delivery_attempt (id, domain_id, webhook_id, delivery_id, at, duration, status, failure, signed, signature)
		SELECT i, CAST($3 AS BIGINT), CAST($4 AS BIGINT), CASE WHEN i % 2 = 0 THEN CAST($5 AS BIGINT) ELSE i END, i * 1000000, 1000, 500, 'status 500', 'POST./.', 'x' FROM n`,
}

// crowded creates a webhook with n deliveries, and as many requests.
func (s fixture) crowded(from, n int) store.Webhook {
	s.t.Helper()
	w := store.Webhook{Domain: s.domain, Event: webhook.PaymentStateUpdated, URL: "https://shop.example/", Created: now}
	s.write(func(tx *store.Tx) error { return tx.CreateWebhook(&w) })
	const step = 50_000
	for first := from + 1; first <= from+n; first += step {
		s.write(func(tx *store.Tx) error {
			for i, text := range deliverMany {
				args := []any{first, min(first+step-1, from+n), int64(s.domain), int64(w.ID), from + 1}
				tx.Unit().Exec(numbers+text, args[:4+i]...)
			}
			return nil
		})
	}
	return w
}

// TestMillionDeliveries reads an operator's pages about a webhook with a thousand deliveries and
// about a webhook with many.
func TestMillionDeliveries(t *testing.T) {
	onEachOwnDatabase(t, func(t *testing.T, s fixture) {
		n, long := manyDeliveries(t)
		s.write(func(tx *store.Tx) error {
			tx.Unit().Exec(`INSERT INTO event (id, domain_id, name, subject, subject_id, version, body, created) VALUES (1, $1, 'PAYMENT_STATE_UPDATED', 'payment', 1, 1, $2, 1)`, int64(s.domain), []byte(`{}`))
			return nil
		})
		few, many := s.crowded(0, fewDeliveries), s.crowded(fewDeliveries, n)
		if err := s.sql(`ANALYZE`); err != nil {
			t.Fatal(err)
		}
		t.Run("invariants", s.checkInvariants)
		for name, list := range deliveryLists(s) {
			t.Run(name, func(t *testing.T) {
				measure{3, pageTimeout}.hold(t, long, list.page(t, few, 1), list.page(t, many, fewDeliveries+1))
			})
		}
	})
}

func (s fixture) checkInvariants(t *testing.T) {
	slow, cancel := context.WithTimeout(t.Context(), invariantTimeout)
	defer cancel()
	if _, err := s.db.CheckInvariants(slow, s.domain, now); err != nil {
		t.Error(err)
	}
}

type deliveryList func(w store.Webhook, first int) (rows int, err error)

func deliveryLists(s fixture) map[string]deliveryList {
	data := func(state store.WebhookState, deep bool) deliveryList {
		return func(w store.Webhook, first int) (int, error) {
			filter := store.WebhookDataFilter{Domain: s.domain, Webhook: w.ID, State: state}
			window := store.Window{Limit: pageOfList}
			if deep {
				place := int64(first + fewDeliveries/2)
				window.From = []any{place * 1_000_000, place}
			}
			rows, err := s.db.WebhookData(s.t.Context(), filter, window)
			return len(rows), err
		}
	}
	log := func(deep bool) deliveryList {
		return func(w store.Webhook, first int) (int, error) {
			window := store.Window{Limit: pageOfList}
			if deep {
				place := int64(first + fewDeliveries/2)
				window.From = []any{place * 1_000_000, place}
			}
			rows, err := s.db.WebhookLogs(s.t.Context(), store.WebhookLogFilter{Domain: s.domain, Webhook: w.ID}, window)
			return len(rows), err
		}
	}
	return map[string]deliveryList{
		"all": data("", false), "all, deep": data("", true), "delivered": data(store.WebhookDelivered, false), "pending": data(store.WebhookPending, false),
		"pending, deep": data(store.WebhookPending, true), "given up": data(store.WebhookDropped, false),
		"requests": func(_ store.Webhook, first int) (int, error) {
			rows, err := s.db.AttemptsOf(s.t.Context(), s.domain, passerelle.DeliveryID(first), store.Window{Limit: pageOfList})
			return len(rows), err
		},
		"requests, deep": func(_ store.Webhook, first int) (int, error) {
			place := int64(first + fewDeliveries/2)
			rows, err := s.db.AttemptsOf(s.t.Context(), s.domain, passerelle.DeliveryID(first), store.Window{Limit: pageOfList, From: []any{place * 1_000_000, place}})
			return len(rows), err
		},
		"last requests": func(_ store.Webhook, first int) (int, error) {
			var ids []passerelle.DeliveryID
			for i := range pageOfList {
				ids = append(ids, passerelle.DeliveryID(first+2*i))
			}
			rows, err := s.db.LastAttempts(s.t.Context(), s.domain, ids)
			return len(rows), err
		},
		"log": log(false), "log, deep": log(true),
		"undelivered": func(w store.Webhook, _ int) (int, error) {
			counted, err := s.db.Pending(s.t.Context(), s.domain, pageOfList, w.ID)
			return int(counted[w.ID]), err
		},
	}
}

func (list deliveryList) page(t *testing.T, w store.Webhook, first int) func() {
	return func() {
		t.Helper()
		if rows, err := list(w, first); err != nil || rows != pageOfList {
			t.Fatalf("%d rows, %v", rows, err)
		}
	}
}

// TestBacklogsAreReadInTheirOrder reads a page of a long backlog. The backlog has three deliveries
// of each payment for each of eight webhooks. PostgreSQL must use the index that contains the
// backlog in order, whether its statistics are newer or older than the backlog.
func TestBacklogsAreReadInTheirOrder(t *testing.T) {
	s := newFixture(t, storetest.EmptyPostgres(t))
	var w store.Webhook
	for range 8 {
		w = s.crowded(0, 0)
	}
	s.write(func(tx *store.Tx) error {
		tx.Unit().Exec(`INSERT INTO event (id, domain_id, name, subject, subject_id, version, body, created) VALUES (1, $1, 'PAYMENT_STATE_UPDATED', 'payment', 1, 1, $2, 1)`, int64(s.domain), []byte(`{}`))
		tx.Unit().Exec(numbers+`INSERT INTO delivery (id, domain_id, webhook_id, event_id, subject, subject_id, version, created)
			SELECT i, CAST($3 AS BIGINT), CAST($4 AS BIGINT) - i % 8, 1, 'payment', i / 24, i % 24 / 8, i FROM n`, 1, 10*fewDeliveries, int64(s.domain), int64(w.ID))
		tx.Unit().Exec(`UPDATE delivery SET delivered = created`)
		return nil
	})
	for _, statement := range []string{`ANALYZE`, `UPDATE delivery SET delivered = NULL`} {
		if err := s.sql(statement); err != nil {
			t.Fatal(err)
		}
	}
	for _, statistics := range []string{"old", "new"} {
		engine := explain(s)
		page, err := s.db.NewDeliveries(t.Context(), w, 0, pageOfList)
		s.db.Database.Observe(nil)
		if err != nil || len(page) != pageOfList {
			t.Fatalf("%d deliveries, %v", len(page), err)
		}
		if plan := strings.Join(engine.plans, "\n"); strings.Contains(plan, "Sort") || !strings.Contains(plan, "delivery_waiting") {
			t.Errorf("with %s statistics:\n%s", statistics, plan)
		}
		if err := s.sql(`ANALYZE`); err != nil {
			t.Fatal(err)
		}
	}
}
