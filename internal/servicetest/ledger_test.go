package servicetest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle/internal/store/storetest"
)

const (
	stateUpdated = "PAYMENT_STATE_UPDATED"
	synced       = "CONNECTION_SYNCED"
)

const (
	tortureClients   = 6
	tortureEndpoints = 6
)

// ledger compares the endpoints' requests with the stored data.
type ledger struct {
	t      *testing.T
	d      *driver
	people people
	// The keys of the next two maps are ids of webhooks.
	endpoints map[int64]*endpoint
	events    map[int64]string
	stored    *storetest.Inspection
}

func newLedger(t *testing.T, d *driver, r *receiver, endpoints int) *ledger {
	t.Helper()
	l := &ledger{t: t, d: d, people: people{driver: d}, endpoints: map[int64]*endpoint{}, events: map[int64]string{}}
	for n := range endpoints {
		l.add(stateUpdated, r.endpoint(fmt.Sprint("/payments/", n)))
	}
	return l
}

func (l *ledger) add(event string, e *endpoint) {
	webhook := l.d.subscribe(event, e)
	l.endpoints[webhook], l.events[webhook] = e, event
}

func (l *ledger) behave(choices ...manner) {
	for _, e := range l.endpoints {
		e.behave(choices...)
	}
}

const undelivered = `SELECT count(*) FROM delivery WHERE delivered IS NULL`

// settle gives each webhook request more time, because a busy machine may need seconds to send a
// large event.
func (l *ledger) settle() {
	l.t.Helper()
	l.d.call("POST", "/config", l.d.config, map[string]any{"webhooks.timeout_seconds": "60"})
	l.stored = storetest.Inspect(l.t, l.d.process.Database()) // this connects only now, because a kill of the database would end an earlier connection
	started := time.Now()
	for left := int64(1); left > 0 && time.Since(started) < waitLimit; <-time.After(100 * time.Millisecond) {
		l.d.call("POST", "/sandbox/run", l.d.config, map[string]any{})
		l.d.call("POST", "/sandbox/clock", l.d.config, map[string]any{"advance": "2m"})
		left = l.stored.Count(undelivered)
	}
	l.t.Logf("settled in %v", time.Since(started).Round(time.Millisecond))
}

func (l *ledger) check() {
	l.t.Helper()
	happened := map[string]int{}
	for _, event := range l.stored.Events() {
		happened[event.Name]++
	}
	if changes := l.stored.Count(`SELECT count(*) FROM payment_transition WHERE seq > 0`); changes == 0 || int64(happened[stateUpdated]) != changes {
		l.t.Errorf("%d changes of payments, %d events", changes, happened[stateUpdated])
	}
	sent := map[int64][]storetest.Delivery{}
	for _, delivery := range l.stored.Deliveries() {
		if !delivery.Delivered || delivery.Dropped {
			l.t.Errorf("delivery %d of version %d of %s %d is not delivered", delivery.ID, delivery.Version, delivery.Subject, delivery.SubjectID)
		}
		sent[delivery.Webhook] = append(sent[delivery.Webhook], delivery)
	}
	for webhook, e := range l.endpoints {
		if n := happened[l.events[webhook]]; len(sent[webhook]) != n {
			l.t.Errorf("webhook %d: %d events, %d deliveries", webhook, n, len(sent[webhook]))
		}
		l.compare(webhook, sent[webhook], e.account())
	}
	l.t.Logf("%d payments, events %v to %d webhooks, accepted again: %d, requests: %d", len(l.d.paid()), happened, len(l.endpoints), l.again(), l.requests())
}

func (l *ledger) compare(webhook int64, sent []storetest.Delivery, a account) {
	l.t.Helper()
	byID, want := map[int64]storetest.Delivery{}, map[int64]bool{}
	for _, delivery := range sent {
		byID[delivery.ID], want[delivery.ID] = delivery, true
	}
	got := map[int64]bool{}
	for _, id := range a.accepted {
		got[id] = true
	}
	if !maps.Equal(got, want) {
		l.t.Errorf("webhook %d: %d deliveries are stored, %d were accepted, and they are not the same", webhook, len(want), len(got))
	}
	if len(a.differing) > 0 {
		l.t.Errorf("webhook %d: repeats of %v had other bodies", webhook, a.differing)
	}
	l.compareOrder(webhook, byID, a)
	if l.events[webhook] == stateUpdated {
		l.compareStates(webhook, byID, a)
	}
}

// subject identifies the deliveries that must arrive in order.
type subject struct {
	kind string
	id   int64
}

// compareOrder does not compare the long bodies of connections, which the database stores in parts.
func (l *ledger) compareOrder(webhook int64, byID map[int64]storetest.Delivery, a account) {
	l.t.Helper()
	last := map[subject]int64{}
	for n, id := range a.accepted {
		delivery := byID[id]
		body := decoded(a.bodies[id])
		delete(body, "id_webhook_data")
		about := subject{delivery.Subject, delivery.SubjectID}
		inParts := about.kind == "connection" && about.id < firstEventConnection
		if !inParts && !reflect.DeepEqual(body, decoded(delivery.Body)) {
			l.t.Errorf("webhook %d: the body of %d is not the event's", webhook, id)
		}
		if delivery.Version <= last[about] {
			l.t.Errorf("webhook %d: acceptance %d is of version %d of %v, after %d", webhook, n, delivery.Version, about, last[about])
		}
		last[about] = delivery.Version
	}
}

func (l *ledger) compareStates(webhook int64, byID map[int64]storetest.Delivery, a account) {
	l.t.Helper()
	states := map[int64][]string{}
	for _, id := range a.accepted {
		about := byID[id].SubjectID
		states[about] = append(states[about], fmt.Sprint(decoded(a.bodies[id])["state"]))
	}
	for id := range l.d.paid() {
		if want := []string{"validating", "pending", "done"}; !slices.Equal(states[id], want) {
			l.t.Errorf("webhook %d: payment %d was told as %v, want %v", webhook, id, states[id], want)
		}
	}
}

func (l *ledger) checkDelivered(ids map[int64]bool) {
	l.t.Helper()
	for _, e := range l.endpoints {
		for _, id := range e.account().accepted {
			delete(ids, id)
		}
	}
	if len(ids) > 0 {
		l.t.Errorf("a client was told of the deliveries %v, which nobody got", slices.Collect(maps.Keys(ids)))
	}
}

func decoded(body string) (fields map[string]any) {
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.UseNumber()
	_ = decoder.Decode(&fields)
	return fields
}

func (l *ledger) again() (n int) {
	for _, e := range l.endpoints {
		n += e.account().again
	}
	return n
}

func (l *ledger) requests() (n int) {
	for _, e := range l.endpoints {
		n += e.count()
	}
	return n
}
