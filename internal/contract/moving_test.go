package contract_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
)

const movingPage = "../../docs/moving-in.md"

// move has the checks of one line of a table in docs/moving-in.md.
type move struct {
	// line is the text of the first cell.
	line  string
	rows  []row
	prove func(t *testing.T, w *fixture)
}

var moves = slices.Concat(addressMoves, credentialMoves, settingMoves, webhookMoves, differenceMoves)

var addressMoves = []move{
	{line: "API address `https://{host}/2.0`", rows: []row{{call: "GET /2.0/users/me", as: "user", status: 200, shapes: "User"}}},
	{line: "An address that ends in `/2.0`, to which the program adds `/2.0` again", rows: []row{
		{call: "GET /2.0/2.0/users/me", as: "user", status: 200, shapes: "User"},
		begins("", "", "/2.0/2.0/auth/webview/en/connect?code={new code}", "/2.0/auth/webview/en/connect"),
	}},
	{line: "`/webhooks/auth` without `/2.0`", rows: []row{
		{call: "POST /webhooks/auth?type=hmac_signature&name=moving", as: "config", status: 200, shapes: "Provider Secret"},
		{call: "GET /webhooks/auth", as: "config", status: 200, shapes: "Providers"},
		{call: "GET /users/me", as: "user", status: 404, shapes: "Error"},
	}},
	{line: "Paths with a slash at the end", rows: []row{{call: "GET /2.0/users/me/", as: "user", status: 200, shapes: "User"}}},
	{line: "Pages at `https://{webview host}/{lang}/{flow}`", rows: []row{begins("", "", "/webview/en/connect?code={new code}", "/webview/en/connect")}},
	{line: "Pages at `{base}/auth/webview/{lang}/{flow}`", rows: []row{begins("", "", "/2.0/auth/webview/en/connect?code={new code}", "/2.0/auth/webview/en/connect")}},
	{line: "Pages at `{base}/auth/share/`, `{base}/auth/webview/connect/select` or `{base}/auth/webview/accounts`", rows: []row{
		begins("", "", "/2.0/auth/share/", "/2.0/auth/webview/en/connect"),
		begins("", "", "/2.0/auth/webview/connect/select", "/2.0/auth/webview/en/connect"),
		begins("", "", "/2.0/auth/share/?code={new code}", "/2.0/auth/webview/en/manage"),
		begins("", "", "/2.0/auth/webview/accounts?code={new code}", "/2.0/auth/webview/en/manage"),
	}},
	{line: "`domain` in the link of a page", rows: []row{
		begins("", "", "/webview/en/connect?domain=127.0.0.1&code={new code}", "/webview/en/connect"),
		begins("", "", "/webview/en/connect?code={new code}", "/webview/en/connect"),
	}, prove: refuses("/webview/en/connect?client_id={client}&redirect_uri=https%3A%2F%2Fshop.example%2Fback&domain=elsewhere.example")},
	{line: "`redirect_uri`", prove: func(t *testing.T, w *fixture) {
		t.Helper()
		w.OK(w.Call("PUT", "/clients/"+w.ClientID, w.ConfigToken, map[string]any{"redirect_uris": []string{receives}}))
		refuses("/webview/en/connect?client_id={client}&redirect_uri=https%3A%2F%2Fshop.example%2Felsewhere")(t, w)
		w.OK(w.Call("PUT", "/clients/"+w.ClientID, w.ConfigToken, map[string]any{"redirect_uris": []string{}}))
	}},
	{line: "`/users/me/…`, `/users/{id}/…`, or short paths such as `/connections/{id}`", rows: []row{
		{call: "GET /2.0/users/me/connections/{connection}", as: "user", status: 200, shapes: "Connection"},
		{call: "GET /2.0/users/{user}/connections/{connection}", as: "user", status: 200, shapes: "Connection"},
		{call: "GET /2.0/connections/{connection}", as: "user", status: 200, shapes: "Connection"},
	}},
	{line: "`/banks`, `/providers`, `id_bank`, `id_provider`", rows: []row{
		{call: "GET /2.0/banks", status: 200, shapes: "Banks"},
		{call: "GET /2.0/providers", status: 200, shapes: "Providing"},
		{call: "POST /2.0/users/me/connections", as: "Bearer {new user token}", kind: asForm, body: "id_bank=40&login=one&password=1234", status: 200, shapes: "Connection"},
		{call: "POST /2.0/users/me/connections", as: "Bearer {new user token}", kind: asForm, body: "id_provider=64&login=one&password=1234", status: 200, shapes: "Connection"},
	}},
	{line: "The test connector `338178e6-3d01-564f-9a7b-52ca442459bf`", rows: []row{{call: "GET /2.0/connectors/338178e6-3d01-564f-9a7b-52ca442459bf", status: 200, shapes: "Connector", says: []string{`"id":40,`}}}},
}

var credentialMoves = []move{
	{line: "`client_id` and `client_secret` in JSON, a form or the query", rows: []row{
		{call: "POST /2.0/auth/init", kind: asJSON, body: `{"client_id":{client},"client_secret":"{secret}"}`, status: 200, shapes: "Init"},
		{call: "POST /2.0/auth/init", kind: asForm, body: `client_id={client}&client_secret={secret}`, status: 200, shapes: "Init"},
		{call: "POST /2.0/auth/init?client_id={client}&client_secret={secret}", status: 200, shapes: "Init"},
	}},
	{line: "HTTP Basic, even with a colon after the secret", rows: []row{
		{call: "POST /2.0/auth/init", as: "basic", status: 200, shapes: "Init"},
		{call: "POST /2.0/auth/init", as: "Basic {basic colon}", status: 200, shapes: "Init"},
	}},
	{line: "A token that the other service issued", rows: []row{{call: "GET /2.0/users/me", as: "Bearer 4mRjTZqzqWuFmxxpS1Jc", status: 401, shapes: "Error", says: []string{`"invalidToken"`}}}},
	{line: "`Authorization: OAuth …`", rows: []row{{call: "GET /2.0/users/me", as: "OAuth {user token}", status: 200, shapes: "User"}}},
	{line: "A temporary code in `Authorization`", rows: []row{{call: "GET /2.0/users/me", as: "Bearer {new code}", status: 403, shapes: "Error", says: []string{`"forbidden"`}}}},
	{line: "`?token=…` instead of a header", rows: []row{
		config(`{"api.query_token":"0"}`),
		{call: "GET /2.0/users/me?token={user token}", status: 401, shapes: "Error"},
		config(`{"api.query_token":"1"}`),
		{call: "GET /2.0/users/me?token={user token}", status: 200, shapes: "User"},
		{call: "POST /2.0/users/me/config?token={user token}", kind: asJSON, body: `{"a":"b"}`, status: 401, shapes: "Error"},
	}},
}

var settingMoves = []move{
	{line: "`api.timezone`", rows: []row{ // it is nine o'clock in UTC
		{call: "GET /2.0/users/me", as: "user", status: 200, shapes: "User", says: []string{`"signin":"2026-11-20 09:00:00"`}},
		config(`{"api.timezone":"Europe/Paris"}`),
		{call: "GET /2.0/users/me", as: "user", status: 200, shapes: "User", says: []string{`"signin":"2026-11-20 10:00:00"`}},
		config(`{"api.timezone":"UTC"}`),
	}},
	{line: "`biapi.manager.email`, `biapi.allowed_origins`, `webhooks.compressions.enabled`", rows: []row{
		config(`{"biapi.manager.email":"ops@shop.example","biapi.allowed_origins":"https://shop.example","webhooks.compressions.enabled":"0"}`),
		{call: "GET /2.0/config", as: "config", status: 200, shapes: "Config", says: []string{`"svc.manager.email":"ops@shop.example"`, `"api.allowed_origins":"https://shop.example"`, `"webhooks.compression.enabled":"0"`}},
	}},
	{line: "`connection.questions_code`", rows: []row{
		asks(202), config(`{"connection.questions_code":"203"}`), asks(203), config(`{"connection.questions_code":"202"}`),
	}},
	{line: "`payment.auto_confirmation`", rows: []row{says("payment.auto_confirmation", "1")}, prove: func(t *testing.T, w *fixture) {
		t.Helper()
		w.OK(w.Call("POST", "/config", w.ConfigToken, `{"payment.auto_confirmation":"0"}`))
		if state, action := w.approve(t); state != "validating" || action != "confirm" {
			t.Errorf("a payment that was approved is %s and waits for %q", state, action)
		}
		w.OK(w.Call("POST", "/config", w.ConfigToken, `{"payment.auto_confirmation":"1"}`))
		if state, action := w.approve(t); state != "done" || action != "" {
			t.Errorf("a payment that was approved is %s and waits for %q", state, action)
		}
	}},
	{line: "`payment.manual_expire_time_days`", rows: []row{says("payment.manual_expire_time_days", "30")}},
	{line: "`payment.max_amount`", rows: []row{
		pays("9999999.00", 200), config(`{"payment.max_amount":"10"}`), pays("10.01", 400), pays("10.00", 200), config(`{"payment.max_amount":"0"}`),
	}},
	{line: "`payment.periodic.enabled`", rows: []row{
		says("payment.periodic.enabled", "0"), repeats(400), config(`{"payment.periodic.enabled":"1"}`), repeats(200),
	}},
	{line: "`payment.state_updated_webhook.systematic`", prove: func(t *testing.T, w *fixture) {
		t.Helper()
		w.Subscribe("PAYMENT_STATE_UPDATED", "every")
		w.approve(t)
		if got := len(w.Received("every")); got != 3 {
			t.Errorf("%d changes of state are told of, want those to validating, pending and done", got)
		}
		w.OK(w.Call("POST", "/config", w.ConfigToken, `{"payment.state_updated_webhook.systematic":"0"}`))
		w.OK(w.Call("DELETE", "/webhooks", w.ConfigToken, nil))
		w.Subscribe("PAYMENT_STATE_UPDATED", "few")
		w.approve(t)
		if got := len(w.Received("few")); got != 0 {
			t.Errorf("%d changes of state are told of that the payer brings to the application", got)
		}
		w.OK(w.Call("POST", "/config", w.ConfigToken, `{"payment.state_updated_webhook.systematic":"1"}`))
	}},
	{line: "Other keys of the family, such as `connectors.enable_new`", rows: []row{
		config(`{"connectors.enable_new":"1"}`), says("connectors.enable_new", "1"),
	}},
	{line: "An unknown key", rows: []row{{call: "POST /2.0/config", as: "config", kind: asJSON, body: `{"nobody.knows":"1"}`, status: 400, shapes: "Error", says: []string{`"code":"invalidValue"`, "nobody.knows"}}}},
}

var webhookMoves = []move{
	{line: "`BI-Signature` and `BI-Signature-Date`", rows: []row{says("webhooks.signature.aliases", "BI")}, prove: func(t *testing.T, w *fixture) {
		t.Helper()
		w.Subscribe("USER_CREATED", "both")
		w.user(t)
		head := w.last(t, "both").Headers
		for _, name := range []string{"Signature", "Signature-Date"} {
			if head.Get("BI-"+name) == "" || head.Get("BI-"+name) != head.Get("SVC-"+name) {
				t.Errorf("BI-%s is %q, and SVC-%s %q", name, head.Get("BI-"+name), name, head.Get("SVC-"+name))
			}
		}
	}},
	{line: "HMAC-SHA256 over `POST.{path}.{date}.{body}`, in base64", prove: func(t *testing.T, w *fixture) {
		t.Helper()
		secret := w.Subscribe("USER_CREATED", "hmac")
		w.user(t)
		got := w.last(t, "hmac")
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte("POST./sandbox/receiver/hmac." + got.Headers.Get("BI-Signature-Date") + "." + got.Body))
		if want := base64.StdEncoding.EncodeToString(mac.Sum(nil)); got.Headers.Get("BI-Signature") != want {
			t.Errorf("the signature is %s, want %s", got.Headers.Get("BI-Signature"), want)
		}
	}},
	{line: "`id_auth` by id or by name", rows: []row{
		{call: "POST /2.0/webhooks", as: "config", kind: asForm, body: "event=USER_SYNCED&url=https%3A%2F%2Fshop.example%2Fhook&id_auth=hmac", status: 200, shapes: "Webhook"},
	}, prove: func(t *testing.T, w *fixture) {
		t.Helper()
		w.Subscribe("USER_CREATED", "numbered") // Subscribe registers the webhook with the number of the authentication provider
	}},
	{line: "The user's token in `Authorization`", prove: func(t *testing.T, w *fixture) {
		t.Helper()
		url, heads := listens(t)
		w.OK(w.Call("POST", "/webhooks", w.ConfigToken, `{"event":"USER_CREATED","url":"`+url+`"}`))
		_, token := w.user(t)
		if got := (<-heads)["Authorization"]; got != "Bearer "+token {
			t.Errorf("the header is %q, and the token of the user another", got)
		}
	}},
	{line: "The name of the event", prove: func(t *testing.T, w *fixture) {
		t.Helper()
		w.Subscribe("USER_CREATED", "named")
		w.user(t)
		got := w.last(t, "named")
		if got.Headers.Get("SVC-Event") != "USER_CREATED" || strings.Contains(got.Body, "USER_CREATED") {
			t.Errorf("SVC-Event is %q, the body %s", got.Headers.Get("SVC-Event"), got.Body)
		}
	}},
	{line: "One address for all events, or one for each", prove: func(t *testing.T, w *fixture) {
		t.Helper()
		w.Subscribe("USER_CREATED", "one")
		w.OK(w.Call("POST", "/webhooks", w.ConfigToken, `{"event":"USER_DELETED","url":"`+w.Origin+`/sandbox/receiver/one","id_auth":"one"}`))
		_, token := w.user(t)
		w.last(t, "one") // this comes first, because deleting the user deletes the events about the user
		w.OK(w.Call("DELETE", "/users/me", token, nil))
		var came []string
		for _, r := range w.Received("one") {
			came = append(came, r.Headers.Get("SVC-Event"))
		}
		if slices.Sort(came); !slices.Equal(came, []string{"USER_CREATED", "USER_DELETED"}) { // the service may send different webhooks in any order
			t.Errorf("one address gets %v", came)
		}
	}},
	{line: "Plain `http` or a private address", prove: proveLive},
}

var differenceMoves = []move{
	{line: "`total` counts all matches of a filter", prove: func(t *testing.T, w *fixture) {
		t.Helper()
		token := w.Token("payments:admin")
		for range 1001 {
			w.OK(w.Call("POST", "/payments", token, `{"client_redirect_uri":"https://shop.example/back","instructions":[{"amount":1,"currency":"EUR","label":"one of many","execution_date_type":"instant",
				"beneficiary":{"scheme_name":"iban","identification":"FR7630006000011234567890189","label":"Shop"}}]}`))
		}
		for query, want := range map[string]string{"": `"total_exceeded":true`, "&exact_total=true": `"total":1001`} {
			a := w.OK(w.Call("GET", "/payments?limit=1&label=one+of+many"+query, token, nil))
			if !strings.Contains(string(a.Body), want) {
				t.Errorf("%q: the answer has no %s: %s", query, want, a.Body)
			}
		}
	}},
	{line: "403 for a token that is not valid", rows: []row{
		{call: "GET /2.0/users/me", as: "Bearer nobody", status: 401, shapes: "Error", says: []string{`"code":"invalidToken"`}},
		{call: "GET /2.0/users", as: "user", status: 403, shapes: "Error", says: []string{`"code":"forbidden"`}},
	}},
	{line: "`wrongPass`", rows: []row{{call: "POST /2.0/users/me/connections", as: "user", kind: asJSON, body: `{"connector_uuid":"{test connector}","login":"one","password":"wrong"}`, status: 400, shapes: "Error", says: []string{`"code":"wrongpass"`}}}},
	{line: "400 `noAccount`", rows: []row{{call: "GET /2.0/users/me/transactions?limit=10", as: "Bearer {new user token}", status: 409, shapes: "Error", says: []string{`"code":"noAccount"`}}}},
	{line: "`request_id` as a number or in hexadecimal", rows: []row{{call: "GET /2.0/nothing", as: "user", status: 404, shapes: "Error"}}},
	{line: "`fields` of a payment as an array", prove: func(t *testing.T, w *fixture) {
		t.Helper()
		id := w.fill(t, "{new payment}")
		a := w.OK(w.Call("POST", "/payments/"+id, w.Token("payments:admin"), `{"connector_uuid":"`+testConnector+`","validate_mechanism":"webauth","fields":{"use_case_pay":"otp_sms"},"webview_url":"https://shop.example/pay","validated":true}`))
		var out struct {
			Action string
			Fields map[string]struct{ Name, Type string }
		}
		w.JSON(a, &out)
		if field := out.Fields["openapisms"]; out.Action != "additionalInformationNeeded" || field.Name != "openapisms" || field.Type != "text" {
			t.Errorf("the fields asked for: %s", a.Body)
		}
	}},
	{line: "A list without `limit` is refused", rows: []row{
		{call: "GET /2.0/users/me/transactions", as: "user", status: 200, shapes: "Transactions"},
		{call: "GET /2.0/users/me/transactions?limit=1001", as: "user", status: 400, shapes: "Error"},
	}},
	{line: "`amount` with ten decimals", rows: []row{{call: "GET /2.0/payments/{payment}", as: "service", status: 200, shapes: "Payment", says: []string{`"amount":12.50,`}}}},
	{line: "A list without items fails or has no totals", rows: []row{{call: "GET /2.0/users/me/connections", as: "Bearer {new user token}", status: 200, shapes: "Past", says: []string{`"total":0`}}}},
	{line: "An incompatibility does not name its connector", rows: []row{{call: "GET /2.0/payments/{payment}/incompatibilities?all=true", as: "service", status: 200, shapes: "[Incompatible]"}}},
	{line: "Repeating `POST /payments` creates a second payment", prove: func(t *testing.T, w *fixture) {
		t.Helper()
		first, second := w.repeated(t), w.repeated(t)
		if string(first.Body) != string(second.Body) || second.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s and then %s", first.Body, second.Body)
		}
	}},
	{line: "Misspelt parameters are ignored", rows: []row{{call: "GET /2.0/users/me?colour=blue", as: "user", status: 200, shapes: "User"}}, prove: func(t *testing.T, w *fixture) {
		t.Helper()
		request := row{call: "GET /2.0/users/me?colour=blue", as: "user"}.request(t, w)
		request.Header.Set("Prefer", "handling=strict")
		if a := w.Do(request); a.Status != 400 || !strings.Contains(string(a.Body), "colour") {
			t.Errorf("%d: %s", a.Status, a.Body)
		}
	}},
	{line: "An event cannot be sent again", prove: func(t *testing.T, w *fixture) {
		t.Helper()
		w.Subscribe("PAYMENT_STATE_UPDATED", "again")
		w.approve(t)
		before := w.Received("again")
		var page struct{ Data []struct{ ID json.Number } }
		of := "/webhooks/" + before[0].Headers.Get("SVC-Webhook-Id") + "/data"
		w.JSON(w.OK(w.Call("GET", of, w.ConfigToken, nil)), &page)
		w.OK(w.Call("POST", of+"/"+page.Data[0].ID.String()+"/resend", w.ConfigToken, nil))
		after := w.Received("again")
		same := func(r servicetest.Received) bool { return r.Body == after[len(after)-1].Body }
		if len(after) != len(before)+1 || !slices.ContainsFunc(before, same) {
			t.Errorf("the receiver got %v, and then %v", before, after)
		}
	}},
}

func config(body string) row {
	return row{call: "POST /2.0/config", as: "config", kind: asJSON, body: body, status: 200, shapes: "Config"}
}

func says(key, value string) row {
	return row{call: "GET /2.0/config?search=" + key, as: "config", status: 200, shapes: "Config", says: []string{`"` + key + `":"` + value + `"`}}
}

func asks(status int) row {
	return row{call: "POST /2.0/users/me/connections", as: "Bearer {new user token}", kind: asForm, body: "id_connector=40&login=otp&password=1234", status: status, shapes: "Connection"}
}

func pays(amount string, status int) row {
	return drafts(`"amount":`+amount+`,"execution_date_type":"instant"`, status)
}

func repeats(status int) row {
	return drafts(`"amount":1,"execution_date_type":"periodic","frequency":"monthly","start_date":"2026-12-01"`, status)
}

func drafts(instruction string, status int) row {
	shape := map[int]string{200: "Payment", 400: "Error"}[status]
	return row{call: "POST /2.0/payments", as: "service", kind: asJSON, status: status, shapes: shape, body: `{"client_redirect_uri":"https://shop.example/back","instructions":[{` + instruction +
		`,"currency":"EUR","label":"Invoice","beneficiary":{"scheme_name":"iban","identification":"FR7630006000011234567890189","label":"Shop"}}]}`}
}

func refuses(link string) func(t *testing.T, w *fixture) {
	return func(t *testing.T, w *fixture) {
		t.Helper()
		a := w.Do(row{call: "GET " + link}.request(t, w))
		if a.Status != 400 || a.Header.Get("Location") != "" || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d, %v", link, a.Status, a.Header)
		}
	}
}

// approve creates a payment, and makes a payer approve it at the bank and return.
func (w *fixture) approve(t *testing.T) (state, action string) {
	t.Helper()
	path := "/payments/" + w.fill(t, "{new payment}")
	var out struct {
		State, Action string
		URI           string `json:"validate_uri"`
	}
	w.JSON(w.OK(w.Call("POST", path, w.Token("payments:admin"), `{"connector_uuid":"`+testConnector+`","validate_mechanism":"webauth","webview_url":"https://shop.example/pay","validated":true}`)), &out)
	request := row{call: "POST /", kind: asForm, body: "decision=approve"}.request(t, w)
	bank, err := request.URL.Parse(out.URI)
	if err != nil {
		t.Fatal(err)
	}
	request.URL = bank
	if end := newPerson(t, w).show(request); !strings.HasPrefix(end.at.String(), "https://shop.example/pay") {
		t.Fatalf("the payer ends at %s (%d): %s", end.at, end.status, end.body)
	}
	w.OK(w.Call("POST", "/sandbox/run", w.ConfigToken, nil))
	out.Action = ""
	w.JSON(w.OK(w.Call("GET", path, w.Token("payments:admin"), nil)), &out)
	return out.State, out.Action
}

// repeated sends the same request with the same Idempotency-Key in each call.
func (w *fixture) repeated(t *testing.T) servicetest.Answer {
	t.Helper()
	request := row{call: "POST /2.0/payments", as: "service", kind: asJSON, body: pays("1", 200).body}.request(t, w)
	request.Header.Set("Idempotency-Key", "order-42")
	return w.OK(w.Do(request))
}

// last returns the only request to the built-in receiver under a name.
func (w *fixture) last(t *testing.T, name string) servicetest.Received {
	t.Helper()
	all := w.Received(name)
	if len(all) != 1 {
		t.Fatalf("%d requests came to %s", len(all), name)
	}
	return all[0]
}

// proveLive checks that a live domain accepts webhooks with https and refuses webhooks with http.
func proveLive(t *testing.T, w *fixture) {
	t.Helper()
	const host = "live.example"
	domain, err := service.EnsureDomain(t.Context(), w.DB, passerelle.Domain{Name: "live", Kind: passerelle.Live, BaseURL: "https://" + host + "/2.0", Created: opening()})
	if err != nil {
		t.Fatal(err)
	}
	grant, err := w.Access.IssueOperator(t.Context(), domain.ID, access.ConfigToken)
	if err != nil {
		t.Fatal(err)
	}
	for url, status := range map[string]int{"http": 400, "https": 200} {
		request := row{call: "POST /2.0/webhooks", as: "Bearer " + grant.Text, kind: asJSON, body: `{"event":"USER_CREATED","url":"` + url + `://shop.example/hook"}`}.request(t, w)
		request.Host = host
		if a := w.Do(request); a.Status != status {
			t.Errorf("%s in a live domain: %d %s", url, a.Status, a.Body)
		}
	}
}

// TestMovingIn executes the checks of each line in the tables of docs/moving-in.md.
func TestMovingIn(t *testing.T) {
	all := read(t, every...)
	lines := tableLines(t, movingPage)
	var proven []string
	for _, m := range moves {
		proven = append(proven, m.line)
	}
	for _, line := range lines {
		if !slices.Contains(proven, line) {
			t.Errorf("nothing proves the line %q", line)
		}
	}
	servicetest.Each(t, servicetest.Options{Now: opening}, func(t *testing.T, s *servicetest.Instance) {
		w := newFixture(t, s)
		for _, m := range moves {
			t.Run(strings.ReplaceAll(m.line, "/", "∕"), func(t *testing.T) {
				if !slices.Contains(lines, m.line) {
					t.Errorf("%s has no such line", movingPage)
				}
				for _, r := range m.rows {
					r.check(t, w, all)
				}
				if m.prove != nil {
					m.prove(t, w)
				}
			})
		}
	})
}

func tableLines(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var cells []string
	inside := false
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "|") {
			inside = false
			continue
		}
		if inside {
			cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
			cells = append(cells, cell)
		}
		inside = inside || strings.HasPrefix(line, "|---")
	}
	return cells
}
