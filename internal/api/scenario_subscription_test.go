package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector/sandbox/customers"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// subscriber connects a domain's user to the simulated provider. The user shares one of two
// subscriptions, and the service reads it.
func (s *fixture) subscriber(t testing.TB, domainName string) map[string]string {
	t.Helper()
	s.token(t, domainName, "user", 0)
	who := s.domainOf(domainName)
	if who.subscribed[who.user] != nil {
		return who.subscribed[who.user]
	}
	c := s.subscribe(t, who, who.user)
	all := s.subscribed(t, who, c)
	share := aggregation.SubscriptionChange{Disabled: new(false), Origin: "api"}
	must(t, s.Aggregation.ChangeSubscriptions(t.Context(), who.domain, who.user, []passerelle.SubscriptionID{all[0].ID}, share))
	_, err := s.Aggregation.RunDue(t.Context(), who.domain)
	must(t, err)
	s.fetched(t, who.domain) // no file may arrive later, while a test compares the stored data
	documents, err := bankstore.From(s.DB).Documents(t.Context(), bankstore.DocumentFilter{Domain: who.domain.ID, User: who.user, Connection: c}, store.Window{Limit: 1})
	if err != nil || len(documents) != 1 {
		t.Fatalf("%d documents: %v", len(documents), err)
	}
	if who.subscribed == nil {
		who.subscribed = map[passerelle.UserID]map[string]string{}
	}
	who.subscribed[who.user] = map[string]string{
		"subscribing": fmt.Sprint(c), "subscription": fmt.Sprint(all[0].ID), "withheld": fmt.Sprint(all[1].ID), "document": fmt.Sprint(documents[0].ID),
	}
	return who.subscribed[who.user]
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *fixture) subscribe(t testing.TB, who *testDomain, user passerelle.UserID) passerelle.ConnectionID {
	t.Helper()
	c, err := s.Aggregation.Connect(t.Context(), who.domain, user, aggregation.Request{
		Connector: customers.ProviderConnector, Values: map[string]string{"login": "anna", "password": "1234"},
	})
	must(t, err)
	return c.ID
}

func (s *fixture) subscribed(t testing.TB, who *testDomain, c passerelle.ConnectionID) []bankstore.StoredSubscription {
	t.Helper()
	all, err := bankstore.From(s.DB).Subscriptions(t.Context(), bankstore.SubscriptionFilter{Domain: who.domain.ID, User: who.user, Connection: c, All: true}, store.Window{Limit: 1000})
	if err != nil || len(all) < 2 {
		t.Fatalf("%d subscriptions: %v", len(all), err)
	}
	return all
}

// The last scenarios run without background reads, to separate the effects of sharing from the
// effects of reading.
func TestSubscriptionScenarios(t *testing.T) {
	by := func(method, path, body string) ask {
		return ask{method: method, path: path, token: "user", body: body}
	}
	get := func(path string) ask { return by("GET", path, "") }
	consent := map[string]int64{"consent": 1}
	still := `?x={subscription}&y={withheld}`
	play(t, "subscriptions", []scenario{
		{name: "list", status: 200, ask: get("/users/me/subscriptions" + still)},
		{name: "list all", status: 200, ask: get("/subscriptions" + still + "&all")},
		{name: "list a page", status: 200, ask: get("/users/{user}/subscriptions?all&limit=1&x={withheld}")},
		{name: "change all without a value", status: 200, ask: ask{method: "PUT", path: "/subscriptions", token: "user", body: `{}`}},
		{name: "change all of another user", status: 404, ask: ask{method: "PUT", path: "/users/" + noID + "/subscriptions?all", token: "user", body: `{"disabled":true}`}},
		{name: "list with connections", status: 200, ask: get("/subscriptions?all&expand=connection,nothing&x={withheld}")},
		{name: "list of a connection", status: 200, ask: get("/users/me/connections/{subscribing}/subscriptions?all")},
		{name: "list of a connection, in short", status: 200, ask: get("/connections/{subscribing}/subscriptions")},
		{name: "list of no connection", status: 404, ask: get("/users/me/connections/" + noID + "/subscriptions")},
		{name: "list of another domain's connection", status: 404, ask: get("/connections/{other:subscribing}/subscriptions")},
		{name: "list of another user", status: 404, ask: get("/users/" + noID + "/subscriptions")},
		{name: "list a limit of zero", status: 400, ask: get("/subscriptions?limit=0")},

		{name: "read", status: 200, ask: get("/users/me/subscriptions/{subscription}")},
		{name: "read in short", status: 200, ask: get("/subscriptions/{subscription}?expand=connection")},
		{name: "read of a connection", status: 200, ask: get("/users/{user}/connections/{subscribing}/subscriptions/{subscription}")},
		{name: "read of another connection", status: 404, ask: get("/connections/" + noID + "/subscriptions/{subscription}")},
		{name: "read what is disabled", status: 404, ask: get("/users/me/subscriptions/{withheld}")},
		{name: "read what is disabled, with all", status: 200, ask: get("/users/me/subscriptions/{withheld}?all")},
		{name: "read none", status: 404, ask: get("/subscriptions/" + noID + "?all")},
		{name: "read another domain's", status: 404, ask: get("/subscriptions/{other:subscription}?all")},
		{name: "read with a users token", status: 403, ask: ask{method: "GET", path: "/subscriptions/{subscription}", token: "users"}},
		{name: "read without token", status: 401, ask: ask{method: "GET", path: "/subscriptions/1"}},

		{name: "hold the background", status: 200, rows: map[string]int64{"setting": 1, "setting_change": 1}, ask: ask{method: "POST", path: "/config?search=autosync.enabled", token: "config", body: `{"autosync.enabled":"0"}`}},
		{name: "share what is disabled, without all", status: 404, ask: by("POST", "/users/me/subscriptions/{withheld}", `{"disabled":false}`)},
		{name: "change nothing", status: 200, ask: by("POST", "/users/me/subscriptions/{withheld}?all", `{}`)},
		{name: "share by null", status: 200, ask: by("POST", "/users/me/subscriptions/{withheld}?all", `{"disabled":null}`)},
		{name: "share by a word", status: 400, ask: by("POST", "/users/me/subscriptions/{withheld}?all", `{"disabled":"no"}`)},
		{name: "share", status: 200, rows: consent, ask: by("POST", "/users/me/subscriptions/{withheld}?all", `{"disabled":false}`)},
		{name: "share again", status: 200, ask: by("PUT", "/subscriptions/{withheld}", `{"disabled":false}`)},
		{name: "share both again, in a form", status: 200, ask: ask{method: "PUT", path: "/subscriptions/{subscription},{withheld}?all&expand=connection", token: "user", contentType: "application/x-www-form-urlencoded", body: "disabled=0"}},
		{name: "share one that does not exist", status: 404, ask: by("PUT", "/subscriptions/{subscription},"+noID+"?all", `{"disabled":true}`)},
		{name: "share another domain's", status: 404, ask: by("PUT", "/subscriptions/{other:subscription}?all", `{"disabled":true}`)},
	})
}

type noticed struct {
	ID           int64 `json:"id"`
	IDUser       int64 `json:"id_user"`
	IDConnection int64 `json:"id_connection"`
	Disabled     *string
	Documents    []struct {
		ID             int64       `json:"id"`
		IDSubscription int64       `json:"id_subscription"`
		TotalAmount    json.Number `json:"total_amount"`
	}
}

func (s *fixture) noticed(t *testing.T, name string) []noticed {
	t.Helper()
	var all []noticed
	for _, r := range s.Received(name) {
		var one noticed
		must(t, json.Unmarshal([]byte(r.Body), &one))
		if !strings.HasPrefix(r.SignatureCheck, "valid") {
			t.Errorf("%s: signature %s", name, r.SignatureCheck)
		}
		all = append(all, one)
	}
	s.do(t, ask{method: "DELETE", path: "/sandbox/receiver", token: "config"}).says(t, 204, "", "")
	return all
}

// The service reads a found subscription only after the user shares it. The subscription loses its
// documents when the user stops sharing it.
func TestSubscriptionIsReadOnceItIsShared(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.Subscribe("SUBSCRIPTION_FOUND", "found")
		s.Subscribe("SUBSCRIPTION_SYNCED", "synced")
		who := s.domainOf("")
		s.token(t, "", "user", 0)
		before := s.record()
		connection := s.subscribe(t, who, who.user)
		s.runDue(t)
		before = s.happened(t, before, "SUBSCRIPTION_FOUND connection 1", "SUBSCRIPTION_FOUND connection 2", "CONNECTION_SYNCED connection 3")
		all := s.subscribed(t, who, connection)
		for i, one := range s.noticed(t, "found") {
			if want := (noticed{ID: int64(all[i].ID), IDUser: int64(who.user), IDConnection: int64(connection)}); !cmp.Equal(want, one) {
				t.Errorf("found %+v, want %+v", one, want)
			}
		}
		path := fmt.Sprintf("/users/me/subscriptions/%d", all[0].ID)
		s.do(t, ask{method: "POST", path: path + "?all", token: "user", body: `{"disabled":false}`}).says(t, 200, "", "")
		s.runDue(t)
		before = s.happened(t, before, "SUBSCRIPTION_SYNCED connection 4", "CONNECTION_SYNCED connection 5")
		s.readOnce(t, all[0])
		s.advance(t, "24h")
		before = s.happened(t, before, "SUBSCRIPTION_SYNCED connection 6", "CONNECTION_SYNCED connection 7")
		if got := s.noticed(t, "synced"); len(got) != 1 || len(got[0].Documents) != 0 {
			t.Errorf("on a day without changes, the event contains %+v", got)
		}
		s.do(t, ask{method: "PUT", path: path, token: "user", body: `{"disabled":true}`}).says(t, 200, "", "")
		s.runDue(t)
		s.happened(t, before)
		s.withdrawn(t, who, all[0])
	})
}

func (s *fixture) runDue(t *testing.T) {
	t.Helper()
	s.do(t, ask{method: "POST", path: "/sandbox/run", token: "config"}).says(t, 200, "", "")
}

func (s *fixture) advance(t *testing.T, by string) {
	t.Helper()
	s.do(t, ask{method: "POST", path: "/sandbox/clock", token: "config", body: `{"advance":"` + by + `"}`}).says(t, 200, "", "")
}

func (s *fixture) happened(t *testing.T, before record, want ...string) record {
	t.Helper()
	after := s.record()
	_, events := before.since(after)
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	return after
}

func (s *fixture) readOnce(t *testing.T, shared bankstore.StoredSubscription) {
	t.Helper()
	reported := s.noticed(t, "synced")
	stored := s.eyes.Count(fmt.Sprintf("SELECT count(*) FROM document WHERE subscription_id = %d", shared.ID))
	if len(reported) != 1 || reported[0].ID != int64(shared.ID) || reported[0].Disabled != nil || int64(len(reported[0].Documents)) != stored || stored < 12 {
		t.Fatalf("told %+v of %d documents", reported, stored)
	}
	for _, d := range reported[0].Documents {
		if d.IDSubscription != int64(shared.ID) || d.TotalAmount != "84.60" {
			t.Errorf("document %+v", d)
		}
	}
}

func (s *fixture) withdrawn(t *testing.T, who *testDomain, one bankstore.StoredSubscription) {
	t.Helper()
	consents, err := bankstore.From(s.DB).Consents(t.Context(), bankstore.ConsentFilter{Domain: who.domain.ID, User: who.user}, store.Window{Limit: 10})
	if err != nil || len(consents) != 1 || consents[0].Subscription != one.ID || consents[0].Withdrawn == nil || consents[0].Origin != "api" || consents[0].TextVersion != aggregation.ConsentVersion {
		t.Errorf("consents %+v (%v)", consents, err)
	}
	must(t, s.Aggregation.EraseWithdrawn(t.Context()))
	if left := s.eyes.Count("SELECT count(*) FROM document") + s.eyes.Count("SELECT count(*) FROM withdrawal"); left != 0 {
		t.Errorf("%d rows are left", left)
	}
	path := fmt.Sprintf("/subscriptions/%d", one.ID)
	s.do(t, ask{method: "GET", path: path, token: "user"}).says(t, 404, "notFound", "")
	s.do(t, ask{method: "PUT", path: path, token: "user", body: `{"disabled":false}`}).says(t, 404, "notFound", "")
}

// While a connection is locked, a change of several of its subscriptions changes nothing.
func TestSubscriptionsOfALockedConnection(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		who := s.domainOf("")
		s.token(t, "", "user", 0)
		c := s.subscribe(t, who, who.user)
		all := s.subscribed(t, who, c)
		lease := func(tx *store.Tx) error {
			bankstore.In(tx).LeaseConnection(who.domain.ID, c, "another", time.Hour)
			return nil
		}
		s.write(t, lease)
		both := ask{method: "PUT", path: fmt.Sprintf("/subscriptions/%d,%d?all", all[0].ID, all[1].ID), token: "user", body: `{"disabled":false}`}
		before := s.record()
		s.do(t, both).says(t, 409, "connectionLocked", "")
		s.untouched(t, before)
		s.write(t, func(tx *store.Tx) error {
			bankstore.In(tx).ReleaseConnection(who.domain.ID, c, "another", false)
			return nil
		})
		var out struct {
			Subscriptions []struct{ Disabled *string }
			Total         int
		}
		s.do(t, both).decode(t, &out)
		if out.Total != 2 || len(out.Subscriptions) != 2 || out.Subscriptions[0].Disabled != nil || out.Subscriptions[1].Disabled != nil {
			t.Errorf("shared both: %+v", out)
		}
	})
}

// A connector that requires a website refuses a connection without one.
func TestConnectorThatRequiresAWebsite(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.token(t, "", "user", 0)
		connect := func(more string) ask {
			return ask{method: "POST", path: "/users/me/connections", token: "user", body: `{"connector_uuid":"` + customers.WebsiteConnector + `","login":"anna","password":"1234"` + more + `}`}
		}
		s.do(t, connect("")).says(t, 400, "missingParameter", "website: is required: Site")
		s.do(t, connect(`,"website":"elsewhere"`)).says(t, 400, "invalidValue", "website: must be one of the values listed for Site")
		s.do(t, connect(`,"website":"pro"`)).says(t, 200, "", "")
	})
}
