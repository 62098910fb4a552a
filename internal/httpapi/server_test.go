package httpapi_test

import (
	"crypto/tls"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/access"
	"passerelle/internal/httpapi"
)

// outcome is the expected response. For an error, it has a part of the message instead of the body.
type outcome struct {
	status        int
	code, message string
	body          string
}

func (s *service) check(t *testing.T, c call, want outcome) {
	t.Helper()
	w := s.do(c)
	if w.Code != want.status {
		t.Errorf("status %d, want %d; body %s", w.Code, want.status, w.Body)
	}
	if want.body != "" && w.Body.String() != want.body {
		t.Errorf("body %s, want %s", w.Body, want.body)
	}
	if want.code == "" {
		return
	}
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("error body %q: %v", w.Body, err)
	}
	keys := slices.Sorted(maps.Keys(got))
	if diff := cmp.Diff([]string{"code", "description", "message", "request_id"}, keys); diff != "" {
		t.Errorf("keys of the error body (-want +got):\n%s", diff)
	}
	message, _ := got["message"].(string)
	if got["code"] != want.code || !strings.Contains(message, want.message) || (want.message == "") != (message == "") {
		t.Errorf("code %v message %q, want %s with %q", got["code"], message, want.code, want.message)
	}
	if got["request_id"] != "1234" || w.Header().Get("X-Request-Id") != "1234" || got["description"] == "" {
		t.Errorf("request id or description missing: %s", w.Body)
	}
}

func TestRouting(t *testing.T) {
	s := newService(t)
	notFound := outcome{status: 404, code: "notFound", message: "No such resource."}
	for name, test := range map[string]struct {
		call call
		want outcome
	}{
		"found":                     {call{url: "/2.0/items/3", token: "reader"}, outcome{status: 200, body: `{"id":3}`}},
		"doubled version":           {call{url: "/2.0/2.0/items/3", token: "reader"}, outcome{status: 200, body: `{"id":3}`}},
		"tripled version":           {call{url: "/2.0/2.0/2.0/items/3", token: "reader"}, notFound},
		"without version":           {call{url: "/items/3", token: "reader"}, notFound},
		"trailing slash":            {call{url: "/2.0/items/3/", token: "reader"}, outcome{status: 200, body: `{"id":3}`}},
		"two trailing slashes":      {call{url: "/2.0/items/3//", token: "reader"}, notFound},
		"empty segment":             {call{url: "/2.0//items", token: "reader"}, notFound},
		"dots":                      {call{url: "/2.0/x/../items", token: "reader"}, notFound},
		"escaped dots":              {call{url: "/2.0/%2e%2e/items", token: "reader"}, notFound},
		"escaped slash":             {call{url: "/2.0/items%2F3", token: "reader"}, notFound},
		"root":                      {call{url: "/"}, notFound},
		"version only":              {call{url: "/2.0/"}, notFound},
		"unknown path":              {call{url: "/2.0/nothing"}, notFound},
		"unknown host":              {call{url: "http://three.example/2.0/items", token: "reader"}, notFound},
		"unversioned":               {call{method: "POST", url: "/webhooks/auth?type=x"}, outcome{status: 202, body: `{}`}},
		"literal over parameter":    {call{method: "POST", url: "/2.0/webhooks/auth"}, outcome{status: 202, body: `{}`}},
		"parameter after literal":   {call{url: "/2.0/webhooks/7/logs"}, outcome{status: 200, body: `{"id":7}`}},
		"literal as a parameter":    {call{url: "/2.0/webhooks/auth/logs"}, notFound},
		"post":                      {call{method: "POST", url: "/2.0/items/3", token: "admin"}, outcome{status: 200, body: `{"id":3}`}},
		"its twin put":              {call{method: "PUT", url: "/2.0/items/3", token: "admin"}, outcome{status: 200, body: `{"id":3}`}},
		"no content":                {call{method: "DELETE", url: "/2.0/items/3", token: "admin"}, outcome{status: 204}},
		"id zero":                   {call{url: "/2.0/items/0", token: "reader"}, notFound},
		"id negative":               {call{url: "/2.0/items/-1", token: "reader"}, notFound},
		"id with sign":              {call{url: "/2.0/items/+1", token: "reader"}, notFound},
		"id with leading zero":      {call{url: "/2.0/items/01", token: "reader"}, notFound},
		"id too large":              {call{url: "/2.0/items/9223372036854775808", token: "reader"}, notFound},
		"id not a number":           {call{url: "/2.0/items/x%00", token: "reader"}, notFound},
		"several ids":               {call{url: "/2.0/several/3,1,3"}, outcome{status: 200, body: `{"got":[3,1,3]}`}},
		"one of several ids":        {call{url: "/2.0/several/3"}, outcome{status: 200, body: `{"got":[3]}`}},
		"several ids, one empty":    {call{url: "/2.0/several/3,"}, notFound},
		"several ids, one none":     {call{url: "/2.0/several/3,x"}, notFound},
		"too many ids":              {call{url: "/2.0/several/1" + strings.Repeat(",1", 1000)}, outcome{status: 400, code: "invalidValue", message: "itemIds: names more than 1000 items"}},
		"me":                        {call{url: "/2.0/users/me/things", token: "user"}, outcome{status: 200, body: `{"got":42}`}},
		"short form":                {call{url: "/2.0/things", token: "user"}, outcome{status: 200, body: `{"got":42}`}},
		"part of one pattern alone": {call{url: "/2.0/groups/3/things", token: "user"}, outcome{status: 200, body: `{"got":[42,3]}`}},
		"user by number":            {call{url: "/2.0/users/7/things", token: "user"}, outcome{status: 200, body: `{"got":7}`}},
		"me is for users only":      {call{url: "/2.0/items/me", token: "reader"}, notFound},
		"public, with a bad token":  {call{url: "/2.0/flag?all", token: "?"}, outcome{status: 200, body: `{"got":true}`}},
	} {
		t.Run(name, func(t *testing.T) { s.check(t, test.call, test.want) })
	}
}

func TestMethodNotAllowed(t *testing.T) {
	s := newService(t)
	for url, want := range map[string]string{"/2.0/items": "GET, HEAD, POST", "/2.0/items/1": "DELETE, GET, HEAD, POST, PUT"} {
		for _, method := range []string{"PATCH", "OPTIONS", "TRACE", "get"} {
			c := call{method: method, url: url}
			s.check(t, c, outcome{status: 405, code: "methodNotAllowed", message: want})
			if got := s.do(c).Header().Get("Allow"); got != want {
				t.Errorf("%s %s: Allow %q, want %q", method, url, got, want)
			}
		}
	}
}

func TestHeadIsGetWithoutBody(t *testing.T) {
	s := newService(t)
	w := s.do(call{method: "HEAD", url: "/2.0/items/3", token: "reader"})
	if w.Code != 200 || w.Body.Len() != 0 || w.Header().Get("Content-Length") != "8" {
		t.Errorf("HEAD: %d %q %v", w.Code, w.Body, w.Header())
	}
}

func TestEveryAnswerHasTheSameHeaders(t *testing.T) {
	s := newService(t)
	for _, url := range []string{"/2.0/items/1", "/2.0/nothing", "/2.0/openapi.json", "/2.0/fail/panic"} {
		got := s.do(call{url: url, token: "reader"}).Header()
		got.Del("Content-Length")
		want := http.Header{
			"Content-Type": {"application/json"}, "Cache-Control": {"no-store"},
			"X-Content-Type-Options": {"nosniff"}, "X-Request-Id": {"1234"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: headers (-want +got):\n%s", url, diff)
		}
	}
}

func TestAuthorisation(t *testing.T) {
	s := newService(t)
	url := "/2.0/items/1"
	authorization := func(value string) call {
		return call{url: url, header: map[string]string{"Authorization": value}}
	}
	malformed := outcome{status: 401, code: "invalidToken", message: "Bearer <token>"}
	for name, test := range map[string]struct {
		call call
		want outcome
	}{
		"none":                       {call{url: url}, malformed},
		"empty":                      {authorization(""), malformed},
		"scheme only":                {authorization("Bearer"), malformed},
		"scheme and space":           {authorization("Bearer "), malformed},
		"other scheme":               {authorization("Basic reader"), malformed},
		"two words":                  {authorization("Bearer reader reader"), malformed},
		"lower case":                 {authorization("bearer reader"), outcome{status: 200}},
		"an old name":                {authorization("OAuth reader"), outcome{status: 200}},
		"unknown":                    {call{url: url, token: "x"}, outcome{status: 401, code: "invalidToken", message: "not valid"}},
		"no scope":                   {call{url: url, token: "user"}, outcome{status: 403, code: "forbidden", message: "payments:read-only payments:admin"}},
		"scope, other kind":          {call{method: "POST", url: "/2.0/items", token: "reader"}, outcome{status: 403, code: "forbidden", message: "payments:admin"}},
		"kind":                       {call{url: "/2.0/things", token: "admin"}, outcome{status: 403, code: "forbidden", message: "This kind of token cannot be used for this call, which needs a token of the kind user."}},
		"before the body":            {call{method: "POST", url: "/2.0/items", body: "{"}, malformed},
		"after the route":            {call{url: "/2.0/nothing"}, outcome{status: 404, code: "notFound", message: "No such resource."}},
		"sensitive with the scope":   {call{method: "POST", url: "/2.0/items?show_sensitive=true&name=x", token: "second"}, outcome{status: 200}},
		"sensitive with admin alone": {call{method: "POST", url: "/2.0/items?show_sensitive&name=x", token: "admin"}, outcome{status: 403, code: "forbidden", message: "payments:validate"}},
		"not sensitive":              {call{method: "POST", url: "/2.0/items?show_sensitive=0&name=x", token: "admin"}, outcome{status: 200}},
	} {
		t.Run(name, func(t *testing.T) { s.check(t, test.call, test.want) })
	}
	if got := s.do(call{url: url}).Header().Get("WWW-Authenticate"); got != `Bearer realm="passerelle"` {
		t.Errorf("WWW-Authenticate %q", got)
	}
	twice := call{url: url, token: "reader"}.request()
	twice.Header.Add("Authorization", "Bearer reader")
	if w := s.serve(twice); w.Code != 401 {
		t.Errorf("two Authorization headers: %d", w.Code)
	}
}

func TestMaintenance(t *testing.T) {
	s := newService(t)
	s.down = true
	c := call{url: "/2.0/nothing"}
	s.check(t, c, outcome{status: 503, code: "maintenance", message: "maintenance"})
	if got := s.do(c).Header().Get("Retry-After"); got != "60" {
		t.Errorf("Retry-After %q", got)
	}
	if s.log.Len() > 0 {
		t.Errorf("maintenance is not a fault, but was logged: %s", s.log.String())
	}
	s.check(t, call{url: "http://three.example/2.0/items"}, outcome{status: 404, code: "notFound", message: "No such"})
}

func TestFailures(t *testing.T) {
	for url, want := range map[string]outcome{
		"/2.0/fail/panic":   {status: 500, code: "bug"},
		"/2.0/fail/unknown": {status: 500, code: "bug"},
		"/2.0/fail/outcome": {status: 503, code: "unavailable", message: "did not confirm"},
		"/2.0/fail/render":  {status: 500, code: "bug"},
		"/2.0/fail/slow":    {status: 503, code: "unavailable"},
		"/2.0/fail/later":   {status: 409, code: "conflict", message: "Later."},
	} {
		s := newService(t)
		s.check(t, call{url: url}, want)
		if logged := strings.Contains(s.log.String(), "request_id=1234"); logged != (want.status >= 500) {
			t.Errorf("%s: log %q", url, s.log.String())
		}
		if body := s.do(call{url: url}).Body.String(); strings.Contains(body, "secret") {
			t.Errorf("%s tells the cause: %s", url, body)
		}
	}
	s := newService(t)
	if got := s.do(call{url: "/2.0/fail/later"}).Header().Get("Retry-After"); got != "7" {
		t.Errorf("Retry-After %q", got)
	}
}

func TestCaller(t *testing.T) {
	s := newService(t)
	forwarded := map[string]string{"X-Forwarded-Proto": "http, https", "X-Forwarded-Host": "evil.example, one.example"}
	caller := func(base, now string, strict bool) outcome {
		got, _ := json.Marshal(map[string]any{"got": []any{base, now, "Europe/Paris", strict, "1234", ""}})
		return outcome{status: 200, body: string(got)}
	}
	for name, test := range map[string]struct {
		call call
		want outcome
	}{
		"plain":           {call{url: "/2.0/caller"}, caller("http://one.example/2.0", "2026-11-20T10:00:00Z", false)},
		"other domain":    {call{url: "http://two.example/2.0/caller"}, caller("http://two.example/2.0", "2026-11-20T09:00:00Z", false)},
		"doubled":         {call{url: "/2.0/2.0/caller"}, caller("http://one.example/2.0/2.0", "2026-11-20T10:00:00Z", false)},
		"untrusted proxy": {call{url: "http://two.example/2.0/caller", header: forwarded}, caller("http://two.example/2.0", "2026-11-20T09:00:00Z", false)},
		"trusted proxy":   {call{url: "http://two.example/2.0/caller", header: forwarded, remote: "10.1.2.3:80"}, caller("https://one.example/2.0", "2026-11-20T10:00:00Z", false)},
		"mapped address":  {call{url: "http://two.example/2.0/caller", header: forwarded, remote: "[::ffff:10.1.2.3]:80"}, caller("https://one.example/2.0", "2026-11-20T10:00:00Z", false)},
		"strict":          {call{url: "/2.0/caller", header: map[string]string{"Prefer": `respond-async, Handling="strict"; x=1`}}, caller("http://one.example/2.0", "2026-11-20T10:00:00Z", true)},
		"lenient":         {call{url: "/2.0/caller", header: map[string]string{"Prefer": "handling=lenient"}}, caller("http://one.example/2.0", "2026-11-20T10:00:00Z", false)},
	} {
		t.Run(name, func(t *testing.T) { s.check(t, test.call, test.want) })
	}
	secure := call{url: "/2.0/caller"}.request()
	secure.TLS = &tls.ConnectionState{}
	if body := s.serve(secure).Body.String(); !strings.Contains(body, `"https://one.example/2.0"`) {
		t.Errorf("over TLS: %s", body)
	}
	w := s.do(call{url: "/2.0/caller", header: map[string]string{"Prefer": "handling=strict"}})
	if got := w.Header().Get("Preference-Applied"); got != "handling=strict" {
		t.Errorf("Preference-Applied %q", got)
	}
}

func TestWrongDeclarationsPanic(t *testing.T) {
	type untagged struct{ A string }
	type float struct {
		A float64 `body:"a"`
	}
	type twice struct {
		A string `body:"a"`
		B string `body:"a"`
	}
	type inPath struct {
		A itemID `path:"a"`
	}
	type flagged struct {
		httpapi.Expand[item]
	}
	type hidden struct{ flagged }
	type variantless struct {
		A string `variant:"A"`
	}
	type mixed struct {
		A string  `body:"a"`
		B *inPath `variant:"B"`
	}
	public := httpapi.Needs{Public: true}
	row := func(pattern string, e httpapi.Endpoint) []httpapi.Route {
		return []httpapi.Route{{Method: "GET", Pattern: pattern, Needs: public, Endpoint: e}}
	}
	for name, routes := range map[string][]httpapi.Route{
		"no endpoint":         row("/a", httpapi.Endpoint{}),
		"unknown method":      {{Method: "TRACE", Pattern: "/a", Needs: public, Endpoint: nothing[httpapi.Nothing]()}},
		"nobody may call":     {{Method: "GET", Pattern: "/a", Endpoint: nothing[httpapi.Nothing]()}},
		"unknown error code":  {{Method: "GET", Pattern: "/a", Needs: public, Errors: []string{"x"}, Endpoint: nothing[httpapi.Nothing]()}},
		"field without tag":   row("/a", nothing[untagged]()),
		"floating point":      row("/a", nothing[float]()),
		"name twice":          row("/a", nothing[twice]()),
		"not a struct":        row("/a", nothing[string]()),
		"hidden convention":   row("/a", nothing[hidden]()),
		"variant of no kind":  row("/a", nothing[variantless]()),
		"body and variants":   row("/a", nothing[mixed]()),
		"guarded and closed":  {{Method: "GET", Pattern: "/a", Needs: httpapi.Needs{Guarded: "a", Kinds: []access.TokenKind{access.ConfigToken}}, Endpoint: nothing[httpapi.Nothing]()}},
		"no field for a part": row("/a/{b}", nothing[httpapi.Nothing]()),
		"no part for a field": row("/a", nothing[inPath]()),
		"route twice":         append(row("/a", nothing[httpapi.Nothing]()), row("/a", nothing[httpapi.Nothing]())...),
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			httpapi.New(httpapi.Config{}, routes)
		})
	}
}
