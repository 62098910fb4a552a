package api_test

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// mostTrips is the number of times that a call may wait for the database, unless longCalls permits
// more.
const mostTrips = 10

// longCalls may wait for the database more often than mostTrips. The limits leave room for the
// first use of an SQL statement on a database connection, which needs one more round trip.
var longCalls = map[string]int64{
	// The service sends an archive while it reads the data, with one or two queries for each kind
	// of object.
	"GET /users/{userId}/export": 52,
	// The service sends an order to the sandbox bank. The same database stores the bank's orders.
	"PUT /payments/{paymentId}": 16,
	// The service calls institutions, and stores their responses.
	"POST /sandbox/clock":                             18,
	"POST /sandbox/run":                               17,
	"POST /test/sync":                                 14,
	"POST /users/{userId}/connections":                20,
	"PUT /users/{userId}/connections":                 200, // for all connections
	"POST /users/{userId}/connections/{connectionId}": 12,
	// The service calls receivers, and stores their responses.
	"POST /test/webhooks":                             120, // for up to 20 webhooks
	"POST /webhooks/{webhookId}/data/{dataId}/resend": 22,
	"POST /webhooks/{webhookId}/test":                 16,
	// The service takes and releases the lease for each connection with changed accounts.
	"POST /users/{userId}/accounts":               24,
	"PUT /users/{userId}/accounts":                14,
	"DELETE /users/{userId}/accounts/{accountId}": 13,
}

// distant is a fixture without background work. Its database is behind a network that counts round
// trips.
type distant struct {
	*fixture
	network *servicetest.Network
}

func newDistant(t *testing.T) *distant {
	address := storetest.Postgres(t)
	n := servicetest.StartNetwork(t, servicetest.HostOf(t, address))
	by, _ := url.Parse(n.Through(address))
	few := by.Query()
	few.Set("pool_max_conns", "2") // the first use of an SQL statement on a database connection needs one more round trip
	by.RawQuery = few.Encode()
	return &distant{fixture: newFixtureWith(t, address, by.String(), true), network: n}
}

// tries is the largest number of times that the test makes a call to find its smallest number of
// round trips. Some of these calls need more round trips, because they also prepare a statement or
// reserve ids for later calls.
const tries = 6

// takesFiles matches the paths of calls that end with a conflict in this test. The test connector
// accepts no files. The account in these paths is disabled, and a disabled account has no
// statements.
var takesFiles = regexp.MustCompile(`/connections/[^/]+/files$|/accounts/[^/]+/statement\b`)

// trips repeats a call, each time with new data, and returns the smallest number of round trips. It
// stops when this number is at most `enough`, or after `tries` calls.
func (d *distant) trips(t *testing.T, enough int64, anew func() ask, after func()) (least int64) {
	t.Helper()
	least = math.MaxInt64
	for n := 0; n < tries && least > enough; n++ {
		a := anew()
		d.token(t, a.domain, a.token, 0)
		before := d.network.Trips()
		r := d.do(t, a)
		least = min(least, d.network.Trips()-before)
		if r.status >= http.StatusBadRequest && r.status != http.StatusNotFound && !(r.status == http.StatusConflict && takesFiles.MatchString(a.path)) {
			t.Fatalf("%s %s: %d %s", a.method, a.path, r.status, r.body)
		}
		after()
	}
	return least
}

// TestDatabaseTripsOfEveryCall checks that each call waits for the database at most mostTrips
// times, or as often as longCalls permits.
func TestDatabaseTripsOfEveryCall(t *testing.T) {
	d := newDistant(t)
	expected := expectations(t)
	for _, call := range slices.Sorted(maps.Keys(calls())) {
		token := d.able(expected[call])
		most := max(mostTrips, longCalls[call])
		n := d.trips(t, most, func() ask { return d.fill(t, d.rightly(t, call, d.placed(call, calls()[call]), token)) }, func() { d.outlive(t, call, token) })
		if t.Logf("%2d %s", n, call); n > most {
			t.Errorf("%s waits for the database %d times, at most %d", call, n, most)
		}
	}
	for call := range longCalls {
		if calls()[call] == "" {
			t.Errorf("%s is no call", call)
		}
	}
}

// able returns a token with which the call succeeds, or fails with "not found" or a conflict.
func (d *distant) able(expected map[string]int) string {
	i := slices.IndexFunc(columns, func(token string) bool { return expected[token] < http.StatusBadRequest })
	if i < 0 {
		i = slices.IndexFunc(columns, func(token string) bool { return expected[token] == http.StatusNotFound })
	}
	if i < 0 {
		i = slices.IndexFunc(columns, func(token string) bool { return expected[token] == http.StatusConflict })
	}
	return columns[i]
}

// TestListsWaitAsOftenForManyRows checks that a list with all items needs no more round trips than
// a list with one item.
func TestListsWaitAsOftenForManyRows(t *testing.T) {
	d := newDistant(t)
	expected := expectations(t)
	fill := func(call, more string) func() ask {
		return func() ask {
			a := d.fill(t, d.rightly(t, call, d.placed(call, calls()[call]), d.able(expected[call])))
			if a.path += "?" + more; strings.Count(a.path, "?") > 1 {
				a.path = strings.TrimSuffix(a.path, "?"+more) + "&" + more
			}
			return a
		}
	}
	for range 3 {
		for _, call := range slices.Sorted(maps.Keys(calls())) {
			if strings.HasPrefix(call, "POST") && !strings.Contains(call, "sandbox") && !strings.Contains(call, "test") {
				d.do(t, fill(call, "")())
			}
		}
	}
	nothing := func() {}
	for _, call := range slices.Sorted(maps.Keys(calls())) {
		if !strings.HasPrefix(call, "GET") || !d.isList(call) {
			continue
		}
		one := d.trips(t, 0, fill(call, "limit=1"), nothing)
		all := d.trips(t, one, fill(call, "limit=1000"), nothing)
		if t.Logf("%d and %d %s", one, all, call); all > one {
			t.Errorf("%s waits for the database %d times for all rows and %d times for one", call, all, one)
		}
	}
}

func (d *distant) isList(call string) bool {
	method, path, _ := strings.Cut(call, " ")
	operation, _ := d.contract.paths[path].(map[string]any)[strings.ToLower(method)].(map[string]any)
	parameters, _ := operation["parameters"].([]any)
	return slices.ContainsFunc(parameters, func(p any) bool { return p.(map[string]any)["name"] == "limit" })
}

// TestRoundTrips limits the round trips of the most important calls.
func TestRoundTrips(t *testing.T) {
	d := newDistant(t)
	for range 50 {
		d.created(t, "")
	}
	keys := 0
	get := func(path, token string) func() ask {
		return func() ask { return d.fill(t, ask{method: "GET", path: path, token: token}) }
	}
	post := func(path, token, body string) func() ask {
		return func() ask { return d.fill(t, ask{method: "POST", path: path, token: token, body: body}) }
	}
	synced := d.shared(t, "anna")
	for _, c := range []struct {
		name string
		most int64
		call func() ask
	}{
		{"get a payment", 2, get("/payments/{payment}", "admin")},
		{"page of 50 payments", 3, get("/payments?limit=50", "admin")},
		{"create", 2, post("/payments", "admin", minimalDraft)},
		{"create with an idempotency key", 3, func() ask {
			keys++
			a := post("/payments", "admin", minimalDraft)()
			a.header = map[string]string{"Idempotency-Key": fmt.Sprint("key ", keys)}
			return a
		}},
		{"validate, up to the redirect", 8, post("/payments/{payment}", "validate", validation)},
		{"cancel a created payment", 3, post("/payments/{payment}", "cancel", cancellation)},
		{"cancel a pending payment", 7, post("/payments/{decoupled}", "cancel", cancellation)},
		{"token of one payment", 3, post("/payments/{payment}/scopedtoken", "admin", `{"scope":"payments:validate"}`)},
		{"new user", 3, post("/auth/init", "", rightBody["POST /auth/init"])},
		{"accounts", 2, get("/users/me/accounts", "user")},
		{"100 transactions", 3, get("/users/me/transactions?limit=100", "user")},
		{"sync without news of 2,289 transactions", 19, func() ask { return ask{method: "PUT", path: synced, token: "user"} }},
	} {
		n := d.trips(t, 0, c.call, func() {})
		if t.Logf("%3d %s", n, c.name); n > c.most {
			t.Errorf("%s waits for the database %d times, at most %d", c.name, n, c.most)
		}
	}
}

// shared returns the path of a connection. The user shares all its accounts, and the service has
// read them.
func (d *distant) shared(t *testing.T, login string) string {
	t.Helper()
	c := d.connected(t, "", login)
	path := fmt.Sprint("/users/me/connections/", c.ID)
	for _, a := range []ask{{method: "PUT", path: "/users/me/accounts?all", token: "user", body: `{"disabled":false}`}, {method: "PUT", path: path, token: "user"}} {
		d.do(t, a).says(t, http.StatusOK, "", "")
	}
	return path
}
