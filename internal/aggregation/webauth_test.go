package aggregation_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/connector/sandbox/customers"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

var landing = aggregation.Landing{RedirectURI: "https://app.example/back", State: "opaque"}

func (h *fixture) begin(w aggregation.Webauth) (string, error) {
	h.t.Helper()
	_, address, err := h.BeginWebauth(h.t.Context(), h.domain, h.user.ID, w)
	return address, err
}

// visiting begins a connection to the test connector, and leaves it waiting for the user's return
// from the bank. It returns the connection and the state parameter for this return.
func (h *fixture) visiting(l aggregation.Landing) (bankstore.Connection, string) {
	h.t.Helper()
	page, err := h.begin(aggregation.Webauth{Connector: sandbox.TestConnector, Landing: l})
	must(h.t, err)
	if !strings.HasPrefix(page, "https://d.example/sandbox/bank/access-") {
		h.t.Fatalf("the person is sent to %s", page)
	}
	list, err := bankstore.From(h.DB).Connections(h.t.Context(), h.domain.ID, h.user.ID, store.Window{Limit: 1000})
	must(h.t, err)
	c := list[len(list)-1]
	return c, h.wayBack(c.ID)
}

func (h *fixture) wayBack(id passerelle.ConnectionID) string {
	h.t.Helper()
	back, err := bankstore.From(h.DB).ConnectionReturn(h.t.Context(), h.domain.ID, id)
	must(h.t, err)
	return bankstore.FormatReturn(id, back.Nonce)
}

func (h *fixture) closed(id passerelle.ConnectionID) {
	h.t.Helper()
	if back, err := bankstore.From(h.DB).ConnectionReturn(h.t.Context(), h.domain.ID, id); !errors.Is(err, store.ErrNotFound) {
		h.t.Errorf("somebody is expected at connection %d: %+v, %v", id, back, err)
	}
}

func (h *fixture) returns(state string, callback url.Values) (aggregation.Arrival, error) {
	h.t.Helper()
	return h.Return(h.t.Context(), h.domain, state, callback, left(true))
}

func left(did bool) func(passerelle.ConnectionID) bool {
	return func(passerelle.ConnectionID) bool { return did }
}

// granted returns the query for a customer who has agreed.
func (h *fixture) granted(c bankstore.Connection, login string) url.Values {
	return url.Values{"code": {h.bank.AccessCode(h.domain.ID, c.ID)}, "login": {login}}
}

// TestWebauthTells checks that the read after the return emits the events of a new connection.
func TestWebauthTells(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c, state := h.visiting(landing)
		if got := names(h.events()); got != "CONNECTION_SYNCED" || c.State != passerelle.WebauthRequired || c.Established != nil {
			t.Fatalf("events %s, connection %+v", got, c)
		}
		if _, err := h.Return(t.Context(), h.domain, state, h.granted(c, "one"), left(false)); !errors.Is(err, passerelle.Forbidden) || len(h.events()) != 0 {
			t.Errorf("in another browser: %v", err)
		}
		arrival, err := h.returns(state, h.granted(c, "one"))
		must(t, err)
		if want := "https://app.example/back?id_connection=1&state=opaque"; arrival.URL != want || arrival.State != "" {
			t.Errorf("arrives at %+v, want %s", arrival, want)
		}
		want := "ACCOUNT_FOUND ACCOUNTS_FETCHED SUBSCRIPTION_FOUND SUBSCRIPTION_FOUND CONNECTION_SYNCED CONNECTION_CERTIFICATE_AVAILABLE"
		if got := names(h.events()); got != want {
			t.Errorf("events %s, want %s", got, want)
		}
		h.closed(c.ID)
		_, err = h.begin(aggregation.Webauth{Connection: c.ID, Landing: landing})
		var refused *passerelle.Error
		if !errors.As(err, &refused) || refused.Kind != passerelle.Conflict || refused.Code != "invalidValue" || len(h.events()) != 0 {
			t.Errorf("again: %v", err)
		}
	})
}

// TestWebauthOnce checks that a state parameter works only once, and that an invalid one emits no
// event.
func TestWebauthOnce(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c, state := h.visiting(landing)
		other := h.domain
		other.Name, other.BaseURL = "other", "https://other.example/2.0"
		must(t, h.DB.Write(t.Context(), func(tx *store.Tx) error { return tx.CreateDomain(&other, "other.example") }))
		h.events()
		if _, err := h.Return(t.Context(), other, state, h.granted(c, "one"), left(true)); !errors.Is(err, passerelle.NotFound) {
			t.Errorf("in another domain: %v", err)
		}
		arrival, err := h.returns(state, url.Values{"error": {"access_denied"}})
		must(t, err)
		if want := "https://app.example/back?error=access_denied&error_description=Access+was+refused.&id_connection=1&state=opaque"; arrival.URL != want {
			t.Errorf("arrives at %s, want %s", arrival.URL, want)
		}
		if got := names(h.events()); got != "CONNECTION_SYNCED" {
			t.Errorf("events %s", got)
		}
		next := h.wayBack(c.ID)
		if next == state {
			t.Error("the state that was used leads back again")
		}
		for _, used := range []string{state, "", "1.", "1.zz", next + "00", "01" + next[1:]} {
			if _, err := h.returns(used, h.granted(c, "one")); !errors.Is(err, passerelle.NotFound) || len(h.events()) != 0 {
				t.Errorf("%q: %v", used, err)
			}
		}
		// After a refusal, the user can still return from the bank to the client.
		if arrival, err = h.returns(next, h.granted(c, "one")); err != nil || arrival.URL != "https://app.example/back?id_connection=1&state=opaque" {
			t.Errorf("after all: %+v, %v", arrival, err)
		}
	})
}

// TestWebauthWhileItIsRead checks that a state parameter stays valid during a concurrent read. A
// read before the return must keep the return address.
func TestWebauthWhileItIsRead(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c, state := h.visiting(landing)
		must(t, h.DB.Write(t.Context(), func(tx *store.Tx) error {
			bankstore.In(tx).LeaseConnection(h.domain.ID, c.ID, "somebody", time.Minute)
			return nil
		}))
		if _, err := h.returns(state, h.granted(c, "one")); !errors.Is(err, passerelle.Conflict) {
			t.Errorf("while it is read: %v", err)
		}
		must(t, h.DB.Write(t.Context(), func(tx *store.Tx) error {
			bankstore.In(tx).ReleaseConnection(h.domain.ID, c.ID, "somebody", false)
			return nil
		}))
		_, err := h.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{})
		must(t, err)
		if arrival, err := h.returns(state, h.granted(c, "one")); err != nil || arrival.State != "" || !strings.HasPrefix(arrival.URL, landing.RedirectURI) {
			t.Errorf("afterwards: %+v, %v", arrival, err)
		}
	})
}

// TestWebauthAgain checks that a customer is sent to the bank's page when the bank needs the
// customer again. Without a waiting client, Return must return no address.
func TestWebauthAgain(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c, state := h.visiting(aggregation.Landing{})
		arrival, err := h.returns(state, h.granted(c, "sca"))
		must(t, err)
		if arrival.URL != "" || arrival.State != "" {
			t.Errorf("arrives at %+v", arrival)
		}
		h.now = h.now.Add(30 * time.Hour)
		if h.sync() != 1 {
			t.Fatal("nothing was read")
		}
		c, err = h.Connection(t.Context(), h.domain, h.user.ID, c.ID)
		must(t, err)
		if c.State != passerelle.WebauthRequired || c.NextTry != nil {
			t.Fatalf("a day later: %+v", c)
		}
		h.events()
		page, err := h.begin(aggregation.Webauth{Connection: c.ID, Landing: landing})
		must(t, err)
		arrival, err = h.returns(h.wayBack(c.ID), h.granted(c, "sca"))
		must(t, err)
		if !strings.Contains(page, "access-") || arrival.State != "" || arrival.URL == "" {
			t.Errorf("sent to %s, arrives at %+v", page, arrival)
		}
		if got := names(h.events()); got != "CONNECTION_SYNCED ACCOUNTS_FETCHED CONNECTION_SYNCED" {
			t.Errorf("events %s", got)
		}
	})
}

// TestWebauthRefusals checks that requests that cannot lead to a page are refused and emit no
// event.
func TestWebauthRefusals(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		direct, err := h.connect("one", "1234")
		must(t, err)
		h.events()
		for field, w := range map[string]aggregation.Webauth{
			"connector_uuid": {Connector: customers.ProviderConnector}, "connector_uuid: names no connector": {Connector: "nobody"}, "connector_uuid: Sandbox Restricted": {Connector: customers.RestrictedConnector},
			"source": {Connector: sandbox.TestConnector, Source: "directaccess"}, "website": {Connector: sandbox.TestConnector, Values: map[string]string{"website": "x"}},
			"id_connection": {Connection: direct.ID},
		} {
			if _, err := h.begin(w); err == nil || !strings.HasPrefix(err.Error(), "invalidValue: "+field) {
				t.Errorf("%s: %v", field, err)
			}
		}
		if _, err := h.begin(aggregation.Webauth{Connection: 99}); !errors.Is(err, passerelle.NotFound) {
			t.Errorf("a connection that is not there: %v", err)
		}
		for _, w := range []aggregation.Webauth{{}, {Connector: "x", Connection: 1}, {Connector: "x", Landing: aggregation.Landing{State: strings.Repeat("x", 2001)}}} {
			if err := w.Check(); !errors.Is(err, passerelle.Invalid) {
				t.Errorf("%+v: %v", w, err)
			}
		}
		if got := len(h.events()); got != 0 {
			t.Errorf("%d events", got)
		}
	})
}

// TestWebauthEnds checks that a connection accepts no return after the deletion of the connection
// or its user.
func TestWebauthEnds(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		first, state := h.visiting(landing)
		second, another := h.visiting(landing)
		must(t, h.Disconnect(t.Context(), h.domain, h.user.ID, first.ID))
		h.closed(first.ID)
		must(t, h.DeleteUser(t.Context(), h.domain, h.user.ID))
		h.closed(second.ID)
		for _, gone := range []string{state, another} {
			if _, err := h.returns(gone, nil); !errors.Is(err, passerelle.NotFound) {
				t.Errorf("%s: %v", gone, err)
			}
		}
	})
}

// TestWebauthAfterACrash checks that a user can go to the page of an institution after a crash has
// interrupted a read in the background.
func TestWebauthAfterACrash(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c, _ := h.visiting(landing)
		_, err := h.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{Background: true, Active: new(false)})
		must(t, err)
		if _, err := h.begin(aggregation.Webauth{Connection: c.ID, Landing: landing}); err == nil {
			t.Error("a page is shown while the connection is read")
		}
		storetest.Break(t, h.url, `UPDATE connection SET lease_until = 1`) // the process is gone, and its lease is over
		if page, err := h.begin(aggregation.Webauth{Connection: c.ID, Landing: landing}); err != nil || page == "" {
			t.Errorf("after a crash: %q (%v)", page, err)
		}
	})
}
