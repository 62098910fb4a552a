package api_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"passerelle/internal/store"
)

func (r reply) says(t *testing.T, status int, code, message string) reply {
	t.Helper()
	if r.status != status {
		t.Errorf("status %d, want %d: %s", r.status, status, r.body)
		return r
	}
	if code == "" {
		return r
	}
	if gotCode, gotMessage := r.message(t); gotCode != code || !strings.Contains(gotMessage, message) {
		t.Errorf("%s %q, want %s with %q", gotCode, gotMessage, code, message)
	}
	return r
}

// The same values in every allowed form of a body have the same effect.
func TestFormsOfABody(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		client := s.domainOf("")
		fields := url.Values{"grant_type": {"client_credentials"}, "client_id": {fmt.Sprint(client.client.ID)}, "client_secret": {client.secret}, "scope": {"payments:validate,payments:read-only"}}
		basic := map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(client.client.ID)+":"+client.secret))}
		old := map[string]string{"Authorization": "basic " + base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(client.client.ID)+":"+client.secret+":"))}
		asJSON := fmt.Sprintf(`{"client_id":%d,"client_secret":%q,"scope":["payments:validate","payments:read-only"]}`, client.client.ID, client.secret)
		path := "/auth/token"
		for name, a := range map[string]ask{
			"JSON":                       {path: path, body: asJSON},
			"JSON without content type":  {path: path, body: asJSON, header: map[string]string{"Content-Type": ""}},
			"JSON with a charset":        {path: path, body: asJSON, contentType: "application/json; charset=utf-8"},
			"a JSON dialect":             {path: path, body: asJSON, contentType: "application/vnd.client+json"},
			"form":                       {path: path, body: fields.Encode(), contentType: "application/x-www-form-urlencoded"},
			"multipart":                  {path: path, body: multipart(pairs(fields)...), contentType: "multipart/form-data; boundary=b"},
			"query":                      {path: path + "?" + fields.Encode()},
			"query, JSON type, no body":  {path: path + "?" + fields.Encode(), contentType: "application/json"},
			"query, empty object":        {path: path + "?" + fields.Encode(), body: "{}"},
			"some here, some there":      {path: path + "?scope=payments:validate+payments:read-only", body: fmt.Sprintf(`{"client_id":"%d","client_secret":%q}`, client.client.ID, client.secret)},
			"the same in both":           {path: path + "?" + fields.Encode(), body: fields.Encode(), contentType: "application/x-www-form-urlencoded"},
			"HTTP Basic":                 {path: path, header: basic, body: `{"scope":"payments:validate payments:read-only"}`},
			"HTTP Basic of old clients":  {path: path, header: old, body: `{"scope":"payments:validate payments:read-only"}`},
			"HTTP Basic and an id":       {path: path, header: basic, body: fmt.Sprintf(`{"client_id":%d,"scope":"payments:validate payments:read-only"}`, client.client.ID)},
			"HTTP Basic, body first":     {path: path, header: map[string]string{"Authorization": "Basic MTox"}, body: asJSON},
			"version twice":              {path: "/2.0/2.0" + path, bare: true, body: asJSON},
			"trailing slash":             {path: path + "/", body: asJSON},
			"unknown fields":             {path: path + "?unknown=1", body: strings.Replace(asJSON, "{", `{"application":"sharedAccess",`, 1)},
			"Accept is not looked at":    {path: path, body: asJSON, header: map[string]string{"Accept": "text/html"}},
			"a token is not looked at":   {path: path, body: asJSON, credential: "nonsense"},
			"a key is not looked at":     {path: path, body: asJSON, header: map[string]string{"Idempotency-Key": "k"}},
			"percent-encoded path":       {path: "/%61uth/token", body: asJSON},
			"fields of the JSON as null": {path: path, body: strings.Replace(asJSON, "{", `{"grant_type":null,`, 1), header: map[string]string{"Content-Type": "application/problem+json"}},
		} {
			a.method = "POST"
			var out struct{ Token, Scope string }
			r := s.do(t, a)
			if r.status != 200 {
				t.Errorf("%s: %d %s", name, r.status, r.body)
				continue
			}
			r.decode(t, &out)
			s.do(t, ask{method: "GET", path: "/payments", credential: out.Token}).says(t, 200, "", "")
			if out.Scope != "payments:validate payments:read-only" {
				t.Errorf("%s: scope %q", name, out.Scope)
			}
		}
		s.do(t, ask{method: "POST", path: path, header: basic, body: `{"client_id":1,"scope":"payments:validate"}`}).says(t, 400, "invalidValue", "client_id")
	})
}

func multipart(fields ...string) string {
	var b strings.Builder
	for i := 0; i < len(fields); i += 2 {
		fmt.Fprintf(&b, "--b\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", fields[i], fields[i+1])
	}
	return b.String() + "--b--\r\n"
}

func pairs(values url.Values) []string {
	var list []string
	for name := range values {
		list = append(list, name, values.Get(name))
	}
	return list
}

// Existing clients send calls about authentication providers without the version, with all
// parameters in the query, an empty body and the content type of JSON.
func TestProvidersWithoutVersion(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		var made struct {
			ID     int64
			Config struct {
				SecretKey string `json:"secret_key"`
			}
		}
		for i, path := range []string{"/webhooks/auth", "/webhooks/auth/", "/2.0/webhooks/auth", "/2.0/2.0/webhooks/auth"} {
			name := "formance" + strconv.Itoa(i)
			s.do(t, ask{bare: true, method: "POST", path: path + "?type=hmac_signature&name=" + name, token: "config", contentType: "application/json"}).decode(t, &made)
			var listed struct {
				Total int
				List  []struct{ Name string } `json:"authproviders"`
			}
			s.do(t, ask{bare: true, method: "GET", path: path + "?limit=1000", token: "config"}).decode(t, &listed)
			if made.Config.SecretKey == "" || listed.Total != i+1 || listed.List[i].Name != name {
				t.Errorf("%s: made %+v, listed %+v", path, made, listed)
			}
		}
		s.do(t, ask{bare: true, method: "POST", path: "/webhooks/auth?type=hmac_signature&name=x", token: ""}).says(t, 401, "invalidToken", "")
	})
}

// A method that a path does not have gets a 405 that names the allowed methods. The response to
// HEAD is the response to GET without the body.
func TestMethods(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		id := strconv.FormatInt(s.created(t, ""), 10)
		allowed := map[string]string{
			"/auth/token": "DELETE, POST", "/payments": "GET, HEAD, POST", "/payments/" + id: "GET, HEAD, POST, PUT", "/payments/" + id + "/scopedtoken": "POST",
			"/webhooks": "DELETE, GET, HEAD, POST", "/config": "GET, HEAD, POST, PUT", "/config/logs": "GET, HEAD", "/webhooks/1/data/1/resend": "POST", "/webhooks/auth": "DELETE, GET, HEAD, POST", "/webhooks/auth/1": "DELETE, GET, HEAD, POST, PUT", "/webhooks/auth/1/rotate": "POST", "/webhooks/1": "DELETE, GET, HEAD, POST, PUT",
			"/sandbox/clock": "GET, HEAD, POST", "/sandbox/run": "POST", "/sandbox/receiver": "DELETE, GET, HEAD", "/sandbox/mails": "GET, HEAD", "/openapi.json": "GET, HEAD",
		}
		for path, allow := range allowed {
			for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW", "get"} {
				if slices.Contains(strings.Split(allow, ", "), method) {
					continue
				}
				r := s.do(t, ask{method: method, path: path})
				if r.status != 405 || r.header.Get("Allow") != allow {
					t.Errorf("%s %s: %d, Allow %q, want %q", method, path, r.status, r.header.Get("Allow"), allow)
				}
				if method != "HEAD" {
					r.says(t, 405, "methodNotAllowed", allow)
				}
			}
		}
		for _, path := range []string{"/payments", "/payments/" + id, "/payments/" + noID, "/openapi.json"} {
			head, get := s.do(t, ask{method: "HEAD", path: path, token: "admin"}), s.do(t, ask{method: "GET", path: path, token: "admin"})
			if head.status != get.status || len(head.body) != 0 || head.header.Get("Content-Length") != get.header.Get("Content-Length") {
				t.Errorf("HEAD %s: %d %v, GET: %d %v", path, head.status, head.header, get.status, get.header)
			}
		}
	})
}

// Requests may contain amounts as numbers or as text. Responses show as many digits as the currency
// has.
func TestAmountsKeepTheirDigits(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for sent, want := range map[string]string{
			`12.5`: "12.50", `"12.5"`: "12.50", `"1"`: "1.00", `1.0000000000`: "1.00", `0.01`: "0.01", `999999999.99`: "999999999.99", `"100000000.10"`: "100000000.10", `9007199.25`: "9007199.25",
		} {
			r := s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: strings.Replace(minimalDraft, "12.5", sent, 1)})
			if r.status != 200 || !strings.Contains(string(r.body), `"amount":`+want+",") {
				t.Errorf("%s: %d %s", sent, r.status, r.body)
			}
		}
		yen := strings.NewReplacer("12.5", `"500.0"`, "EUR", "JPY").Replace(minimalDraft)
		if r := s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: yen}); !strings.Contains(string(r.body), `"amount":500,`) {
			t.Errorf("yen: %d %s", r.status, r.body)
		}
	})
}

// An unknown name is an error only if the request prefers strict handling.
func TestStrictHandling(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		id, connection := strconv.FormatInt(s.created(t, ""), 10), fmt.Sprint("/connections/", s.connected(t, "", "one").ID)
		line := strings.Replace(minimalDraft, `"label":"Invoice"`, `"label":"Invoice","amonut":1`, 1)
		identity := strings.Replace(minimalDraft, "{", `{"payer_identity":{"first_name":"J","last_name":"M","org_name":"O"},`, 1)
		for _, c := range []struct {
			ask
			message string
		}{
			{ask{method: "GET", path: "/payments?limt=1", token: "admin"}, `limt: unknown; did you mean "limit"?`},
			{ask{method: "GET", path: "/payments?zzz", token: "admin"}, `zzz: unknown`},
			{ask{method: "GET", path: "/payments/" + id + "?show_sensitiv", token: "validate"}, `did you mean "show_sensitive"?`},
			{ask{method: "POST", path: "/payments", token: "admin", body: strings.Replace(minimalDraft, "{", `{"uuid":"x",`, 1)}, "uuid: unknown"},
			{ask{method: "POST", path: "/payments", token: "admin", body: line}, `instructions[0].amonut: unknown; did you mean "amount"?`},
			{ask{method: "POST", path: "/payments", token: "admin", body: identity}, `payer_identity.org_name`},
			{ask{method: "POST", path: "/payments/" + id, token: "validate", body: `{"validation_mechanism":"x","connector_uuid":"` + testConnector + `","webview_url":"https://shop.example/pay"}`}, `validation_mechanism: unknown; did you mean "validate_mechanism"?`},
			{ask{method: "POST", path: "/webhooks", token: "config", body: `{"event":"USER_SYNCED","url":"https://c.example/","add_to_data":1}`}, "add_to_data: unknown"},
			{ask{method: "POST", path: "/connections", token: "user", body: strings.Replace(connecting, "{", `{"logn":"x",`, 1)}, `logn: unknown; did you mean "login"?`},
			{ask{method: "POST", path: "/connections?zzz=1", token: "user", body: connecting}, "zzz: unknown"},
			{ask{method: "POST", path: connection, token: "user", body: `{"otq":"1"}`}, "otq: unknown"},
		} {
			s.do(t, c.ask).says(t, 200, "", "")
			before := s.record()
			c.header = map[string]string{"Prefer": "respond-async, handling=strict"}
			r := s.do(t, c.ask).says(t, 400, "invalidValue", c.message)
			if r.header.Get("Preference-Applied") != "handling=strict" {
				t.Errorf("Preference-Applied %q", r.header.Get("Preference-Applied"))
			}
			s.untouched(t, before)
		}
		strict := map[string]string{"Prefer": "handling=strict"}
		s.do(t, ask{method: "POST", path: "/payments?show_sensitive", token: "admin+validate", body: bulkDraft, header: strict}).says(t, 200, "", "")
	})
}

// A repeated request with the same key gets the first response, byte for byte, and creates nothing.
// A refused request does not use up the key.
func TestRepeatedCreation(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		create := func(key, body string) ask {
			return ask{method: "POST", path: "/payments", token: "admin", body: body, header: map[string]string{"Idempotency-Key": key}}
		}
		first := s.do(t, create("one", minimalDraft)).says(t, 200, "", "")
		before := s.record()
		again := s.do(t, create("one", minimalDraft))
		if string(again.body) != string(first.body) || again.status != 200 || again.header.Get("Idempotency-Replayed") != "true" || first.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("again: %d %v %s, first %s", again.status, again.header, again.body, first.body)
		}
		s.do(t, create("one", bulkDraft)).says(t, 409, "conflict", "Idempotency-Key")
		for _, key := range []string{"", strings.Repeat("k", 256), "é"} {
			s.do(t, create(key, minimalDraft)).says(t, 400, "invalidValue", "Idempotency-Key")
		}
		s.do(t, create("two", strings.Replace(minimalDraft, "12.5", "0", 1))).says(t, 400, "invalidValue", "amount")
		s.untouched(t, before)
		s.do(t, create("two", minimalDraft)).says(t, 200, "", "")
		s.otherOwners(t, create("one", minimalDraft), first)
	})
}

// otherOwners checks that a key belongs to one token and one domain.
func (s *fixture) otherOwners(t *testing.T, a ask, first reply) {
	t.Helper()
	for _, owner := range []ask{{domain: "other", token: "admin"}, {token: "admin+validate"}} {
		a.domain, a.token = owner.domain, owner.token
		r := s.do(t, a).says(t, 200, "", "")
		if string(r.body) == string(first.body) || r.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%v got the answer of somebody else", owner)
		}
	}
}

// Simultaneous requests with one key create one payment.
func TestConcurrentRepetitions(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		a := ask{method: "POST", path: "/payments", token: "admin", body: minimalDraft, header: map[string]string{"Idempotency-Key": "k"}}
		s.token(t, "", "admin", 0)
		before := s.record()
		answers := make(chan reply)
		for range 8 {
			go func() { answers <- s.do(t, a) }()
		}
		bodies := map[string]bool{}
		for range 8 {
			if r := <-answers; r.status == 200 {
				bodies[string(r.body)] = true
			} else {
				r.says(t, 409, "conflict", "in progress")
			}
		}
		rows, _ := before.since(s.record())
		if len(bodies) != 1 || rows["payment"] != 1 {
			t.Errorf("%d answers, rows %v", len(bodies), rows)
		}
	})
}

// During maintenance, the API responds with 503 and a Retry-After header.
func TestMaintenanceClosesEverything(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.token(t, "", "admin", 0)
		s.write(t, func(tx *store.Tx) error { tx.CloseForMaintenance(s.now()); return nil })
		for _, path := range []string{"/payments", "/nowhere", "/openapi.json"} {
			r := s.do(t, ask{method: "GET", path: path, token: "admin"}).says(t, 503, "maintenance", "")
			if r.header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
		}
		s.write(t, func(tx *store.Tx) error { tx.EndMaintenance(); return nil })
		s.do(t, ask{method: "GET", path: "/payments", token: "admin"}).says(t, 200, "", "")
	})
}

// A flag without a value counts as true. The service ignores unknown query parameters.
func TestFlagsAndIgnoredNames(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		path := "/payments/" + strconv.FormatInt(s.created(t, ""), 10)
		for query, status := range map[string]int{
			"": 200, "?show_sensitive=0": 200, "?show_sensitive=false": 200, "?show_sensitive=False": 200, "?all&expand=connector[countries]&unknown[]=%F0%9F%92%A9": 200,
			"?show_sensitive": 403, "?show_sensitive=": 403, "?show_sensitive=1": 403, "?show_sensitive=true": 403, "?show_sensitive=True": 403, "?show_sensitive=2": 400, "?show_sensitive=1&show_sensitive=0": 400,
		} {
			if r := s.do(t, ask{method: "GET", path: path + query, token: "admin"}); r.status != status {
				t.Errorf("%s: %d, want %d: %s", query, r.status, status, r.body)
			}
		}
	})
}

// An empty value in a form is no flag: programs write missing values in this way. It must neither
// cancel a payment nor change anything else.
func TestEmptyFlagsInForms(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		path := "/payments/" + strconv.FormatInt(s.created(t, ""), 10)
		values := []string{"cancel", "", "client_redirect_uri", "https://shop.example/back"}
		before := s.record()
		for contentType, body := range map[string]string{
			"application/x-www-form-urlencoded": "cancel=&client_redirect_uri=https%3A%2F%2Fshop.example%2Fback", "multipart/form-data; boundary=b": multipart(values...),
		} {
			s.do(t, ask{method: "POST", path: path, token: "cancel", contentType: contentType, body: body}).says(t, 400, "invalidValue", "cancel: must be true, false, 1 or 0")
		}
		if _, got := before.since(s.record()); len(got) > 0 {
			t.Errorf("events: %v", got)
		}
		s.do(t, ask{method: "POST", path: path + "?cancel&client_redirect_uri=https://shop.example/back", token: "cancel"}).says(t, 200, "", "")
	})
}

// The same holds for an empty value after an equals sign in the query: "confirm=" must neither
// confirm nor refuse a payment. A flag of the query itself may be empty.
func TestEmptyFlagsInQueries(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		path := "/payments/" + strconv.FormatInt(s.created(t, ""), 10)
		before := s.record()
		for query, field := range map[string]string{
			"cancel=&client_redirect_uri=https://shop.example/back": "cancel", "c%61ncel=&client_redirect_uri=https://shop.example/back": "cancel",
			"confirm=": "confirm", "confirm&confirm=": "confirm", "psu_validate=": "psu_validate", "resume=&show_sensitive=0": "resume",
		} {
			s.do(t, ask{method: "POST", path: path + "?" + query, token: "admin"}).says(t, 400, "invalidValue", field+": must be true, false, 1 or 0")
		}
		if rows, got := before.since(s.record()); len(got) > 0 || rows["attempt"] > 0 {
			t.Errorf("rows %v, events %v", rows, got)
		}
		s.do(t, ask{method: "POST", path: path + "?confirm", token: "admin"}).says(t, 409, "conflict", "")
		s.do(t, ask{method: "GET", path: path + "?show_sensitive=", token: "admin"}).says(t, 403, "", "")
	})
}

// An application's only address may be empty, as programs write missing values in forms. It then
// changes no address. A wrong one is refused under its own name.
func TestOnlyAddressOfAnApplication(t *testing.T) {
	const form, plain = "application/x-www-form-urlencoded", "application/json"
	tests := []struct{ contentType, body, fault, want string }{
		{form, "redirect_uri=&pro=1", "", "https://a.example/x https://b.example/y"},
		{plain, `{"redirect_uri":"","redirect_uris":["https://b.example/y","https://a.example/x"]}`, "", "https://b.example/y https://a.example/x"},
		{plain, `{"redirect_uri":"not"}`, "redirect_uri: must be an absolute", "https://b.example/y https://a.example/x"},
		{plain, `{"redirect_uri":"https://a.example/x?q"}`, "redirect_uri: must have no query", "https://b.example/y https://a.example/x"},
		{form, "redirect_uri=https%3A%2F%2Fa.example%2Fx", "", "https://a.example/x"},
	}
	onEachFixture(t, func(t *testing.T, s *fixture) {
		var app struct {
			ID           int64
			RedirectURIs []string `json:"redirect_uris"`
		}
		s.do(t, ask{method: "POST", path: "/clients", token: "config", body: `{"name":"shop","redirect_uris":["https://a.example/x","https://b.example/y"]}`}).decode(t, &app)
		path := "/clients/" + strconv.FormatInt(app.ID, 10)
		for _, test := range tests {
			r := s.do(t, ask{method: "PUT", path: path, token: "config", contentType: test.contentType, body: test.body})
			if test.fault == "" {
				r.says(t, 200, "", "")
			} else {
				r.says(t, 400, "invalidValue", test.fault)
			}
			if s.do(t, ask{method: "GET", path: path, token: "config"}).decode(t, &app); strings.Join(app.RedirectURIs, " ") != test.want {
				t.Errorf("%s leads to %q, want %s", test.body, app.RedirectURIs, test.want)
			}
		}
	})
}

// The access log contains the pattern of a path instead of ids.
func TestAccessLogHasPatterns(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		s.nothing(t, ask{method: "GET", path: "/payments/" + noID, token: "admin"})
		if log := s.Logs.String(); !strings.Contains(log, `"route":"/2.0/payments/{paymentId}"`) || strings.Contains(log, noID) {
			t.Errorf("the log has no route, or an identifier:\n%s", log)
		}
	})
}
