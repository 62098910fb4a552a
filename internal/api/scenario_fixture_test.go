package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/access"
	program "passerelle/internal/service"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata and docs/openapi.json")

// opening is the time on the clock of the service at the start of a test.
var opening = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// britishConnector makes only payments in pounds with sort codes.
const (
	testConnector    = "338178e6-3d01-564f-9a7b-52ca442459bf"
	britishConnector = "c9c5a0a6-7f0e-4c39-8f5e-0d1f6b1c2e41"
)

const version = "/2.0"

const noID = "4611686018427387904"

// fixture is a complete service with three domains.
type fixture struct {
	*servicetest.Instance
	url      string
	eyes     *storetest.Inspection
	contract *contract
	domains  map[string]*testDomain
	elapsed  *atomic.Int64
	tick     *atomic.Int64 // how many nanoseconds the clock of the service advances with each reading
	client   *http.Client
}

type testDomain struct {
	host       string
	domain     passerelle.Domain
	client     store.Client
	secret     string
	operator   map[access.TokenKind]string
	user       passerelle.UserID // the user of the token "user"
	holdings   *holdings
	signer     string
	subscribed map[passerelle.UserID]map[string]string
	assets     map[passerelle.UserID]map[string]string
	owned      map[passerelle.UserID][2]string
	tokens     map[string]string
}

func onEachFixture(t *testing.T, run func(t *testing.T, s *fixture)) {
	storetest.Each(t, func(t *testing.T, url string) { run(t, newFixture(t, url)) })
}

// onSQLite runs a test that does not depend on the kind of database.
func onSQLite(t *testing.T, run func(t *testing.T, s *fixture)) {
	run(t, newFixture(t, storetest.SQLite(t)))
}

func newFixture(t testing.TB, url string) *fixture {
	t.Helper()
	return newFixtureWith(t, url, url, false)
}

// newFixtureWith returns a fixture like newFixture. Its service reaches the database at url through
// the address in by. If quiet is set, the service starts no loops.
func newFixtureWith(t testing.TB, url, by string, quiet bool) *fixture {
	t.Helper()
	elapsed, tick := new(atomic.Int64), new(atomic.Int64)
	now := func() time.Time { return opening.Add(time.Duration(elapsed.Add(tick.Load()))) }
	s := &fixture{
		url: url, Instance: servicetest.Start(t, by, servicetest.Options{Now: now, LeaseTimeout: time.Millisecond, Quiet: quiet}), elapsed: elapsed, tick: tick,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}, Timeout: time.Minute},
	}
	s.eyes = storetest.Inspect(t, url)
	s.contract = readContract(t, s.API())
	main := &testDomain{host: strings.TrimPrefix(s.Origin, "http://"), domain: s.Domain}
	s.domains = map[string]*testDomain{"home": main}
	s.populate(t, main)
	s.found(t, "other", passerelle.Sandbox)
	s.found(t, "live", passerelle.Live)
	return s
}

// found creates another domain.
func (s *fixture) found(t testing.TB, name string, kind passerelle.DomainKind) {
	t.Helper()
	host := name + ".example"
	domain, err := program.EnsureDomain(t.Context(), s.DB, passerelle.Domain{Name: name, Kind: kind, BaseURL: "https://" + host + "/2.0", Created: opening})
	if err != nil {
		t.Fatal(err)
	}
	s.domains[name] = &testDomain{host: host, domain: domain}
	s.populate(t, s.domains[name])
}

func (s *fixture) populate(t testing.TB, who *testDomain) {
	t.Helper()
	who.tokens, who.operator = map[string]string{}, map[access.TokenKind]string{}
	var err error
	if who.client, who.secret, err = s.Access.Register(t.Context(), who.domain.ID, "application", []string{"https://shop.example/back"}); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []access.TokenKind{access.ConfigToken, access.UsersToken} {
		grant, err := s.Access.IssueOperator(t.Context(), who.domain.ID, kind)
		if err != nil {
			t.Fatal(err)
		}
		who.operator[kind] = grant.Text
	}
}

// pass advances the clock of the service. Service tokens may then have expired.
func (s *fixture) pass(d time.Duration) {
	s.elapsed.Add(int64(d))
	for _, domainName := range s.domains {
		clear(domainName.tokens)
	}
}

func (s *fixture) now() time.Time { return opening.Add(time.Duration(s.elapsed.Load())) }

// ask describes a request. fixture.do adds the version to the path unless bare is set.
type ask struct {
	domain, method, path string
	bare                 bool
	// token is the name of a token, see fixture.token; credential is the text of a token.
	token, credential string
	header            map[string]string
	contentType, body string
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

// do sends a request, and checks the rules for all responses. The response must match its schema in
// the OpenAPI document.
func (s *fixture) do(t testing.TB, a ask) reply {
	t.Helper()
	request := s.request(t, a)
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", a.method, a.path, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", a.method, a.path, err)
	}
	r := reply{status: response.StatusCode, header: response.Header, body: body}
	if fault := r.fault(a.method); fault != "" {
		t.Errorf("%s %s: %s: %d %v %s", a.method, a.path, fault, r.status, r.header, r.body)
	}
	if err := s.contract.check(a, request, r); err != nil && s.domainOf(a.domain).domain.ID != 0 {
		t.Errorf("%s %s: %d %s does not fit the OpenAPI document: %v", a.method, a.path, r.status, r.body, err)
	}
	return r
}

func (s *fixture) request(t testing.TB, a ask) *http.Request {
	t.Helper()
	var body io.Reader = http.NoBody
	if a.body != "" {
		body = strings.NewReader(a.body)
	}
	request, err := http.NewRequestWithContext(context.Background(), a.method, s.Origin, body)
	if err != nil {
		t.Fatal(err)
	}
	request.URL.Opaque, request.Host = a.path, s.domainOf(a.domain).host
	if !a.bare && !strings.HasPrefix(a.path, version) {
		request.URL.Opaque = version + a.path
	}
	if a.body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if a.contentType != "" {
		request.Header.Set("Content-Type", a.contentType)
	}
	if credential := a.credential + s.token(t, a.domain, a.token, 0); credential != "" {
		request.Header.Set("Authorization", "Bearer "+credential)
	}
	for name, value := range a.header {
		request.Header.Set(name, value)
	}
	return request
}

func (r reply) fault(method string) string {
	id := r.header.Get("X-Request-Id")
	switch {
	case r.status >= http.StatusInternalServerError && r.status != http.StatusServiceUnavailable:
		return "a fault of the service"
	case id == "" || strings.Trim(id, "0123456789") != "":
		return "X-Request-Id is not digits"
	case r.status == http.StatusNoContent && len(r.body) > 0:
		return "a body with 204"
	case r.header.Get("Content-Disposition") != "" && r.status < http.StatusBadRequest:
		return "" // a file
	case r.status != http.StatusNoContent && !slices.Equal(r.header["Content-Type"], []string{"application/json"}):
		return "Content-Type"
	case r.status >= http.StatusBadRequest && method != http.MethodHead:
		return r.errorFault(id)
	}
	return ""
}

func (r reply) errorFault(id string) string {
	var members map[string]any
	if err := json.Unmarshal(r.body, &members); err != nil {
		return "the error body is not JSON"
	}
	keys := slices.Sorted(maps.Keys(members))
	description, _ := members["description"].(string)
	switch {
	case !slices.Equal(keys, []string{"code", "description", "message", "request_id"}):
		return fmt.Sprintf("keys of the error body are %v", keys)
	case members["request_id"] != id:
		return "request_id is not X-Request-Id"
	case description == "" || members["code"] == "":
		return "code or description is empty"
	}
	return ""
}

func (r reply) message(t testing.TB) (code, message string) {
	t.Helper()
	var members struct{ Code, Message string }
	if err := json.Unmarshal(r.body, &members); err != nil {
		t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	return members.Code, members.Message
}

func (r reply) decode(t testing.TB, into any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(r.body))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil || r.status >= http.StatusBadRequest {
		t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
}

func (s *fixture) domainOf(name string) *testDomain {
	if name == "" {
		name = "home"
	}
	return s.domains[name]
}

func (s *fixture) created(t testing.TB, domainName string) int64 {
	t.Helper()
	var out struct{ ID int64 }
	s.do(t, ask{domain: domainName, method: "POST", path: "/payments", token: "admin", body: encoded(t, draft())}).decode(t, &out)
	return out.ID
}

// draft returns servicetest.Draft with the amount as a JSON number.
func draft() map[string]any {
	d := servicetest.Draft()
	d["instructions"].([]any)[0].(map[string]any)["amount"] = json.Number("12.50")
	return d
}

func encoded(t testing.TB, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// token returns the text of a named token. The name of a service token consists of its scopes,
// joined by "+". The name of a token for the payment is "own:<scope>".
func (s *fixture) token(t testing.TB, domainName, name string, payment int64) string {
	t.Helper()
	who := s.domainOf(domainName)
	scope, bound := strings.CutPrefix(name, "own:")
	switch {
	case name == "":
		return ""
	case bound:
		return s.bound(t, who, payment, scope)
	case who.tokens[name] == "":
		who.tokens[name] = s.make(t, who, name)
	}
	return who.tokens[name]
}

func (s *fixture) make(t testing.TB, who *testDomain, name string) string {
	t.Helper()
	switch name {
	case "config", "users":
		return who.operator[access.TokenKind(name)]
	case "deployment":
		grant, err := s.Access.IssueDeployment(t.Context(), who.domain.ID)
		if err != nil {
			t.Fatal(err)
		}
		return grant.Text
	case "user":
		grant := s.someone(t, who)
		who.user = grant.Token.User
		return grant.Text
	case "code":
		return s.code(t, who).Text
	case "malformed":
		return "psl_svc_00"
	case "unknown":
		return mint("psl_svc_")
	case "expired":
		grant := s.issue(t, who, "payments:admin")
		s.pass(time.Hour)
		return grant.Text
	case "revoked":
		return s.revoked(t, who)
	case "foreign":
		return s.issue(t, s.domainOf("other"), "payments:admin payments:validate").Text
	}
	return s.issue(t, who, scopesNamed(name)).Text
}

func scopesNamed(name string) string {
	return "payments:" + strings.ReplaceAll(name, "+", " payments:")
}

func (s *fixture) issue(t testing.TB, who *testDomain, scope string) access.Grant {
	t.Helper()
	scopes, err := passerelle.ParseScopes(scope)
	if err != nil {
		t.Fatal(err)
	}
	grant, err := s.Access.IssueService(t.Context(), who.client, scopes)
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

func (s *fixture) bound(t testing.TB, who *testDomain, payment int64, scope string) string {
	t.Helper()
	maker := access.Principal{Domain: who.domain.ID, Client: who.client.ID, Scopes: passerelle.Scopes{passerelle.ScopePaymentsAdmin}}
	scopes, err := passerelle.ParseScopes(scopesNamed(scope))
	if err != nil {
		t.Fatal(err)
	}
	grant, err := s.Access.IssuePayment(t.Context(), maker, passerelle.PaymentID(payment), scopes)
	if err != nil {
		t.Fatal(err)
	}
	return grant.Text
}

func (s *fixture) revoked(t testing.TB, who *testDomain) string {
	t.Helper()
	grant := s.issue(t, who, "payments:admin")
	s.write(t, func(tx *store.Tx) error {
		tx.RevokeToken(who.domain.ID, grant.Token.ID, s.now())
		return nil
	})
	return grant.Text
}

func (s *fixture) someone(t testing.TB, who *testDomain) access.Grant {
	t.Helper()
	var grant access.Grant
	_, err := s.Aggregation.CreateUser(t.Context(), who.domain, true, func(tx *store.Tx, u passerelle.User) (err error) {
		grant, err = s.Access.GrantUser(tx, who.client.ID, u)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

func (s *fixture) code(t testing.TB, who *testDomain) access.Grant {
	t.Helper()
	owner := s.someone(t, who).Token
	grant, err := s.Access.IssueCode(t.Context(), access.Principal{Domain: owner.Domain, Client: owner.Client, User: owner.User}, false)
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

const tinyPNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func (s *fixture) application(t *testing.T, domainName string) string {
	t.Helper()
	var out struct{ ID json.Number }
	s.do(t, ask{domain: domainName, method: "POST", path: "/clients", token: "config", body: `{"name":"another"}`}).decode(t, &out)
	s.do(t, ask{domain: domainName, method: "POST", path: "/clients/" + out.ID.String() + "/logo", token: "config", body: `{"logo":"` + tinyPNG + `"}`}).says(t, 200, "", "")
	return out.ID.String()
}

// signer returns the credentials of an application with keys, as members of a body.
func (s *fixture) signer(t testing.TB, who *testDomain) string {
	t.Helper()
	if who.signer == "" {
		client, secret, err := s.Access.Create(t.Context(), who.domain.ID, access.ClientUpdate{Name: new("signer"), GenerateKeys: true})
		if err != nil {
			t.Fatal(err)
		}
		who.signer = fmt.Sprintf(`"client_id":%d,"client_secret":%q`, client.ID, secret)
	}
	return who.signer
}

func (s *fixture) write(t testing.TB, unit func(*store.Tx) error) {
	t.Helper()
	if err := s.DB.Write(t.Context(), unit); err != nil {
		t.Fatal(err)
	}
}

var minted atomic.Int64

// mint makes a well-formed token that was never issued.
func mint(prefix string) string {
	body := fmt.Sprintf("%s%048x", prefix, minted.Add(1))
	return fmt.Sprintf("%s%08x", body, crc32.ChecksumIEEE([]byte(body)))
}

type record struct {
	rows   map[string]int64
	events []storetest.Event
}

func (s *fixture) record() record { return record{rows: s.eyes.Rows(), events: s.eyes.Events()} }

// counts returns a record without events. It stays cheap after many calls.
func (s *fixture) counts() record { return record{rows: s.eyes.Rows()} }

// bookkeeping lists tables whose rows are created once and later only updated.
var bookkeeping = map[string]bool{"sequence": true, "counter": true, "connector_name": true, "audit_end": true}

// The method since returns the changes in the number of rows by table, and the added events as
// "NAME subject version".
func (before record) since(after record) (rows map[string]int64, events []string) {
	rows = map[string]int64{}
	for table, n := range after.rows {
		if bookkeeping[table] {
			continue
		}
		if grown := n - before.rows[table]; grown != 0 {
			rows[table] = grown
		}
	}
	for _, e := range after.events {
		if !slices.ContainsFunc(before.events, e.Is) {
			events = append(events, e.Name+" "+e.Subject+" "+strconv.FormatInt(e.Version, 10))
		}
	}
	return rows, events
}

func (s *fixture) untouched(t testing.TB, before record) {
	t.Helper()
	if diff := s.changed(before); diff != "" {
		t.Errorf("a refused request changed rows (-before +after):\n%s", diff)
	}
}

func (s *fixture) changed(before record) string {
	after := s.eyes.Rows()
	after["audit_end"] = before.rows["audit_end"] // the service adds a row some time after the audited act
	if maps.Equal(before.rows, after) {
		return "" // Diff takes longer than the query
	}
	return cmp.Diff(before.rows, after)
}
