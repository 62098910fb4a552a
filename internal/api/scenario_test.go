package api_test

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
)

// scenario contains a request, its response, and its effects: the new rows, and the events in
// order. An empty list asserts that there are no events.
type scenario struct {
	name string
	ask
	status int
	rows   map[string]int64
	events []string
}

// Creating an object adds these rows.
var (
	aToken    = map[string]int64{"token": 1}
	aPayment  = map[string]int64{"payment": 1, "payment_transition": 1, "instruction": 1, "payment_word": 2}
	aChoice   = map[string]int64{"payment_given": 1}
	anOrder   = map[string]int64{"payment_transition": 1, "attempt": 1, "sandbox_order": 1, "event": 1}
	aProvider = map[string]int64{"auth_provider": 1, "audit": 1}
	aWebhook  = map[string]int64{"webhook": 1, "audit": 1}
	anAct     = map[string]int64{"audit": 1}
)

func with(rows map[string]int64, more map[string]int64) map[string]int64 {
	sum := maps.Clone(rows)
	for table, n := range more {
		sum[table] += n
	}
	return sum
}

// hole matches a placeholder in a path or a body, such as {payment} or {live:payment}.
var hole = regexp.MustCompile(`\{(?:(\w+):)?(payment|webhook|listening|sent|client|secret|provider|oauth|created|decoupled|pending|cancelling|done|bulk|user|code|application|signer|connection|channel|asking|empty|fresh|several|owner|owned|holder|holding|transaction|subscribing|subscription|withheld|document|position|pocket|order|category|information|annexed|series|key|outside|program)\}`)

// fill replaces placeholders with values. Equal placeholders get the same value.
func (s *fixture) fill(t *testing.T, a ask) ask {
	t.Helper()
	made := map[string]string{}
	fill := func(text string) string {
		return hole.ReplaceAllStringFunc(text, func(spelling string) string {
			if made[spelling] == "" {
				words := hole.FindStringSubmatch(spelling)
				made[spelling] = s.thing(t, words[1], words[2])
			}
			return made[spelling]
		})
	}
	a.path, a.body = fill(a.path), fill(a.body)
	if strings.HasPrefix(a.token, "own:") {
		id, _ := strconv.ParseInt(made["{payment}"], 10, 64)
		a.credential, a.token = s.token(t, a.domain, a.token, id), ""
	}
	if scope, bound := strings.CutPrefix(a.token, "another's:"); bound {
		a.credential, a.token = s.token(t, a.domain, "own:"+scope, s.created(t, a.domain)), ""
	}
	s.token(t, a.domain, a.token, 0)
	return a
}

// thing returns the value of a placeholder in a domain.
func (s *fixture) thing(t *testing.T, domainName, what string) string {
	t.Helper()
	switch what {
	case "client":
		return strconv.FormatInt(int64(s.domainOf(domainName).client.ID), 10)
	case "secret":
		return s.domainOf(domainName).secret
	case "user":
		s.token(t, domainName, "user", 0)
		return strconv.FormatInt(int64(s.domainOf(domainName).user), 10)
	case "code":
		return s.code(t, s.domainOf(domainName)).Text
	case "application":
		return s.application(t, domainName)
	case "key":
		return s.answerKey(t, s.domainOf(domainName))
	case "signer":
		return s.signer(t, s.domainOf(domainName))
	case "outside":
		return outsideAddress(t)
	case "program":
		return s.outsideProgram(t)
	case "connection":
		return strconv.FormatInt(int64(s.connected(t, domainName, "one").ID), 10)
	case "channel":
		c := s.holdings(t, domainName).connections[0]
		sources, err := bankstore.From(s.DB).SourcesOf(t.Context(), s.domainOf(domainName).domain.ID, c)
		must(t, err)
		return fmt.Sprintf("%d/sources/%d", c, sources[0].ID)
	case "fresh":
		_, ids := s.discovered(t, domainName, "one")
		return ids[0]
	case "several":
		_, ids := s.discovered(t, domainName, "anna")
		return ids[0] + "," + ids[2]
	case "owner", "owned":
		connection, account := s.owned(t, domainName)
		return map[string]string{"owner": connection, "owned": account}[what]
	case "empty":
		return strconv.FormatInt(int64(s.connected(t, domainName, "none").ID), 10)
	case "asking":
		return strconv.FormatInt(int64(s.connected(t, domainName, "otp").ID), 10)
	case "holder", "holding", "transaction":
		return s.held(t, domainName, what)
	case "information":
		return s.noted(t, domainName)
	case "annexed":
		return s.annexed(t, domainName)
	case "series":
		return s.series(t, domainName)
	case "category":
		return s.ownCategory(t, domainName)
	case "position", "pocket", "order":
		return s.assets(t, domainName)[what]
	case "payment":
		return strconv.FormatInt(s.created(t, domainName), 10)
	case "subscribing", "subscription", "withheld", "document":
		return s.subscriber(t, domainName)[what]
	case "bulk":
		return strings.TrimPrefix(s.pendingBulk(t), "/payments/")
	case "listening":
		return s.webhookFor(t, domainName, "USER_SYNCED")
	case "sent":
		return s.sent(t, domainName)
	case "created", "decoupled", "pending", "cancelling", "done":
		return strings.TrimPrefix(s.in(t, what), "/payments/")
	}
	a := ask{domain: domainName, method: "POST", path: "/webhooks", token: "config", body: `{"event":"USER_SYNCED","url":"https://client.example/hook"}`}
	if what == "provider" {
		a.path, a.body = "/webhooks/auth", `{"type":"hmac_signature","name":"p`+mint("")[40:]+`"}`
	}
	if what == "oauth" {
		a.path, a.body = "/webhooks/auth", strings.Replace(oauthDraft, `"o"`, `"o`+mint("")[40:]+`"`, 1)
	}
	var out struct{ ID int64 }
	s.do(t, a).decode(t, &out)
	return strconv.FormatInt(out.ID, 10)
}

// play runs scenarios in sequence on both databases. The file testdata/<name>.json contains the
// expected bodies.
func play(t *testing.T, name string, scenarios []scenario) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		bodies := readGolden(t, name)
		for _, sc := range scenarios {
			t.Run(sc.name, func(t *testing.T) { s.run(t, sc, bodies) })
		}
		bodies.close(t)
	})
}

func (s *fixture) run(t *testing.T, sc scenario, bodies *golden) {
	a := s.fill(t, sc.ask)
	before := s.record()
	r := s.do(t, a)
	rows, events := before.since(s.record())
	if r.status != sc.status {
		t.Fatalf("status %d, want %d: %s", r.status, sc.status, r.body)
	}
	bodies.compare(t, sc.name, r.body)
	want := sc.rows
	if want == nil {
		want = map[string]int64{}
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows that came (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sc.events, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func (s *fixture) pendingBulk(t *testing.T) string {
	t.Helper()
	line := `{"amount":1,"currency":"EUR","label":"skip/pdng:2d/done - x","execution_date_type":"first_open_day","beneficiary":{"scheme_name":"iban","identification":"FR7630006000011234567890189","label":"A"}}`
	body := `{"client_redirect_uri":"https://shop.example/back","instructions":[` + line + `,` + line + `,` + line + `]}`
	var made struct{ ID int64 }
	s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: body}).decode(t, &made)
	path := "/payments/" + strconv.FormatInt(made.ID, 10)
	s.do(t, ask{method: "POST", path: path, token: "validate", body: validation}).says(t, 200, "", "")
	return path
}

func TestTokenScenarios(t *testing.T) {
	token := func(body string) ask { return ask{method: "POST", path: "/auth/token", body: body} }
	scoped := func(token, body string) ask {
		return ask{method: "POST", path: "/payments/{payment}/scopedtoken", token: token, body: body}
	}
	play(t, "tokens", []scenario{
		{name: "credentials in the body", status: 200, rows: aToken, ask: token(`{"grant_type":"client_credentials","client_id":"{client}","client_secret":"{secret}","scope":"payments:admin"}`)},
		{name: "numeric client id, scopes as an array", status: 200, rows: aToken, ask: token(`{"client_id":{client},"client_secret":"{secret}","scope":["payments:validate","payments:read-only"]}`)},
		{name: "the old name of admin, several in a string, one twice", status: 200, rows: aToken, ask: token(`{"client_id":{client},"client_secret":"{secret}","scope":"payments payments:cancel, payments:cancel"}`)},
		{name: "another grant", status: 400, ask: token(`{"grant_type":"password","client_id":"{client}","client_secret":"{secret}","scope":"payments:admin"}`)},
		{name: "no scope", status: 400, ask: token(`{"client_id":"{client}","client_secret":"{secret}"}`)},
		{name: "null scope", status: 400, ask: token(`{"client_id":"{client}","client_secret":"{secret}","scope":null}`)},
		{name: "empty scope", status: 400, ask: token(`{"client_id":"{client}","client_secret":"{secret}","scope":[]}`)},
		{name: "unknown scope", status: 400, ask: token(`{"client_id":"{client}","client_secret":"{secret}","scope":"payments:admin payments:everything"}`)},
		{name: "scope of management tokens", status: 400, ask: token(`{"client_id":"{client}","client_secret":"{secret}","scope":"config"}`)},
		{name: "no credentials", status: 401, ask: token(`{"scope":"payments:admin"}`)},
		{name: "no secret", status: 401, ask: token(`{"client_id":"{client}","scope":"payments:admin"}`)},
		{name: "wrong secret", status: 401, ask: token(`{"client_id":"{client}","client_secret":"{other:secret}","scope":"payments:admin"}`)},
		{name: "unknown client", status: 401, ask: token(`{"client_id":1,"client_secret":"{secret}","scope":"payments:admin"}`)},
		{name: "application of another domain", status: 401, ask: token(`{"client_id":"{other:client}","client_secret":"{other:secret}","scope":"payments:admin"}`)},

		{name: "scoped by admin", status: 200, rows: aToken, ask: scoped("admin", `{"scope":"payments:validate payments:cancel"}`)},
		{name: "scoped by validate", status: 200, rows: aToken, ask: scoped("validate", `{"scope":["payments:validate"]}`)},
		{name: "scoped by one bound to the same payment", status: 200, rows: aToken, ask: scoped("own:validate", `{"scope":"payments:validate"}`)},
		{name: "admin cannot be granted", status: 400, ask: scoped("admin", `{"scope":"payments:admin"}`)},
		{name: "nor by its old name", status: 400, ask: scoped("admin", `{"scope":"payments"}`)},
		{name: "scope the maker lacks", status: 403, ask: scoped("validate", `{"scope":"payments:validate payments:cancel"}`)},
		{name: "scoped by a reader", status: 403, ask: scoped("read-only", `{"scope":"payments:read-only"}`)},
		{name: "scoped without scope", status: 400, ask: scoped("admin", `{}`)},
		{name: "scoped with unknown scope", status: 400, ask: scoped("admin", `{"scope":"admin"}`)},
		{name: "scoped for another payment", status: 404, ask: scoped("another's:validate", `{"scope":"payments:validate"}`)},
		{name: "scoped for none", status: 404, ask: ask{method: "POST", path: "/payments/" + noID + "/scopedtoken", token: "admin", body: `{"scope":"payments:validate"}`}},
		{name: "scoped for another domain's", status: 404, ask: ask{method: "POST", path: "/payments/{other:payment}/scopedtoken", token: "admin", body: `{"scope":"payments:validate"}`}},
	})
}

const minimalDraft = `{"client_redirect_uri":"https://shop.example/back","instructions":[{"amount":12.5,"currency":"EUR","label":"Invoice","execution_date_type":"first_open_day","beneficiary":{"scheme_name":"iban","identification":"fr76 3000 6000 0112 3456 7890 189","label":"Shop"}}]}`

const bulkDraft = `{"client_redirect_uri":"https://shop.example/back","client_state":"s","connector_uuid":"` + testConnector + `",
	"payer":{"scheme_name":"iban","identification":"DE89370400440532013000","label":"Payer","issuer":"COBADEFF"},
	"payer_identity":{"first_name":"Jeanne","last_name":"Martin","birth_date":"1980-02-29","email":"j@m.example","external_ref":"C-1"},
	"operator_identity":{"kind":"government","org_name":"O","org_legal_status":"S","org_hq_address":"H","org_business_address":"B","scheme_name":"incorporation_number","identification":"1"},
	"instructions":[
		{"reference_id":"GIVEN-1","amount":"0.01","currency":"EUR","label":"first","execution_date_type":"deferred","execution_date":"2026-11-20","beneficiary":{"scheme_name":"iban","identification":"FR7630006000011234567890189","label":"A"}},
		{"amount":999999999.990,"currency":"EUR","label":"second","execution_date_type":"deferred","execution_date":"2026-11-20","beneficiary":{"scheme_name":"iban","identification":"FR7630006000011234567890189","label":"B"},
			"beneficiary_identity":{"kind":"corporate","org_name":"O","org_legal_status":"S","org_hq_address":"H","org_business_address":"B","scheme_name":"siren","identification":"732829320"}}]}`

const britishDraft = `{"client_redirect_uri":"https://shop.example/back","id_connector":41,"instructions":[{"amount":3,"currency":"GBP","label":"Rent","execution_date_type":"instant","beneficiary":{"scheme_name":"sort_code_account_number","identification":"20-00-00 55779911","label":"Landlord"}}]}`

func TestCreationScenarios(t *testing.T) {
	post := func(token, body string) ask {
		return ask{method: "POST", path: "/payments", token: token, body: body}
	}
	bulk := with(aPayment, map[string]int64{"instruction": 1, "payment_identity": 3, "payment_word": 1})
	play(t, "creation", []scenario{
		{name: "the least", status: 200, rows: aPayment, ask: post("admin", minimalDraft)},
		{name: "a bulk with identities", status: 200, rows: bulk, ask: post("admin", bulkDraft)},
		{name: "showing sensitive fields to who may see them", status: 200, rows: bulk, ask: ask{method: "POST", path: "/payments?show_sensitive", token: "admin+allow-sensitive", body: bulkDraft}},
		{name: "showing sensitive fields to admin alone", status: 403, ask: ask{method: "POST", path: "/payments?show_sensitive=true", token: "admin", body: bulkDraft}},
		{name: "pounds to a sort code", status: 200, rows: aPayment, ask: post("admin", britishDraft)},
		{name: "no token", status: 401, ask: post("", minimalDraft)},
		{name: "wrong scope", status: 403, ask: post("validate+cancel+read-only+allow-sensitive", minimalDraft)},
		{name: "bound token", status: 403, ask: ask{method: "POST", path: "/payments?x={payment}", token: "own:validate", body: minimalDraft}},
		{name: "token of another domain", status: 401, ask: post("foreign", minimalDraft)},
		{name: "nothing", status: 400, ask: post("admin", "")},
		{name: "unregistered redirect", status: 400, ask: post("admin", strings.Replace(minimalDraft, "/back", "/elsewhere", 1))},
		{name: "simulated bank in a live domain", status: 400, ask: ask{domain: "live", method: "POST", path: "/payments", token: "admin", body: bulkDraft}},
		{name: "connector that cannot carry it", status: 400, ask: post("admin", strings.Replace(bulkDraft, testConnector, britishConnector, 1))},
		{name: "periodic where it is not enabled", status: 400, ask: post("admin", strings.Replace(minimalDraft, `"first_open_day"`, `"periodic","start_date":"2026-12-01","frequency":"monthly"`, 1))},
	})
}

func TestPaymentScenarios(t *testing.T) {
	get := func(token, path string) ask { return ask{method: "GET", path: path, token: token} }
	put := func(token, path, body string) ask { return ask{method: "PUT", path: path, token: token, body: body} }
	choice := `{"connector_uuid":"` + testConnector + `","webview_url":"https://shop.example/page?step=2"}`
	validated := strings.TrimSuffix(choice, "}") + `,"validated":true}`
	play(t, "payments", []scenario{
		{name: "read", status: 200, ask: get("read-only", "/payments/{payment}")},
		{name: "read by one bound to it", status: 200, ask: get("own:cancel", "/payments/{payment}")},
		{name: "read with sensitive fields", status: 200, ask: get("allow-sensitive", "/payments/{payment}?show_sensitive")},
		{name: "read with sensitive fields by a reader", status: 403, ask: get("read-only", "/payments/{payment}?show_sensitive")},
		{name: "read without token", status: 401, ask: get("", "/payments/{payment}")},
		{name: "read with a config token", status: 403, ask: get("config", "/payments/{payment}")},
		{name: "read by one bound to another", status: 404, ask: get("another's:read-only", "/payments/{payment}")},
		{name: "read none", status: 404, ask: get("admin", "/payments/"+noID)},
		{name: "read another domain's", status: 404, ask: get("admin", "/payments/{other:payment}")},

		{name: "keep a choice", status: 200, ask: put("own:validate", "/payments/{payment}", choice), rows: aChoice},
		{name: "validate", status: 200, ask: put("validate", "/payments/{payment}", validated), rows: anOrder, events: []string{"PAYMENT_STATE_UPDATED payment 1"}},
		{name: "validate with fields", status: 200, ask: put("admin", "/payments/{payment}", strings.TrimSuffix(validated, "}")+`,"fields":{"use_case_pay":"redirect"},"validate_mechanism":"webauth"}`), rows: anOrder, events: []string{"PAYMENT_STATE_UPDATED payment 1"}},
		{name: "validate without connector", status: 400, ask: put("validate", "/payments/{payment}", `{"webview_url":"https://shop.example/pay","validated":true}`)},
		{name: "validate with an unknown connector", status: 400, ask: put("validate", "/payments/{payment}", strings.Replace(validated, "338178e6", "00000000", 1))},
		{name: "validate with an unknown connector number", status: 400, ask: put("validate", "/payments/{payment}", `{"id_connector":99,"webview_url":"https://shop.example/pay"}`)},
		{name: "validate with a connector that cannot carry it", status: 400, ask: put("validate", "/payments/{payment}", strings.Replace(validated, testConnector, britishConnector, 1))},
		{name: "validate with an unknown mechanism", status: 400, ask: put("validate", "/payments/{payment}", strings.TrimSuffix(validated, "}")+`,"validate_mechanism":"pigeon"}`)},
		{name: "validate with an unknown choice in a field", status: 400, ask: put("validate", "/payments/{payment}", strings.TrimSuffix(validated, "}")+`,"fields":{"use_case_pay":"teleport"}}`)},
		{name: "validate without page to return to", status: 400, ask: put("validate", "/payments/{payment}", `{"connector_uuid":"`+testConnector+`","validated":true}`)},
		{name: "validate by a reader", status: 403, ask: put("read-only+cancel+allow-sensitive", "/payments/{payment}", validated)},
		{name: "validate by one bound to another", status: 404, ask: put("another's:validate", "/payments/{payment}", validated)},
		{name: "validate none", status: 404, ask: put("admin", "/payments/"+noID, validated)},
		{name: "validate another domain's", status: 404, ask: put("admin", "/payments/{other:payment}", validated)},

		{name: "read with its timeline", status: 200, ask: get("read-only", "/payments/{decoupled}?expand=transitions")},
		{name: "read with the timeline of a cancellation", status: 200, ask: get("read-only", "/payments/{cancelling}?expand=transitions,unknown")},
		{name: "list with timelines", status: 200, ask: ask{domain: "other", method: "GET", path: "/payments?expand=transitions&limit=2&x={other:payment}", token: "read-only"}},
		{name: "list by one bound to one", status: 200, ask: get("own:read-only", "/payments?x={payment}")},
		{name: "list of nothing", status: 200, ask: ask{domain: "live", method: "GET", path: "/payments?state=done&limit=5", token: "admin"}},
		{name: "list with sensitive fields by admin", status: 403, ask: get("admin", "/payments?show_sensitive")},
		{name: "list with a users token", status: 403, ask: get("users", "/payments")},
		{name: "list with an unknown state", status: 400, ask: get("admin", "/payments?state=lost")},
		{name: "list in an unknown order", status: 400, ask: get("admin", "/payments?order_by=colour")},
		{name: "list by an unknown date", status: 400, ask: get("admin", "/payments?filter=pay_date")},
		{name: "list from an impossible day", status: 400, ask: get("admin", "/payments?min_date=2026-02-30")},
		{name: "list to an impossible month", status: 400, ask: get("admin", "/payments?max_date=2026-13")},
		{name: "list with limit 0", status: 400, ask: get("admin", "/payments?limit=0")},
		{name: "list with a limit above the maximum", status: 400, ask: get("admin", fmt.Sprintf("/payments?limit=%d", httpapi.MaxLimit()+1))},
		{name: "list with a negative offset", status: 400, ask: get("admin", "/payments?offset=-1")},
		{name: "list with a made-up cursor", status: 400, ask: get("admin", "/payments?cursor=eyJwIjpbMV19.AAAA")},
	})
}

// A second validation of a payment fails and changes nothing.
func TestValidatingTwice(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		path := "/payments/" + strconv.FormatInt(s.created(t, ""), 10)
		a := ask{method: "POST", path: path, token: "validate", body: `{"connector_uuid":"` + testConnector + `","webview_url":"https://shop.example/pay","validated":true}`}
		if r := s.do(t, a); r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		before := s.record()
		r := s.do(t, a)
		if code, message := r.message(t); r.status != 409 || code != "conflict" || !strings.Contains(message, "validating") {
			t.Errorf("again: %d %s", r.status, r.body)
		}
		s.untouched(t, before)
	})
}

func TestWebhookScenarios(t *testing.T) {
	config := func(method, path, body string) ask {
		return ask{method: method, path: path, token: "config", body: body}
	}
	hook := `{"event":"PAYMENT_STATE_UPDATED","url":"https://client.example/hook"`
	play(t, "webhooks", []scenario{
		{name: "create provider", status: 200, rows: aProvider, ask: config("POST", "/webhooks/auth", `{"type":"hmac_signature","name":"first"}`)},
		{name: "create provider of the same name", status: 409, ask: config("POST", "/webhooks/auth", `{"type":"hmac_signature","name":"first"}`)},
		{name: "create provider of that name elsewhere", status: 200, rows: aProvider, ask: ask{domain: "other", method: "POST", path: "/webhooks/auth", token: "config", body: `{"type":"hmac_signature","name":"first"}`}},
		{name: "create provider of an unknown type", status: 400, ask: config("POST", "/webhooks/auth", `{"type":"token","name":"x"}`)},
		{name: "create provider without name", status: 400, ask: config("POST", "/webhooks/auth", `{"type":"hmac_signature"}`)},
		{name: "create provider with an empty name", status: 400, ask: config("POST", "/webhooks/auth", `{"type":"hmac_signature","name":""}`)},
		{name: "create provider without type", status: 400, ask: config("POST", "/webhooks/auth", `{"name":"x"}`)},
		{name: "create provider with a service token", status: 403, ask: ask{method: "POST", path: "/webhooks/auth", token: "admin", body: `{"type":"hmac_signature","name":"x"}`}},
		{name: "list providers shows no secret and no other domain's", status: 200, ask: config("GET", "/webhooks/auth", "")},

		{name: "list no webhooks", status: 200, ask: ask{domain: "live", method: "GET", path: "/webhooks", token: "config"}},
		{name: "create webhook", status: 200, rows: aWebhook, ask: config("POST", "/webhooks", hook+`}`)},
		{name: "create webhook with everything", status: 200, rows: aWebhook, ask: config("POST", "/webhooks", hook+`,"id_auth":"first","id_service":{client}}`)},
		{name: "create webhook of an unknown event", status: 400, ask: config("POST", "/webhooks", `{"event":"COFFEE_READY","url":"https://client.example/hook"}`)},
		{name: "create webhook without event", status: 400, ask: config("POST", "/webhooks", `{"url":"https://client.example/hook"}`)},
		{name: "create webhook without URL", status: 400, ask: config("POST", "/webhooks", `{"event":"USER_SYNCED"}`)},
		{name: "create webhook with a relative URL", status: 400, ask: config("POST", "/webhooks", `{"event":"USER_SYNCED","url":"/hook"}`)},
		{name: "create webhook with user info", status: 400, ask: config("POST", "/webhooks", `{"event":"USER_SYNCED","url":"https://u:p@client.example/hook"}`)},
		{name: "create webhook with an unknown provider", status: 400, ask: config("POST", "/webhooks", hook+`,"id_auth":"nobody"}`)},
		{name: "create webhook with another domain's provider", status: 400, ask: config("POST", "/webhooks", hook+`,"id_auth":{other:provider}}`)},
		{name: "create webhook of an unknown application", status: 400, ask: config("POST", "/webhooks", hook+`,"id_service":1}`)},
		{name: "create webhook of another domain's application", status: 400, ask: config("POST", "/webhooks", hook+`,"id_service":{other:client}}`)},
		{name: "create webhook without TLS in a live domain", status: 400, ask: ask{domain: "live", method: "POST", path: "/webhooks", token: "config", body: `{"event":"USER_SYNCED","url":"http://client.example/hook"}`}},
		{name: "create webhook with a users token", status: 403, ask: ask{method: "POST", path: "/webhooks", token: "users", body: hook + `}`}},

		{name: "update webhook", status: 200, rows: anAct, ask: config("PUT", "/webhooks/{webhook}", `{"url":"https://client.example/new","event":"ACCOUNT_FOUND","id_auth":"first"}`)},
		{name: "update webhook with nothing", status: 200, rows: anAct, ask: config("POST", "/webhooks/{webhook}", `{}`)},
		{name: "update webhook without provider", status: 200, rows: anAct, ask: config("POST", "/webhooks/{webhook}", `{"id_auth":null}`)},
		{name: "update webhook to an unknown event", status: 400, ask: config("POST", "/webhooks/{webhook}", `{"event":"x"}`)},
		{name: "update webhook to a bad URL", status: 400, ask: config("POST", "/webhooks/{webhook}", `{"url":"javascript:alert(1)"}`)},
		{name: "update webhook to an unknown provider", status: 400, ask: config("POST", "/webhooks/{webhook}", `{"id_auth":`+noID+`}`)},
		{name: "update none", status: 404, ask: config("POST", "/webhooks/"+noID, `{}`)},
		{name: "update another domain's", status: 404, ask: config("POST", "/webhooks/{other:webhook}", `{}`)},
		{name: "update webhook with a service token", status: 403, ask: ask{method: "POST", path: "/webhooks/{webhook}", token: "admin", body: `{}`}},
		{name: "delete webhook", status: 204, rows: anAct, ask: config("DELETE", "/webhooks/{webhook}", "")},
		{name: "delete none", status: 404, ask: config("DELETE", "/webhooks/"+noID, "")},
		{name: "delete another domain's", status: 404, ask: config("DELETE", "/webhooks/{other:webhook}", "")},
	})
}

func TestSandboxScenarios(t *testing.T) {
	config := func(method, path, body string) ask {
		return ask{method: method, path: path, token: "config", body: body}
	}
	inLive := func(method, path string) ask {
		return ask{domain: "live", method: method, path: path, token: "config"}
	}
	clock := "/sandbox/clock"
	play(t, "sandbox", []scenario{
		{name: "freeze", status: 200, ask: config("POST", clock, `{"freeze":true}`)},
		{name: "read the clock", status: 200, ask: config("GET", clock, "")},
		{name: "advance", status: 200, ask: config("POST", clock, `{"advance":"2d12h"}`)},
		{name: "advance by nothing", status: 200, ask: config("POST", clock, `{"advance":"0s"}`)},
		{name: "set the clock", status: 200, ask: config("POST", clock, `{"set":"2027-01-01 00:00:00"}`)},
		{name: "set it back", status: 400, ask: config("POST", clock, `{"set":"2026-12-31 23:59:59"}`)},
		{name: "set it to no instant", status: 400, ask: config("POST", clock, `{"set":"2027-02-30 00:00:00"}`)},
		{name: "advance backwards", status: 400, ask: config("POST", clock, `{"advance":"-1m"}`)},
		{name: "advance too far", status: 400, ask: config("POST", clock, `{"advance":"401d"}`)},
		{name: "advance further than numbers go", status: 400, ask: config("POST", clock, `{"advance":"65535d2000000h"}`)},
		{name: "advance by no duration", status: 400, ask: config("POST", clock, `{"advance":"soon"}`)},
		{name: "two wishes", status: 400, ask: config("POST", clock, `{"advance":"1m","freeze":false}`)},
		{name: "no wish", status: 400, ask: config("POST", clock, ``)},
		{name: "thaw", status: 200, ask: config("POST", clock, `{"freeze":false}`)},
		{name: "the clock of a neighbour stands", status: 200, ask: ask{domain: "other", method: "GET", path: clock, token: "config"}},
		{name: "run", status: 200, ask: config("POST", "/sandbox/run", "")},
		{name: "receiver", status: 200, ask: config("GET", "/sandbox/receiver", "")},
		{name: "empty the receiver", status: 204, ask: config("DELETE", "/sandbox/receiver", "")},
		{name: "mails", status: 200, ask: config("GET", "/sandbox/mails", "")},
		{name: "mails of a live domain", status: 404, ask: inLive("GET", "/sandbox/mails")},
		{name: "clock of a live domain", status: 404, ask: inLive("GET", clock)},
		{name: "moving the clock of a live domain", status: 404, ask: inLive("POST", clock)},
		{name: "running a live domain", status: 404, ask: inLive("POST", "/sandbox/run")},
		{name: "receiver of a live domain", status: 404, ask: inLive("GET", "/sandbox/receiver")},
		{name: "emptying the receiver of a live domain", status: 404, ask: inLive("DELETE", "/sandbox/receiver")},
	})
}

// Each matching webhook of a payment's domain receives a change of the payment once. No other
// webhook receives it.
func TestDeliveriesStayInTheirDomain(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for _, name := range []string{"first", "second"} {
			s.Subscribe("PAYMENT_STATE_UPDATED", name)
		}
		s.Subscribe("USER_SYNCED", "unconcerned")
		s.do(t, ask{domain: "other", method: "POST", path: "/webhooks", token: "config", body: `{"event":"PAYMENT_STATE_UPDATED","url":"` + s.Origin + `/sandbox/receiver/neighbour"}`}).says(t, 200, "", "")
		id := s.created(t, "")
		before := s.record()
		a := ask{method: "POST", path: "/payments/" + strconv.FormatInt(id, 10), token: "validate", body: `{"connector_uuid":"` + testConnector + `","webview_url":"https://shop.example/pay","validated":true}`}
		s.do(t, a).says(t, 200, "", "")
		for name, want := range map[string]int{"first": 1, "second": 1, "unconcerned": 0, "neighbour": 0} {
			if got := s.Received(name); len(got) != want {
				t.Errorf("receiver %q got %d, want %d", name, len(got), want)
			}
		}
		rows, events := before.since(s.record())
		if rows["delivery"] != 2 || rows["delivery_attempt"] != 2 || rows["received"] != 2 || len(events) != 1 {
			t.Errorf("rows %v, events %v", rows, events)
		}
	})
}

// A client without registered addresses may redirect payers from a sandbox domain to any address.
// From a live domain, it may not redirect payers.
func TestUnregisteredClients(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for domainName, status := range map[string]int{"other": 200, "live": 400} {
			var err error
			if s.domainOf(domainName).client, _, err = s.Access.Register(t.Context(), s.domainOf(domainName).domain.ID, "new", nil); err != nil {
				t.Fatal(err)
			}
			code, message := "", ""
			if status == 400 {
				code, message = "invalidValue", "client_redirect_uri: "
			}
			s.do(t, ask{domain: domainName, method: "POST", path: "/payments", token: "admin", body: minimalDraft}).says(t, status, code, message)
		}
	})
}
