package aggregation_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	_ "passerelle/internal/store/storetest/migrated"
	"passerelle/webhook"
)

// fixture is a sandbox domain with the simulated institutions, a user, a webhook for each event,
// and a clock that a test moves.
type fixture struct {
	*aggregation.Aggregation
	t      *testing.T
	url    string
	domain passerelle.Domain
	user   passerelle.User
	now    time.Time
	hooks  []store.Webhook
	bank   *sandbox.Bank
	// waiting contains background work that has not run yet.
	waiting []func(context.Context)
	// lastEvent contains, for each webhook, the last delivery that the method events has returned.
	lastEvent map[passerelle.WebhookID]passerelle.DeliveryID
}

func onEachFixture(t *testing.T, run func(t *testing.T, h *fixture)) {
	storetest.Each(t, func(t *testing.T, url string) {
		db, err := store.Open(t.Context(), url, store.Options{Keys: keys.Generate()})
		must(t, err)
		t.Cleanup(func() { db.Close() })
		must(t, db.Database.Migrate(t.Context()))
		ring := keys.Generate()
		log := slog.New(slog.NewTextHandler(io.Discard, nil))
		bank := &sandbox.Bank{Ledger: store.SandboxLedger{DB: db}, Base: func(passerelle.DomainID) string { return "https://d.example" }, MAC: ring.MAC, Log: log}
		registry, err := connector.NewRegistry(bank.Connectors()...)
		must(t, err)
		h := &fixture{t: t, url: url, now: noon, domain: passerelle.Domain{Name: "d", Kind: passerelle.Sandbox, BaseURL: "https://d.example/2.0", Created: noon}, lastEvent: map[passerelle.WebhookID]passerelle.DeliveryID{}}
		h.bank = bank
		h.Aggregation = &aggregation.Aggregation{
			DB: db, Connectors: registry, Now: func() time.Time { return h.now }, Wake: func() {}, Erase: func() {}, Sync: func() {}, Fetch: func(string) {}, Background: h.later, Name: "test", Log: log,
		}
		must(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.CreateDomain(&h.domain, "d.example") }))
		for _, entry := range webhook.Events() {
			w := store.Webhook{Domain: h.domain.ID, Event: entry.Event, URL: "https://receiver.example", Created: noon}
			must(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.CreateWebhook(&w) }))
			h.hooks = append(h.hooks, w)
		}
		h.user, err = h.CreateUser(t.Context(), h.domain, true, func(*store.Tx, passerelle.User) error { return nil })
		must(t, err)
		h.events()
		run(t, h)
	})
}

// later accepts at most two pieces of background work.
func (h *fixture) later(_ string, work func(context.Context)) bool {
	if len(h.waiting) == 2 {
		return false
	}
	h.waiting = append(h.waiting, work)
	return true
}

type event struct {
	name string
	body map[string]any
	id   passerelle.DeliveryID
}

// events returns the deliveries since the last call, in the order of their creation.
func (h *fixture) events() (all []event) {
	h.t.Helper()
	for _, w := range h.hooks {
		page, err := h.DB.WebhookData(h.t.Context(), store.WebhookDataFilter{Domain: h.domain.ID, Webhook: w.ID}, store.Window{Limit: 1000})
		must(h.t, err)
		last := h.lastEvent[w.ID]
		for _, d := range page {
			if d.ID > last {
				all = append(all, h.takeEvents(w, d.ID))
			}
			h.lastEvent[w.ID] = max(h.lastEvent[w.ID], d.ID)
		}
	}
	slices.SortFunc(all, func(a, b event) int { return int(a.id - b.id) })
	return all
}

func (h *fixture) takeEvents(w store.Webhook, id passerelle.DeliveryID) event {
	h.t.Helper()
	d, err := h.DB.OneDelivery(h.t.Context(), w, id)
	must(h.t, err)
	body, err := io.ReadAll(h.DB.Body(h.t.Context(), h.domain.ID, d))
	must(h.t, err)
	e := event{name: string(w.Event), id: id}
	must(h.t, json.Unmarshal(body, &e.body))
	return e
}

func names(events []event) string {
	var list []string
	for _, e := range events {
		list = append(list, e.name)
	}
	return strings.Join(list, " ")
}

func (h *fixture) connect(login, password string) (bankstore.Connection, error) {
	h.t.Helper()
	return h.Connect(h.t.Context(), h.domain, h.user.ID, aggregation.Request{
		Connector: sandbox.TestConnector, Source: "directaccess", Values: map[string]string{"login": login, "password": password},
	})
}

func (h *fixture) accounts(all bool) []bankstore.StoredAccount {
	h.t.Helper()
	list, err := bankstore.From(h.DB).BankAccounts(h.t.Context(), bankstore.AccountFilter{Domain: h.domain.ID, User: h.user.ID, All: all}, store.Window{Limit: 1000})
	must(h.t, err)
	return list
}

func (h *fixture) transactions() int64 {
	h.t.Helper()
	n, err := bankstore.From(h.DB).CountTransactions(h.t.Context(), bankstore.TransactionFilter{Domain: h.domain.ID, User: h.user.ID})
	must(h.t, err)
	return n
}

func (h *fixture) share(a bankstore.StoredAccount, yes bool) bankstore.StoredAccount {
	h.t.Helper()
	disabled := !yes
	changed, err := h.ChangeAccounts(h.t.Context(), h.domain, h.user.ID, []passerelle.AccountID{a.ID}, aggregation.AccountChange{Disabled: &disabled, Origin: "api"})
	must(h.t, err)
	return changed[0]
}

func (h *fixture) sync() int {
	h.t.Helper()
	n, err := h.SyncDue(h.t.Context(), h.domain)
	must(h.t, err)
	return n
}

// TestConsentComesFirst checks that a discovered account is disabled until the user shares it. It
// must then be read completely.
func TestConsentComesFirst(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c, err := h.connect("anna", "1234")
		must(t, err)
		if c.State != "" || c.Established == nil || c.NextTry == nil {
			t.Fatalf("connected: %+v", c)
		}
		want := "ACCOUNT_FOUND ACCOUNT_FOUND ACCOUNT_FOUND ACCOUNT_FOUND ACCOUNTS_FETCHED SUBSCRIPTION_FOUND SUBSCRIPTION_FOUND CONNECTION_SYNCED CONNECTION_CERTIFICATE_AVAILABLE"
		if got := names(h.events()); got != want {
			t.Errorf("events %s, want %s", got, want)
		}
		all := h.accounts(true)
		if len(all) != 4 || len(h.accounts(false)) != 0 || h.transactions() != 0 {
			t.Fatalf("%d accounts, %d shown, %d transactions", len(all), len(h.accounts(false)), h.transactions())
		}
		shared := h.share(all[0], true)
		if got := names(h.events()); got != "ACCOUNT_ENABLED" || shared.Disabled != nil || h.sync() != 1 {
			t.Errorf("events %s", got)
		}
		events := h.events()
		if got := names(events); got != "ACCOUNTS_FETCHED ACCOUNT_SYNCED ACCOUNT_CATEGORIZED ACCOUNT_OWNERSHIPS_FOUND CONNECTION_SYNCED" {
			t.Errorf("events of the first read: %s", got)
		}
		n := h.transactions()
		reported := len(events[1].body["transactions"].([]any))
		if n < 500 || int64(reported) != n {
			t.Errorf("%d transactions, %d told of", n, reported)
		}
		h.withheldAgain(all[0], n)
	})
}

func (h *fixture) withheldAgain(a bankstore.StoredAccount, n int64) {
	h.t.Helper()
	h.now = h.now.Add(24 * time.Hour)
	if h.sync() != 1 {
		h.t.Error("the next day nothing was read")
	}
	events := h.events()
	if again := h.transactions(); again < n || again > n+10 {
		h.t.Errorf("%d transactions, a day before %d", again, n)
	}
	if reported := events[1].body["transactions"].([]any); len(reported) > 20 {
		h.t.Errorf("%d transactions are new", len(reported))
	}
	stored := h.share(a, false)
	events = h.events()
	if got := names(events); got != "ACCOUNT_DISABLED" || h.transactions() != 0 || len(h.accounts(false)) != 0 {
		h.t.Fatalf("withheld: events %s, %d transactions", got, h.transactions())
	}
	if reported := events[0].body["covered_from"]; reported != nil || stored.CoveredFrom != (passerelle.Date{}) {
		h.t.Errorf("withheld: covered from %v, stored %v", reported, stored.CoveredFrom)
	}
	consents, err := bankstore.From(h.DB).Consents(h.t.Context(), bankstore.ConsentFilter{Domain: h.domain.ID, User: h.user.ID}, store.Window{Limit: 10})
	if err != nil || len(consents) != 1 || consents[0].Withdrawn == nil || consents[0].Account != a.ID {
		h.t.Errorf("consents %+v (%v)", consents, err)
	}
}

func TestStatesOfConnections(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		for login, want := range map[string]passerelle.ConnectionState{
			"otp": passerelle.AdditionalInformationNeeded, "device": passerelle.AdditionalInformationNeeded, "app": passerelle.Decoupled,
			"action": passerelle.ActionNeeded, "expired": passerelle.PasswordExpired, "limited": passerelle.RateLimiting,
			"down": passerelle.WebsiteUnavailable, "bug": passerelle.Bug, "unsupported": passerelle.NotSupported,
			"nonsense": passerelle.Bug, "none": "", "one": "", "foreign": "", "currencies": "", "repeats": "",
		} {
			c, err := h.connect(login, "1234")
			if err != nil || c.State != want {
				t.Errorf("%s: %q (%v), want %q", login, c.State, err, want)
			}
			if waits := c.State.Resolution() == passerelle.ByPerson; waits && c.NextTry != nil {
				t.Errorf("%s waits for its person and is tried again at %s", login, c.NextTry)
			}
		}
		h.events()
		_, err := h.connect("anna", "wrong")
		var refused *passerelle.Error
		if !errors.As(err, &refused) || refused.Code != "wrongpass" || refused.Kind != passerelle.Invalid {
			t.Errorf("a wrong password: %v", err)
		}
		if got := names(h.events()); strings.Contains(got, "ACCOUNT") {
			t.Errorf("events of a refused connection: %s", got)
		}
	})
}

func TestStepsOfAPerson(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c, err := h.connect("steps", "1234")
		must(t, err)
		for _, move := range []struct {
			give map[string]string
			done bool
			want passerelle.ConnectionState
		}{
			{map[string]string{"device": "fridge"}, false, passerelle.AdditionalInformationNeeded},
			{map[string]string{"device": "phone"}, false, passerelle.AdditionalInformationNeeded},
			{map[string]string{"otp": "000000"}, false, passerelle.AdditionalInformationNeeded},
			{map[string]string{"otp": "123456"}, false, passerelle.Decoupled},
			{nil, true, ""},
		} {
			c, err = h.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{Values: move.give, Resume: move.done})
			if err != nil || c.State != move.want {
				t.Errorf("given %v: %q (%v), want %q", move.give, c.State, err, move.want)
			}
		}
		if len(h.accounts(true)) != 4 {
			t.Errorf("%d accounts", len(h.accounts(true)))
		}
	})
}

// TestValuesThatNobodyAskedFor checks that the connector gets only answers to the questions of its
// last read. Other values, such as a query parameter of a proxy, do not count as answers or as new
// credentials.
func TestValuesThatNobodyAskedFor(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		var got []map[string]string
		ends := connector.Outcome{State: passerelle.AdditionalInformationNeeded, Fields: []connector.Field{{Name: "otp", Type: "text", Label: "Code"}}}
		s.read = func(_ context.Context, r connector.DataRequest, _ connector.Sink) (connector.Outcome, error) {
			got = append(got, r.Answers)
			return ends, nil
		}
		resume := func(name, value string) error {
			_, err := h.Resume(t.Context(), h.domain, h.user.ID, id, aggregation.Request{Values: map[string]string{name: value, "foo": "1"}})
			return err
		}
		must(t, resume("otp", "1")) // not yet asked
		must(t, resume("otp", "2"))
		ends = connector.Outcome{State: passerelle.Wrongpass}
		must(t, resume("bar", "3"))
		must(t, resume("bar", "4"))
		var refused *passerelle.Error
		if err := resume("password", "5"); !errors.As(err, &refused) || refused.Code != "wrongpass" {
			t.Errorf("new credentials: %v", err)
		}
		if want := []map[string]string{{}, {"otp": "2"}, {}, {}, {}}; !reflect.DeepEqual(got, want) {
			t.Errorf("the connector got %v, want %v", got, want)
		}
	})
}

// TestReadingInTheBackground checks that Resume returns before a read in the background ends. The
// connection must be validating and locked until the read ends.
func TestReadingInTheBackground(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		later := func(id passerelle.ConnectionID) (bankstore.Connection, error) {
			return h.Resume(t.Context(), h.domain, h.user.ID, id, aggregation.Request{Background: true, Values: map[string]string{"otp": "123456"}})
		}
		var ids []passerelle.ConnectionID
		for range 3 {
			c, err := h.connect("otp", "1234")
			must(t, err)
			ids = append(ids, c.ID)
		}
		h.events()
		for _, id := range ids[:2] {
			c, err := later(id)
			if err != nil || c.State != passerelle.Validating || c.Fields != "" || c.NextTry == nil {
				t.Errorf("%+v (%v)", c, err)
			}
			var locked *passerelle.Error
			if _, err := later(id); !errors.As(err, &locked) || locked.Code != "connectionLocked" {
				t.Errorf("asked again: %v", err)
			}
		}
		if _, err := later(ids[2]); !errors.Is(err, passerelle.Unavailable) {
			t.Errorf("too much: %v", err)
		}
		if got := names(h.events()); got != "" {
			t.Errorf("before anything was read: %s", got)
		}
		for _, work := range h.waiting {
			work(t.Context())
		}
		for i, want := range []passerelle.ConnectionState{"", "", passerelle.AdditionalInformationNeeded} {
			c, err := h.Connection(t.Context(), h.domain, h.user.ID, ids[i])
			if err != nil || c.State != want || c.Locked {
				t.Errorf("in the end: %+v (%v), want %q", c, err, want)
			}
		}
	})
}

// TestConnectingInTheBackground checks that the connection exists immediately, and that refused
// credentials become its state.
func TestConnectingInTheBackground(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		later := func(password string) (bankstore.Connection, error) {
			return h.Connect(t.Context(), h.domain, h.user.ID, aggregation.Request{
				Connector: sandbox.TestConnector, Source: "directaccess", Values: map[string]string{"login": "one", "password": password}, Background: true,
			})
		}
		var ids []passerelle.ConnectionID
		for _, password := range []string{"1234", "0000"} {
			c, err := later(password)
			if err != nil || c.State != passerelle.Validating || c.NextTry == nil || c.Expire == nil {
				t.Errorf("%+v (%v)", c, err)
			}
			ids = append(ids, c.ID)
		}
		if got := names(h.events()); got != "" {
			t.Errorf("before anything was read: %s", got)
		}
		if _, err := later("1234"); !errors.Is(err, passerelle.Unavailable) {
			t.Errorf("too much: %v", err)
		}
		if got := names(h.events()); got != "CONNECTION_DELETED" {
			t.Errorf("of what was too much: %s", got)
		}
		for _, work := range h.waiting {
			work(t.Context())
		}
		for i, want := range []passerelle.ConnectionState{"", passerelle.Wrongpass} {
			c, err := h.Connection(t.Context(), h.domain, h.user.ID, ids[i])
			if err != nil || c.State != want || c.Locked {
				t.Errorf("in the end: %+v (%v), want %q", c, err, want)
			}
		}
		if n, err := bankstore.From(h.DB).CountConnections(t.Context(), h.domain.ID, h.user.ID); n != 2 || err != nil {
			t.Errorf("%d connections are left (%v)", n, err)
		}
	})
}

// TestDisconnectingAllAfterTheUserHasExpired checks that deleting all connections of an expired
// user fails with NotFound.
func TestDisconnectingAllAfterTheUserHasExpired(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		var err error
		h.user, err = h.CreateUser(t.Context(), h.domain, false, func(*store.Tx, passerelle.User) error { return nil })
		must(t, err)
		_, err = h.connect("one", "1234")
		must(t, err)
		h.now = *h.user.Expires
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := h.DisconnectAll(ctx, h.domain, h.user.ID); !errors.Is(err, passerelle.NotFound) {
			t.Error(err)
		}
	})
}

// TestReadsWithoutThePerson checks that a read in the user's absence counts towards the
// institution's daily limit, even when a program requests the read.
func TestReadsWithoutThePerson(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c, err := h.connect("one", "1234")
		must(t, err)
		h.events()
		for i := range 6 {
			c, err = h.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{Absent: true})
			must(t, err)
			want := "ACCOUNTS_FETCHED CONNECTION_SYNCED"
			if i >= 4 {
				want = ""
			}
			if got := names(h.events()); got != want || c.State != "" {
				t.Errorf("read %d: %s, state %q", i, got, c.State)
			}
		}
	})
}
