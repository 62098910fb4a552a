package store

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/store/storetest"
	"passerelle/webhook"
)

// fewDeliveries is how many the lists are compared with.
const fewDeliveries = 1000

// invariantPatience is far more than it takes to look at a million deliveries, a
// quarter of which wait, and far less than to look at each of them for each.
const invariantPatience = time.Minute

// manyDeliveries is how many the lists are read from: PASSERELLE_TEST_DELIVERIES in
// a long run, when times are compared as well.
func manyDeliveries(t *testing.T) (deliveries int, timed bool) {
	t.Helper()
	return inALongRun(t, "PASSERELLE_TEST_DELIVERIES", 5*fewDeliveries)
}

// deliverMany makes deliveries of one event: every second is delivered, a quarter
// given up; and as many requests for the first of them.
var deliverMany = []string{
	`INSERT INTO delivery (id, domain_id, webhook_id, event_id, subject, subject_id, version, created, attempts, delivered, dropped)
		SELECT i, CAST($3 AS BIGINT), CAST($4 AS BIGINT), 1, 'payment', i, 1, i * 1000000, 1, CASE WHEN i % 2 = 0 THEN i * 1000000 ELSE NULL END, CASE WHEN i % 4 = 1 THEN i ELSE NULL END FROM n`,
	`INSERT INTO delivery_attempt (id, domain_id, webhook_id, delivery_id, at, duration, status, failure, signed, signature)
		SELECT i, CAST($3 AS BIGINT), CAST($4 AS BIGINT), CAST($5 AS BIGINT), i * 1000000, 1000, 500, 'status 500', 'POST./.', 'x' FROM n`,
}

// crowded is a webhook with so many deliveries, the first of which has the number
// after from and as many requests.
func (s site) crowded(from, n int) Webhook {
	s.t.Helper()
	w := Webhook{Domain: s.domain, Event: webhook.PaymentStateUpdated, URL: "https://shop.example/", Created: now}
	s.write(func(tx *Tx) error { return tx.CreateWebhook(&w) })
	const step = 50_000
	for first := from + 1; first <= from+n; first += step {
		s.write(func(tx *Tx) error {
			for i, text := range deliverMany {
				args := []any{first, min(first+step-1, from+n), int64(s.domain), int64(w.ID), from + 1}
				tx.exec(numbers+text, args[:4+i]...)
			}
			return nil
		})
	}
	return w
}

// TestMillionDeliveries reads the pages on which operators look at a webhook, over
// a thousand deliveries and over many: in a long run the latter take no more than
// three times as long.
func TestMillionDeliveries(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		n, timed := manyDeliveries(t)
		s.write(func(tx *Tx) error {
			tx.exec(`INSERT INTO event (id, domain_id, name, subject, subject_id, version, body, created) VALUES (1, $1, 'PAYMENT_STATE_UPDATED', 'payment', 1, 1, $2, 1)`, int64(s.domain), []byte(`{}`))
			return nil
		})
		few, many := s.crowded(0, fewDeliveries), s.crowded(fewDeliveries, n)
		if err := s.sql(`ANALYZE`); err != nil {
			t.Fatal(err)
		}
		t.Run("invariants", func(t *testing.T) {
			patient, cancel := context.WithTimeout(t.Context(), invariantPatience)
			defer cancel()
			if _, err := s.db.CheckInvariants(patient, s.domain, now); err != nil {
				t.Error(err)
			}
		})
		for name, list := range deliveryLists(s) {
			t.Run(name, func(t *testing.T) {
				ratio := s.compareLists(t, list, few, many)
				for range 2 {
					if ratio > 3 { // or somebody else was busy
						ratio = s.compareLists(t, list, few, many)
					}
				}
				t.Logf("over %d it takes %.2f times as long as over %d", n, ratio, fewDeliveries)
				if timed && ratio > 3 {
					t.Errorf("over %d it takes %.2f times as long as over %d", n, ratio, fewDeliveries)
				}
			})
		}
	})
}

// deliveryList reads a page about a webhook, and says how many rows it had.
type deliveryList func(w Webhook, first int) (rows int, err error)

func deliveryLists(s site) map[string]deliveryList {
	data := func(state WebhookState, deep bool) deliveryList {
		return func(w Webhook, first int) (int, error) {
			filter := WebhookDataFilter{Domain: s.domain, Webhook: w.ID, State: state}
			window := Window{Limit: pageOfList}
			if deep {
				place := int64(first + fewDeliveries/2)
				window.From = []any{place * 1_000_000, place}
			}
			rows, err := s.db.WebhookData(s.t.Context(), filter, window)
			return len(rows), err
		}
	}
	return map[string]deliveryList{
		"all": data("", false), "all, deep": data("", true), "delivered": data(WebhookDelivered, false), "pending": data(WebhookPending, false),
		"pending, deep": data(WebhookPending, true), "given up": data(WebhookDropped, false),
		"requests": func(_ Webhook, first int) (int, error) {
			rows, err := s.db.AttemptsOf(s.t.Context(), s.domain, passerelle.DeliveryID(first), Window{Limit: pageOfList})
			return len(rows), err
		},
		"requests, deep": func(_ Webhook, first int) (int, error) {
			place := int64(first + fewDeliveries/2)
			rows, err := s.db.AttemptsOf(s.t.Context(), s.domain, passerelle.DeliveryID(first), Window{Limit: pageOfList, From: []any{place * 1_000_000, place}})
			return len(rows), err
		},
		"undelivered": func(w Webhook, _ int) (int, error) {
			counted, err := s.db.Pending(s.t.Context(), s.domain, pageOfList, w.ID)
			return int(counted[w.ID]), err
		},
	}
}

// compareLists is the median of nine pairs.
func (s site) compareLists(t *testing.T, list deliveryList, few, many Webhook) float64 {
	t.Helper()
	took := func(w Webhook, first int) time.Duration {
		start := time.Now()
		rows, err := list(w, first)
		if err != nil || rows != pageOfList {
			t.Fatalf("%d rows, %v", rows, err)
		}
		return time.Since(start)
	}
	var ratios []float64
	for range 9 {
		a, b := took(few, 1), took(many, fewDeliveries+1)
		ratios = append(ratios, float64(b)/float64(a))
	}
	slices.Sort(ratios)
	return ratios[4]
}

// TestBacklogsAreReadInTheirOrder reads a page of much that waits, three deliveries
// of each payment for each of eight webhooks: by the index that has it in order,
// whether the statistics know of it or are from a time when little waited.
func TestBacklogsAreReadInTheirOrder(t *testing.T) {
	s := newSite(t, storetest.Postgres(t))
	var w Webhook
	for range 8 {
		w = s.crowded(0, 0)
	}
	s.write(func(tx *Tx) error {
		tx.exec(`INSERT INTO event (id, domain_id, name, subject, subject_id, version, body, created) VALUES (1, $1, 'PAYMENT_STATE_UPDATED', 'payment', 1, 1, $2, 1)`, int64(s.domain), []byte(`{}`))
		tx.exec(numbers+`INSERT INTO delivery (id, domain_id, webhook_id, event_id, subject, subject_id, version, created)
			SELECT i, CAST($3 AS BIGINT), CAST($4 AS BIGINT) - i % 8, 1, 'payment', i / 24, i % 24 / 8, i FROM n`, 1, 10*fewDeliveries, int64(s.domain), int64(w.ID))
		tx.exec(`UPDATE delivery SET delivered = created`)
		return nil
	})
	for _, statement := range []string{`ANALYZE`, `UPDATE delivery SET delivered = NULL`} {
		if err := s.sql(statement); err != nil {
			t.Fatal(err)
		}
	}
	for _, statistics := range []string{"old", "new"} {
		plain := s.db.engine
		engine := &explained{engine: plain}
		s.db.engine = engine
		page, err := s.db.NewDeliveries(t.Context(), w, 0, pageOfList)
		s.db.engine = plain
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
