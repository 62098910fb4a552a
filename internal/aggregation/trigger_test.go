package aggregation_test

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/cfonb"
	"passerelle/internal/aggregation"
	"passerelle/internal/keys"
	"passerelle/internal/settings"
	"passerelle/internal/simulation"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/webhook"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// bench is a sandbox domain with one webhook for each event.
type bench struct {
	*aggregation.Aggregation
	t      *testing.T
	domain passerelle.Domain
	woken  atomic.Int64
	hooks  map[string]passerelle.WebhookID
}

func onBench(t *testing.T, run func(t *testing.T, b *bench)) {
	storetest.Each(t, func(t *testing.T, url string) {
		db, err := store.Open(t.Context(), url, store.Options{Keys: keys.Generate()})
		must(t, err)
		t.Cleanup(func() { db.Close() })
		must(t, db.Database.Migrate(t.Context()))
		b := &bench{t: t, domain: passerelle.Domain{Name: "d", Kind: passerelle.Sandbox, BaseURL: "https://d.example/2.0", Created: noon}, hooks: map[string]passerelle.WebhookID{}}
		b.Aggregation = &aggregation.Aggregation{DB: db, Now: func() time.Time { return noon }, Wake: func() { b.woken.Add(1) }, Erase: func() {}}
		must(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.CreateDomain(&b.domain, "d.example") }))
		for _, entry := range webhook.Events() {
			w := store.Webhook{Domain: b.domain.ID, Event: entry.Event, URL: "https://receiver.example", Created: noon}
			must(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.CreateWebhook(&w) }))
			b.hooks[string(entry.Event)] = w.ID
		}
		run(t, b)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) simulation() *simulation.Simulation {
	return &simulation.Simulation{DB: b.DB, Aggregation: b.Aggregation, Now: func() time.Time { return b.Now() }}
}

func (b *bench) user(permanent bool) passerelle.User {
	b.t.Helper()
	u, err := b.CreateUser(b.t.Context(), b.domain, permanent, func(*store.Tx, passerelle.User) error { return nil })
	must(b.t, err)
	return u
}

// changes returns the deliveries that a webhook would get now, with their bodies. Each is the first
// undelivered delivery of its subject.
func (b *bench) changes(event string) (all []store.Delivery, bodies []string) {
	b.t.Helper()
	w, err := b.DB.Webhook(b.t.Context(), b.domain.ID, b.hooks[event])
	must(b.t, err)
	all, err = b.DB.Undelivered(b.t.Context(), w, 0, 100)
	must(b.t, err)
	for _, d := range all {
		body, err := io.ReadAll(b.DB.Body(b.t.Context(), b.domain.ID, d))
		must(b.t, err)
		bodies = append(bodies, string(body))
	}
	return all, bodies
}

func TestEveryEventIsTriggered(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		for _, entry := range webhook.Events() {
			name := string(entry.Event)
			if entry.Subject == webhook.SubjectPayment || name == "USER_CREATED" || name == "USER_DELETED" {
				continue
			}
			woken := b.woken.Load()
			out, err := b.simulation().Trigger(t.Context(), b.domain, simulation.TestEvent{Event: name})
			must(t, err)
			all, bodies := b.changes(name)
			if len(all) != 1 || bodies[0] != string(webhook.Sample(entry.Event)) || b.woken.Load() != woken+1 {
				t.Errorf("%s: %d deliveries, %q", name, len(all), bodies)
			}
			subject := map[webhook.Subject]int64{webhook.SubjectUser: webhook.SampleUser, webhook.SubjectConnection: webhook.SampleConnection}[entry.Subject]
			want := simulation.Triggered{Event: entry, SubjectID: subject, Deliveries: []passerelle.DeliveryID{all[0].ID}}
			if diff := cmp.Diff(want, out); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	})
}

func TestTriggersAreRefused(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		for name, test := range map[string]struct {
			simulation.TestEvent
			field, says string
		}{
			"no event":        {simulation.TestEvent{}, "event", "must be one of USER_SYNCED, CONNECTION_SYNCED"},
			"unknown":         {simulation.TestEvent{Event: "connection_synced"}, "event", "must be one of"},
			"payments":        {simulation.TestEvent{Event: "PAYMENT_STATE_UPDATED"}, "event", "/simulate"},
			"users created":   {simulation.TestEvent{Event: "USER_CREATED"}, "event", "/auth/init"},
			"users deleted":   {simulation.TestEvent{Event: "USER_DELETED"}, "event", "DELETE /users"},
			"user of nowhere": {simulation.TestEvent{Event: "ACCOUNT_FOUND", User: 99}, "id_user", "no user"},
		} {
			_, err := b.simulation().Trigger(t.Context(), b.domain, test.TestEvent)
			var refusal *passerelle.Error
			if !errors.As(err, &refusal) || refusal.Kind != passerelle.Invalid || refusal.Field != test.field || !strings.Contains(refusal.Message, test.says) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for event := range b.hooks {
			if all, _ := b.changes(event); len(all) > 0 {
				t.Errorf("%s: %d deliveries", event, len(all))
			}
		}
		if b.woken.Load() != 0 {
			t.Error("the sender was woken for nothing")
		}
	})
}

// TestTriggeredEventsKeepTheirOrder checks that events about one connection are sent one after the
// other.
func TestTriggeredEventsKeepTheirOrder(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		for _, data := range []string{`{"n":1}`, `{"n":2}`} {
			for _, connection := range []passerelle.ConnectionID{7, 8} {
				_, err := b.simulation().Trigger(t.Context(), b.domain, simulation.TestEvent{Event: "CONNECTION_SYNCED", Connection: connection, Data: []byte(data)})
				must(t, err)
			}
		}
		if _, bodies := b.changes("CONNECTION_SYNCED"); !cmp.Equal(bodies, []string{`{"n":1}`, `{"n":1}`}) {
			t.Errorf("at the heads are %q", bodies)
		}
	})
}

// TestTriggerOfAUser checks that the event of a temporary user has no delivery until the user is
// permanent.
func TestTriggerOfAUser(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		permanent, temporary := b.user(true), b.user(false)
		out, err := b.simulation().Trigger(t.Context(), b.domain, simulation.TestEvent{Event: "USER_SYNCED", User: permanent.ID, Connection: 9})
		must(t, err)
		all, bodies := b.changes("USER_SYNCED")
		if out.Held || out.SubjectID != int64(permanent.ID) || len(all) != 1 || bodies[0] != string(webhook.SampleOf(webhook.UserSynced, int64(permanent.ID), 9)) {
			t.Errorf("%+v, %q", out, bodies)
		}
		out, err = b.simulation().Trigger(t.Context(), b.domain, simulation.TestEvent{Event: "ACCOUNT_ENABLED", User: temporary.ID})
		must(t, err)
		if all, _ := b.changes("ACCOUNT_ENABLED"); !out.Held || len(out.Deliveries) != 0 || len(all) != 0 {
			t.Errorf("%+v", out)
		}
		_, err = b.KeepUser(t.Context(), b.domain, temporary.ID, func(*store.Tx, passerelle.User) error { return nil })
		must(t, err)
		if all, _ := b.changes("ACCOUNT_ENABLED"); len(all) != 1 {
			t.Errorf("%d deliveries once the user stays", len(all))
		}
	})
}

// TestAUserBecomesPermanentWhileAnEventIsTriggered makes a user permanent during the trigger. The
// user's earlier events are then already released, so the new event must get its delivery at once.
func TestAUserBecomesPermanentWhileAnEventIsTriggered(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		temporary, checks := b.user(false), 0
		b.Now = func() time.Time {
			if checks++; checks == 2 { // the user and its expiry have just been read
				_, err := b.KeepUser(t.Context(), b.domain, temporary.ID, func(*store.Tx, passerelle.User) error { return nil })
				must(t, err)
			}
			return noon
		}
		out, err := b.simulation().Trigger(t.Context(), b.domain, simulation.TestEvent{Event: "ACCOUNT_ENABLED", User: temporary.ID})
		must(t, err)
		if all, _ := b.changes("ACCOUNT_ENABLED"); out.Held || len(out.Deliveries) != 1 || len(all) != 1 || checks < 3 {
			t.Errorf("%+v, %d deliveries to send", out, len(all))
		}
	})
}

func TestLargeDataArrives(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		data := []byte(`{"text":"` + strings.Repeat("é", 1<<20) + `"}`)
		_, err := b.simulation().Trigger(t.Context(), b.domain, simulation.TestEvent{Event: "ACCOUNT_SYNCED", Data: data})
		must(t, err)
		all, bodies := b.changes("ACCOUNT_SYNCED")
		if len(all) != 1 || bodies[0] != string(data) || len(all[0].Body) == len(data) {
			t.Errorf("%d deliveries", len(all))
		}
	})
}

func TestStatements(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		must(t, settings.Set(t.Context(), b.DB, b.domain.ID, map[string]string{settings.CFONB: "1"}, noon))
		for event, accounts := range map[string]int{"ACCOUNT_FOUND": 0, "CONNECTION_SYNCED": 1, "USER_SYNCED": 1} {
			_, err := b.simulation().Trigger(t.Context(), b.domain, simulation.TestEvent{Event: event})
			must(t, err)
			all, bodies := b.changes(event)
			if len(all) != 1 || all[0].MediaType != "text/plain; charset=us-ascii" || all[0].Omitted != 1 {
				t.Fatalf("%s: %+v", event, all)
			}
			for _, err := range cfonb.Parse(strings.NewReader(bodies[0])) {
				must(t, err)
				accounts--
			}
			if accounts != 0 {
				t.Errorf("%s: %q", event, bodies[0])
			}
		}
		_, err := b.simulation().Trigger(t.Context(), b.domain, simulation.TestEvent{Event: "ACCOUNTS_FETCHED"})
		must(t, err)
		if all, bodies := b.changes("ACCOUNTS_FETCHED"); all[0].MediaType != store.JSON || !strings.HasPrefix(bodies[0], "{") {
			t.Errorf("another event is sent as %s", all[0].MediaType)
		}
		_, err = b.simulation().Trigger(t.Context(), b.domain, simulation.TestEvent{Event: "CONNECTION_SYNCED", Data: []byte(`{"connection":{"accounts":3}}`)})
		if !errors.Is(err, passerelle.Invalid) {
			t.Errorf("data that cannot be stated: %v", err)
		}
	})
}
