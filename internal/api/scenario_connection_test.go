package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// connecting is a body that creates a connection with one account.
const connecting = `{"connector_uuid":"` + testConnector + `","login":"one","password":"1234"}`

func (s *fixture) connected(t testing.TB, domainName, login string) bankstore.Connection {
	t.Helper()
	s.token(t, domainName, "user", 0)
	who := s.domainOf(domainName)
	c, err := s.Aggregation.Connect(t.Context(), who.domain, who.user, aggregation.Request{
		Connector: testConnector, Values: map[string]string{"login": login, "password": "1234"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// New connections and later syncs add these rows and events.
var (
	aConnection = map[string]int64{"connection": 1, "connection_source": 1, "connection_log": 1, "event": 2}
	aRead       = map[string]int64{"bank_account": 1, "subscription": 2}
	aSync       = map[string]int64{"connection_log": 1}
	discovery   = []string{"ACCOUNT_FOUND", "ACCOUNTS_FETCHED", "SUBSCRIPTION_FOUND", "SUBSCRIPTION_FOUND", "CONNECTION_SYNCED", "CONNECTION_CERTIFICATE_AVAILABLE"}
	another     = []string{"ACCOUNTS_FETCHED", "CONNECTION_SYNCED"}
)

// versions returns the names of a connection's events with consecutive versions.
func versions(from int, names ...string) []string {
	var all []string
	for i, name := range names {
		all = append(all, fmt.Sprint(name, " connection ", from+i))
	}
	return all
}

func TestConnectionScenarios(t *testing.T) {
	by := func(method, path, body string) ask { return ask{method: method, path: path, token: "user", body: body} }
	connect := func(body string) ask { return by("POST", "/connections", body) }
	form := func(a ask) ask { a.contentType = "application/x-www-form-urlencoded"; return a }
	waits := func(login string) ask { return connect(strings.Replace(connecting, "one", login, 1)) }
	read, known := with(aConnection, with(aRead, map[string]int64{"event": 4})), versions(1, discovery...)
	synced := versions(1, "CONNECTION_SYNCED")
	waiting := with(aConnection, map[string]int64{"event": -1})
	again := with(aSync, map[string]int64{"event": 2})
	asked := with(aSync, map[string]int64{"event": 1})
	play(t, "connections", []scenario{
		{name: "list none", status: 200, ask: by("GET", "/users/me/connections", "")},
		{name: "connect", status: 200, rows: read, events: known, ask: connect(connecting)},
		{name: "connect by number, in a form", status: 200, rows: read, events: known, ask: form(connect("id_connector=40&login=one&password=1234&unknown=x"))},
		{name: "connect by the number of a bank", status: 200, rows: read, events: known, ask: connect(`{"id_bank":40,"login":"one","password":"1234"}`)},
		{name: "connect in a query, expanded", status: 200, rows: read, events: known, ask: by("POST", "/users/{user}/connections?id_connector=40&login=one&password=1234&expand=all_accounts,accounts,sources,connector[countries]", "")},
		{name: "connect through a page of the bank", status: 202, rows: with(waiting, map[string]int64{"connection_return": 1}), events: synced, ask: connect(`{"connector_uuid":"` + testConnector + `","source":"openapi"}`)},
		{name: "connect and be asked for a code", status: 202, rows: waiting, events: synced, ask: waits("otp")},
		{name: "connect and be asked for an action", status: 202, rows: waiting, events: synced, ask: waits("action")},
		{name: "connect to a bank that is down", status: 200, rows: waiting, events: synced, ask: waits("down")},
		{name: "connect to a provider", status: 200, rows: with(aConnection, map[string]int64{"subscription": 2, "event": 1}), events: versions(1, "SUBSCRIPTION_FOUND", "SUBSCRIPTION_FOUND", "CONNECTION_SYNCED"), ask: connect(`{"id_provider":64,"login":"one","password":"1234"}`)},
		{name: "connect to nothing", status: 400, ask: connect(`{"login":"one"}`)},
		{name: "connect to a connector that reads nothing", status: 400, ask: connect(strings.Replace(connecting, testConnector, britishConnector, 1))},
		{name: "connect through no source", status: 400, ask: connect(strings.Replace(connecting, "{", `{"source":"fallback",`, 1))},
		{name: "connect without a value", status: 400, ask: connect(strings.Replace(connecting, "login", "Login", 1))},
		{name: "connect with a wrong value", status: 400, ask: connect(strings.Replace(connecting, "{", `{"website":"elsewhere",`, 1))},
		{name: "connect in a live domain", status: 400, ask: ask{domain: "live", method: "POST", path: "/connections", token: "user", body: connecting}},
		{name: "connect another user", status: 404, ask: by("POST", "/users/"+noID+"/connections", connecting)},

		{name: "read", status: 200, ask: by("GET", "/users/me/connections/{connection}", "")},
		{name: "read with everything", status: 200, ask: by("GET", "/connections/{connection}?expand=connector,accounts,all_accounts,sources,unknown", "")},
		{name: "read with subscriptions", status: 200, ask: by("GET", "/connections/{connection}?expand=subscriptions,all_subscriptions,all_accounts[transactions,unknown]", "")},
		{name: "read one that waits", status: 200, ask: by("GET", "/connections/{asking}", "")},
		{name: "read none", status: 404, ask: by("GET", "/connections/"+noID, "")},
		{name: "read another domain's", status: 404, ask: by("GET", "/connections/{other:connection}", "")},

		{name: "read again", status: 200, rows: again, events: versions(7, another...), ask: by("POST", "/connections/{connection}", "")},
		{name: "give a code", status: 200, rows: with(with(aSync, aRead), map[string]int64{"bank_account": 3, "event": 9}), events: versions(2, append([]string{"ACCOUNT_FOUND", "ACCOUNT_FOUND", "ACCOUNT_FOUND"}, discovery...)...), ask: by("POST", "/connections/{asking}", `{"otp":"123456"}`)},
		{name: "give a code in a form", status: 202, rows: asked, events: versions(2, "CONNECTION_SYNCED"), ask: form(by("POST", "/connections/{asking}", "otp=000000&expand=x"))},
		{name: "give a new password", status: 200, rows: again, events: versions(7, another...), ask: by("POST", "/connections/{connection}?expand=sources", `{"password":"1234","active":false}`)},
		{name: "give a wrong password", status: 400, rows: asked, events: versions(7, "CONNECTION_SYNCED"), ask: by("POST", "/connections/{connection}", `{"password":"4321"}`)},
		{name: "give another source", status: 400, ask: by("POST", "/connections/{connection}", `{"source":"openapi"}`)},
		{name: "give something to none", status: 404, ask: by("POST", "/connections/"+noID, `{"otp":"123456"}`)},
		{name: "give something to another domain's", status: 404, ask: by("POST", "/connections/{other:asking}", `{"otp":"123456"}`)},

		{name: "synchronise", status: 200, rows: again, events: versions(7, another...), ask: by("PUT", "/users/me/connections/{connection}", `{}`)},
		{name: "synchronise one that waits", status: 200, rows: asked, events: versions(2, "CONNECTION_SYNCED"), ask: by("PUT", "/connections/{asking}?expand=all_accounts", "")},
		{name: "synchronise one that waits without its person", status: 200, rows: asked, events: versions(2, "CONNECTION_SYNCED"), ask: by("PUT", "/connections/{asking}?psu_requested=false", "")},
		{name: "synchronise with a code", status: 200, rows: with(with(aSync, aRead), map[string]int64{"bank_account": 3, "event": 9}), events: versions(2, append([]string{"ACCOUNT_FOUND", "ACCOUNT_FOUND", "ACCOUNT_FOUND"}, discovery...)...), ask: form(by("PUT", "/connections/{asking}", "otp=123456"))},
		{name: "synchronise with a wrong code", status: 200, rows: asked, events: versions(2, "CONNECTION_SYNCED"), ask: form(by("PUT", "/connections/{asking}", "otp=000000"))},
		{name: "synchronise with a new password", status: 200, rows: again, events: versions(7, another...), ask: form(by("PUT", "/connections/{connection}", "password=1234&active=0"))},
		{name: "synchronise with a wrong password", status: 400, rows: asked, events: versions(7, "CONNECTION_SYNCED"), ask: form(by("PUT", "/connections/{connection}", "password=4321&unknown=x"))},
		{name: "synchronise all of another user", status: 404, ask: by("PUT", "/users/"+noID+"/connections", "")},
		{name: "synchronise none", status: 404, ask: by("PUT", "/connections/"+noID, "")},
		{name: "synchronise another domain's", status: 404, ask: by("PUT", "/connections/{other:connection}", "")},

		{name: "sources", status: 200, ask: by("GET", "/connections/{asking}/sources", "")},
		{name: "sources, strictly", status: 200, ask: ask{method: "GET", path: "/connections/{asking}/sources?all", token: "user", header: map[string]string{"Prefer": "handling=strict"}}},
		{name: "no source", status: 404, ask: by("GET", "/connections/{asking}/sources/"+noID, "")},
		{name: "a source", status: 200, ask: by("GET", "/connections/{channel}", "")},
		{name: "enable a source", status: 200, ask: by("PUT", "/users/me/connections/{channel}", `{"disabled":false}`)},
		{name: "disable the only source", status: 409, ask: by("POST", "/connections/{channel}", `{"disabled":true}`)},
		{name: "sources of none", status: 404, ask: by("GET", "/connections/"+noID+"/sources", "")},
		{name: "sources of another domain's", status: 404, ask: by("GET", "/connections/{other:connection}/sources", "")},
		{name: "logs of none", status: 404, ask: by("GET", "/connections/"+noID+"/logs", "")},
		{name: "logs of another domain's", status: 404, ask: by("GET", "/connections/{other:connection}/logs", "")},
		{name: "delete none", status: 404, ask: by("DELETE", "/connections/"+noID, "")},
		{name: "delete another domain's", status: 404, ask: by("DELETE", "/connections/{other:connection}", "")},
		{name: "delete another user's", status: 404, ask: by("DELETE", "/users/"+noID+"/connections", "")},
	})
}

// One call reads all connections of a user. For several connections, USER_SYNCED reports them
// together.
func TestSynchronisingAllConnections(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.token(t, "", "user", 0)
		sync := func() (states, events []string) {
			t.Helper()
			before := s.record()
			var out struct {
				Connections []struct {
					State    *string
					Accounts []struct{ Transactions []struct{ ID int64 } }
				}
				Total int
			}
			s.do(t, ask{method: "PUT", path: "/users/me/connections?expand=accounts[transactions]", token: "user", body: `{}`}).decode(t, &out)
			for _, one := range out.Connections {
				state := ""
				if one.State != nil {
					state = *one.State
				}
				for _, a := range one.Accounts {
					state += fmt.Sprintf(" %t", len(a.Transactions) > 100)
				}
				states = append(states, state)
			}
			_, events = before.since(s.record())
			slices.Sort(events)
			return states, events
		}
		check := func(states, events []string) {
			t.Helper()
			gotStates, gotEvents := sync()
			if diff := cmp.Diff(states, gotStates) + cmp.Diff(events, gotEvents); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		s.do(t, ask{method: "POST", path: "/config", token: "config", body: `{"autosync.enabled":"0"}`}).says(t, 200, "", "")
		check(nil, nil)
		_, ids := s.discovered(t, "", "one")
		check([]string{""}, versions(7, another...))
		s.connected(t, "", "otp")
		s.do(t, ask{method: "PUT", path: "/accounts/" + ids[0] + "?all", token: "user", body: `{"disabled":false}`}).says(t, 200, "", "")
		user := s.domainOf("").user
		all := append(versions(10, "ACCOUNTS_FETCHED", "ACCOUNT_SYNCED", "ACCOUNT_CATEGORIZED", "ACCOUNT_OWNERSHIPS_FOUND", "CONNECTION_SYNCED"), "CONNECTION_SYNCED connection 2", "USER_SYNCED user 2")
		slices.Sort(all)
		check([]string{" true", "additionalInformationNeeded"}, all)
		s.do(t, ask{method: "PUT", path: "/connections?psu_requested=false", token: "user"}).says(t, 200, "", "")
		if events := s.eyes.EventsOf("user", int64(user)); events[len(events)-1].Name != "USER_SYNCED" {
			t.Errorf("events of the user: %v", events)
		}
	})
}

// The service removes a connection when the first interaction does not finish in time, and emits
// CONNECTION_DELETED. A connection with an earlier successful read stays.
func TestUnfinishedConnectionsAreRemoved(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for _, key := range []string{"", "30"} {
			age := 120 * time.Minute
			if key != "" {
				age = 30 * time.Minute
				s.configure(t, "", map[string]string{"connection.expire": key})
			}
			connect := func(login string) string {
				t.Helper()
				var made struct{ ID int64 }
				s.do(t, ask{method: "POST", path: "/connections", token: "user", body: strings.Replace(connecting, "one", login, 1)}).decode(t, &made)
				return fmt.Sprint("/connections/", made.ID)
			}
			asking, works := connect("otp"), connect("one")
			s.do(t, ask{method: "POST", path: works, token: "user", body: `{"password":"wrong"}`}).says(t, 400, "wrongpass", "")
			there := func(c string, status int) {
				t.Helper()
				if got := s.do(t, ask{method: "GET", path: c, token: "user"}); got.status != status {
					t.Errorf("with %q: %s is answered %d, want %d", key, c, got.status, status)
				}
			}
			s.advance(t, (age - time.Minute).String())
			there(asking, 200)
			before := s.record()
			s.advance(t, "2m")
			there(asking, 404)
			there(works, 200)
			if _, events := before.since(s.record()); !slices.ContainsFunc(events, func(e string) bool { return strings.HasPrefix(e, "CONNECTION_DELETED") }) {
				t.Errorf("with %q: nobody is told: %v", key, events)
			}
			s.do(t, ask{method: "DELETE", path: "/connections", token: "user"}).says(t, 204, "", "")
		}
	})
}

func (s *fixture) eraseWithdrawn(t *testing.T) {
	t.Helper()
	if err := s.Aggregation.EraseWithdrawn(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func below(r record) map[string]int64 {
	kept := map[string]int64{}
	for _, table := range []string{"connection", "connection_source", "connection_log", "bank_account", "subscription", "consent", "withdrawal"} {
		kept[table] = r.rows[table]
	}
	return kept
}

// After refused credentials, only two events are left. A deletion removes a connection and its
// data.
func TestNothingIsLeftOfConnections(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.token(t, "", "user", 0)
		stays := s.connected(t, "", "one")
		before := s.record()
		gone := func(events ...string) {
			t.Helper()
			after := s.record()
			s.eraseWithdrawn(t)
			if _, got := before.since(after); !slices.Equal(got, events) {
				t.Errorf("events %v, want %v", got, events)
			}
			if diff := cmp.Diff(below(before), below(s.record())); diff != "" {
				t.Errorf("rows (-before +after):\n%s", diff)
			}
			before = s.record()
		}
		wrong := strings.Replace(connecting, "1234", "4321", 1)
		s.do(t, ask{method: "POST", path: "/connections", token: "user", body: wrong}).says(t, 400, "wrongpass", "The login or password is wrong.")
		gone(versions(1, "CONNECTION_SYNCED", "CONNECTION_DELETED")...)

		for _, path := range []string{"/connections/%d", "/users/me/connections/%d"} {
			path = fmt.Sprintf(path, s.connected(t, "", "one").ID)
			s.do(t, ask{method: "DELETE", path: path, token: "user"}).says(t, 204, "", "")
			s.do(t, ask{method: "GET", path: path, token: "user"}).says(t, 404, "notFound", "")
			s.do(t, ask{method: "DELETE", path: path, token: "user"}).says(t, 404, "notFound", "")
			gone(versions(1, append(slices.Clone(discovery), "CONNECTION_DELETED")...)...)
		}
		s.connected(t, "", "one")
		s.do(t, ask{method: "DELETE", path: "/connections", token: "user"}).says(t, 204, "", "")
		_, events := before.since(s.record())
		if slices.Sort(events); strings.Count(strings.Join(events, " "), "CONNECTION_DELETED") != 2 {
			t.Errorf("events %v", events)
		}
		s.eraseWithdrawn(t)
		if left := below(s.record()); left["connection"]+left["bank_account"]+left["connection_log"] != 0 {
			t.Errorf("of connection %d and the other is left %v", stays.ID, left)
		}
	})
}

// A parameter that is not a field of the connection is no credential: the answer is the connection in
// the state wrongpass, as without the parameter.
func TestParametersAreNoCredentials(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		var c struct {
			ID    int64
			State string
		}
		s.do(t, ask{method: "POST", path: "/connections", token: "user", body: connecting}).decode(t, &c)
		path := fmt.Sprint("/connections/", c.ID)
		s.do(t, ask{method: "PUT", path: path, token: "user", body: `{"password":"wrong"}`}).says(t, 400, "wrongpass", "")
		for _, query := range []string{"", "?foo=1"} {
			s.do(t, ask{method: "PUT", path: path + query, token: "user"}).says(t, 200, "", "").decode(t, &c)
			if c.State != "wrongpass" {
				t.Errorf("PUT %s%s: the state %q", path, query, c.State)
			}
		}
		s.do(t, ask{method: "PUT", path: path + "?password=1234", token: "user"}).says(t, 200, "", "")
	})
}

// Values that are encrypted with the domain's key work like plain values, for a new connection and
// for later changes. For a new connection, the service decrypts only the values of the connector's
// fields.
func TestEncryptedValuesOfConnections(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		body := func(domainName, password string) string {
			return strings.Replace(connecting, "1234", s.encrypt(t, domainName, password), 1)
		}
		send := func(path, body string) reply {
			return s.do(t, ask{method: "POST", path: path, token: "user", body: body})
		}
		var made struct{ ID int64 }
		send("/connections", body("", "1234")).says(t, 200, "", "").decode(t, &made)
		foreign := body("other", "1234")
		before := s.record()
		send("/connections", foreign).says(t, 400, "invalidValue", "password: is encrypted for a key that does not belong to this domain")
		s.untouched(t, before)
		path := fmt.Sprint("/connections/", made.ID)
		send(path, `{"password":"`+s.encrypt(t, "", "secret-4321")+`"}`).says(t, 400, "wrongpass", "")
		send(path, `{"password":"`+s.encrypt(t, "", "1234")+`"}`).says(t, 200, "", "")
		send("/connections", strings.Replace(connecting, "{", `{"unknown":"`+s.encrypt(t, "other", "x")+`",`, 1)).says(t, 200, "", "")
		var many strings.Builder
		for i := range 101 {
			fmt.Fprintf(&many, `,"v%03d":"%s"`, i, s.encrypt(t, "", "x"))
		}
		send(path, "{"+many.String()[1:]+"}").says(t, 400, "invalidValue", "v100: at most 100 values may be encrypted")
		if strings.Contains(s.Logs.String(), "secret-4321") {
			t.Error("the log has a password")
		}
	})
}

// Other calls cannot change a connection while the service reads it. The service does not store the
// refusal under the idempotency key, so a repetition succeeds later.
func TestLockedConnections(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		c := s.connected(t, "", "otp")
		path := fmt.Sprint("/connections/", c.ID)
		s.write(t, func(tx *store.Tx) error {
			bankstore.In(tx).LeaseConnection(c.Domain, c.ID, "somebody", time.Minute)
			return nil
		})
		before := s.record()
		for _, method := range []string{"POST", "PUT"} {
			s.do(t, ask{method: method, path: path, token: "user", body: `{"otp":"123456"}`}).says(t, 409, "connectionLocked", "try again in a few seconds")
		}
		s.do(t, ask{method: "POST", path: path + "?background", token: "user"}).says(t, 409, "connectionLocked", "")
		s.untouched(t, before)
		keyed := ask{method: "POST", path: path + "?background=true", token: "user", body: `{"otp":"123456"}`, header: map[string]string{"Idempotency-Key": "k"}}
		if refused := s.do(t, keyed).says(t, 409, "connectionLocked", ""); refused.header.Get("Retry-After") != "2" {
			t.Errorf("refused with %v", refused.header)
		}
		s.write(t, func(tx *store.Tx) error {
			bankstore.In(tx).ReleaseConnection(c.Domain, c.ID, "somebody", false)
			return nil
		})

		r := s.do(t, keyed).says(t, 200, "", "")
		if !strings.Contains(string(r.body), `"state":"validating"`) {
			t.Errorf("the answer is %s", r.body)
		}
	})
}

// A setting decides the HTTP status for connections that wait.
func TestStatusOfConnectionsThatWait(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.do(t, ask{method: "POST", path: "/config", token: "config", body: `{"connection.questions_code":"200"}`}).says(t, 200, "", "")
		s.do(t, ask{method: "POST", path: "/connections", token: "user", body: strings.Replace(connecting, "one", "otp", 1)}).says(t, 200, "", "")
	})
}

// Fields that name different connectors are refused, and nothing changes.
func TestContradictingConnectors(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		const uuid, same, other = `"connector_uuid":"` + testConnector + `"`, `40`, `41`
		s.token(t, "", "user", 0)
		before := s.record()
		for body, field := range map[string]string{
			uuid + `,"id_connector":` + other:        "id_connector: names another connector than connector_uuid; send only one of them",
			uuid + `,"id_bank":` + other:             "id_bank: names another connector than connector_uuid",
			uuid + `,"id_provider":9999`:             "id_provider: names another connector than connector_uuid",
			`"id_connector":40,"id_bank":` + other:   "id_bank: names another connector than id_connector",
			`"connector_uuid":"no","id_connector":1`: "connector_uuid: ",
		} {
			s.do(t, ask{method: "POST", path: "/connections", token: "user", body: `{` + body + `,"login":"one","password":"1234"}`}).says(t, 400, "invalidValue", field)
		}
		page := "/webauth-url?client_id=" + s.thing(t, "", "client") + "&redirect_uri=https://shop.example/back&connector_uuid=" + testConnector + "&id_connector="
		s.do(t, ask{method: "GET", path: page + other, token: "user"}).says(t, 400, "invalidValue", "id_connector: names another connector than connector_uuid")
		s.untouched(t, before)
		s.do(t, ask{method: "GET", path: page + same, token: "user"}).says(t, 200, "", "")

		path := s.in(t, "created")
		s.token(t, "", "validate", 0)
		pay := func(number string, status int, code, message string) {
			t.Helper()
			s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: `{` + uuid + `,"id_connector":` + number + `,` + minimalDraft[1:]}).says(t, status, code, message)
			s.do(t, ask{method: "POST", path: path, token: "validate", body: `{"id_connector":` + number + `,` + validation[1:]}).says(t, status, code, message)
		}
		before = s.record()
		for _, number := range []string{other, "9999"} {
			pay(number, 400, "invalidValue", "id_connector: names another connector than connector_uuid; send only one of them")
		}
		s.untouched(t, before)
		pay(same, 200, "", "")
		s.do(t, ask{method: "POST", path: "/connections", token: "user", body: `{` + uuid + `,"id_connector":` + same + `,"id_bank":` + same + `,"login":"one","password":"1234"}`}).says(t, 200, "", "")
	})
}

// Two equal requests with the same idempotency key create one connection.
func TestRepeatedConnecting(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		var first, second struct{ ID int64 }
		for _, into := range []any{&first, &second} {
			s.do(t, ask{method: "POST", path: "/connections", token: "user", body: connecting, header: map[string]string{"Idempotency-Key": "k"}}).decode(t, into)
		}
		if n := s.record().rows["connection"]; first != second || n != 1 {
			t.Errorf("%v and %v, %d connections", first, second, n)
		}
	})
}

// Refused credentials do not use up the idempotency key: the same request fails again, and
// corrected credentials connect.
func TestRefusedConnectingFreesTheKey(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		a := ask{method: "POST", path: "/connections", token: "user", body: strings.Replace(connecting, "1234", "4321", 1), header: map[string]string{"Idempotency-Key": "k"}}
		for range 2 {
			s.do(t, a).says(t, 400, "wrongpass", "")
		}
		a.body = connecting
		s.do(t, a).says(t, 200, "", "")
		var all struct{ Connections []struct{ ID int64 } }
		s.do(t, ask{method: "GET", path: "/users/me/connections", token: "user"}).decode(t, &all)
		if len(all.Connections) != 1 {
			t.Errorf("there are %d connections", len(all.Connections))
		}
	})
}

// The pages of a list together contain all items. The links between the pages keep the expansions.
func TestPagesOfConnections(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		var want []string
		var last bankstore.Connection
		for range 3 {
			last = s.connected(t, "", "one")
			want = append(want, fmt.Sprint(last.ID))
		}
		if got := s.walk(t, "/connections?limit=2&expand=all_accounts,accounts,sources"); !slices.Equal(got, want) {
			t.Errorf("connections %v, want %v", got, want)
		}
		path := fmt.Sprint("/connections/", last.ID)
		for range 4 {
			s.elapsed.Add(int64(time.Hour))
			user := s.domainOf("").user
			if _, err := s.Aggregation.Resume(t.Context(), s.domainOf("").domain, user, last.ID, aggregation.Request{}); err != nil {
				t.Fatal(err)
			}
		}
		logs := s.walk(t, path+"/logs?limit=2")
		if len(logs) != 5 || !slices.IsSortedFunc(logs, func(a, b string) int { return strings.Compare(b, a) }) {
			t.Errorf("visits %v", logs)
		}
		source, err := bankstore.From(s.DB).SourcesOf(t.Context(), last.Domain, last.ID)
		if err != nil {
			t.Fatal(err)
		}
		for query, n := range map[string]int{
			"min_date=2026-11-20": 5, "max_date=2026-11-19": 0, "min_date=2026-11-21": 0, "max_date=2026": 5,
			fmt.Sprint("id_source=", source[0].ID): 5, "id_source=1": 0, "offset=3": 2,
		} {
			if got := s.walk(t, path+"/logs?"+query); len(got) != n {
				t.Errorf("%s: %d visits, want %d", query, len(got), n)
			}
		}
	})
}

// walk returns the ids on all pages of a list. It also checks the expansions of each connection.
func (s *fixture) walk(t *testing.T, path string) (ids []string) {
	t.Helper()
	for path != "" {
		var page struct {
			Connections, Connectionlogs []struct {
				ID                int64
				AllAccounts       []any `json:"all_accounts"`
				Accounts, Sources []any
			}
			Links struct{ Next *struct{ Href string } } `json:"_links"`
		}
		s.do(t, ask{method: "GET", path: path, token: "user"}).decode(t, &page)
		for _, one := range append(page.Connections, page.Connectionlogs...) {
			ids = append(ids, fmt.Sprint(one.ID))
		}
		for _, one := range page.Connections {
			if len(one.AllAccounts) != 1 || len(one.Sources) != 1 || len(one.Accounts) != 0 {
				t.Errorf("expanded: %+v", one)
			}
		}
		path = ""
		if page.Links.Next != nil {
			path = strings.TrimPrefix(page.Links.Next.Href, s.Origin+version)
		}
	}
	return ids
}

// A value of a connector's field must not be ignored because of its type: the client would think
// that the service uses it. Under unknown names, clients send flags and nulls, which have no effect.
func TestTypesOfConnectorFields(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		one := s.fill(t, ask{method: "POST", path: "/connections/{connection}", token: "user"})
		for body, message := range map[string]string{
			`{"password":["4321"]}`: "password: must be a string, not an array",
			`{"login":{"a":1}}`:     "login: must be a string, not an object",
		} {
			one.body = body
			before := s.record()
			s.do(t, one).says(t, http.StatusBadRequest, "invalidValue", message)
			if rows, events := before.since(s.record()); len(rows)+len(events) > 0 {
				t.Errorf("%s added %v and %v", body, rows, events)
			}
			connect := ask{method: "POST", path: "/connections", token: "user", body: strings.Replace(body, "{", `{"connector_uuid":"`+testConnector+`",`, 1)}
			s.do(t, connect).says(t, http.StatusBadRequest, "invalidValue", message)
		}
		one.body = `{"unknown":true,"other":{},"login":null,"password":false}`
		s.do(t, one).says(t, http.StatusOK, "", "")
	})
}

// UUIDs of connectors may be in capitals. Responses have them in small letters.
func TestUUIDsInCapitals(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		capitals := strings.ToUpper(testConnector)
		uuidOf := func(a ask) string {
			t.Helper()
			var shown struct {
				UUID          string
				ConnectorUUID string `json:"connector_uuid"`
			}
			s.do(t, s.fill(t, a)).says(t, http.StatusOK, "", "").decode(t, &shown)
			return shown.UUID + shown.ConnectorUUID
		}
		for name, a := range map[string]ask{
			"a connection":           {method: "POST", path: "/connections", token: "user", body: strings.Replace(connecting, testConnector, capitals, 1)},
			"a payment":              {method: "POST", path: "/payments", token: "admin", body: strings.Replace(minimalDraft, "{", `{"connector_uuid":"`+capitals+`","id_connector":40,`, 1)},
			"a validation":           {method: "POST", path: "/payments/{payment}", token: "validate", body: strings.Replace(validation, testConnector, capitals, 1)},
			"a connector":            {method: "GET", path: "/connectors/" + capitals},
			"a configured connector": {method: "PUT", path: "/connectors/" + capitals, token: "config", body: `{"sync_frequency":2}`},
		} {
			if got := uuidOf(a); got != testConnector {
				t.Errorf("%s has the connector %q", name, got)
			}
		}
		var list struct{ Total int }
		s.do(t, ask{method: "GET", path: "/payments?connector_uuid=" + capitals, token: "admin"}).says(t, http.StatusOK, "", "").decode(t, &list)
		if list.Total != 2 {
			t.Errorf("the list has %d payments, want 2", list.Total)
		}
	})
}
