package api_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"passerelle/internal/store/storetest"
)

// FuzzAPI sends any input. Each response must follow the rules for all responses, and match the
// OpenAPI document.
func FuzzAPI(f *testing.F) {
	seeds := []struct {
		who, want                                      int
		method, path, query, contentType, header, body string
	}{
		{1, 200, "POST", "/2.0/payments", "", "application/json", "Prefer: handling=strict", minimalDraft},
		{1, 403, "POST", "/2.0/payments", "show_sensitive", "application/json", "Idempotency-Key: k", bulkDraft},
		{1, 200, "PUT", "/2.0/payments/1", "", "application/json", "", `{"connector_uuid":"` + testConnector + `","webview_url":"https://shop.example/pay","validated":true}`},
		{1, 400, "POST", "/2.0/payments/1", "resume", "application/json", "", `{"fields":{"a":"b"},"psu_validate":false,"cancel":true}`},
		{1, 200, "GET", "/2.0/payments", "connector_uuid=null&id_connector=40&country=FR,GB&expand=transitions&order_by=connectors&reverse&reference_id=a", "", "", ""},
		{1, 200, "GET", "/2.0/connectors", "id_payment=1&country_codes=fr&expand=countries,payment_fields&offset=3", "", "", ""},
		{3, 409, "POST", "/2.0/sandbox/payments/1/simulate", "", "application/json", "", `{"state":"rejected","error_code":"bug","instruction":0}`},
		{1, 409, "POST", "/2.0/payments/1/terms", "id_terms=1", "", "", ""},
		{1, 200, "POST", "/2.0/payments/1/scopedtoken", "scope=payments:validate", "", "", ""},
		{1, 400, "GET", "/2.0/payments", "limit=1&order_by=amount&reverse&min_date=2026&cursor=e30.e30", "", "", ""},
		{0, 401, "POST", "/2.0/auth/token", "", "application/x-www-form-urlencoded", "Authorization: Basic MTox", "scope=payments:admin&client_id=1"},
		{3, 200, "POST", "/webhooks/auth", "type=hmac_signature&name=n", "multipart/form-data; boundary=b", "", multipart("a", "b")},
		{3, 200, "POST", "/2.0/webhooks", "", "application/json", "", `{"event":"USER_SYNCED","url":"https://client.example/","id_auth":null}`},
		{3, 200, "POST", "/2.0/sandbox/clock", "", "application/json", "", `{"advance":"1h"}`},
		{1, 404, "DELETE", "/2.0//webhooks/-1/", "%zz", "\x00", "X-Forwarded-Host: \xff", "\xff\x00"},
	}
	s := newFixture(f, storetest.SQLite(f))
	handler, tokens := s.API(), []string{"", "admin", "validate", "config"}
	send := func(t testing.TB, who uint8, method, path, query, contentType, header, body string) int {
		request := wild(s, method, path, query, body)
		if request == nil {
			return 0
		}
		request.Header.Set("Content-Type", contentType)
		if name, value, found := strings.Cut(header, ": "); found {
			request.Header[http.CanonicalHeaderKey(name)] = []string{value}
		}
		if token := tokens[int(who)%len(tokens)]; token != "" {
			request.Header.Set("Authorization", "Bearer "+s.token(t, "", token, 0))
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, request)
		r := reply{status: w.Code, header: w.Header(), body: w.Body.Bytes()}
		if fault := r.faultOf(method); fault != "" {
			t.Errorf("%s: %d %v %s", fault, r.status, r.header, r.body)
		}
		request.URL.Opaque = request.URL.EscapedPath()
		if err := s.contract.check(ask{method: method, path: path + "?", body: body}, request, r); err != nil {
			t.Errorf("%d %s: %v", r.status, r.body, err)
		}
		return r.status
	}
	for _, seed := range seeds {
		f.Add(uint8(seed.who), seed.method, seed.path, seed.query, seed.contentType, seed.header, seed.body)
		if got := send(f, uint8(seed.who), seed.method, seed.path, seed.query, seed.contentType, seed.header, seed.body); got != seed.want {
			f.Errorf("%s %s: %d, want %d", seed.method, seed.path, got, seed.want)
		}
	}
	f.Fuzz(func(t *testing.T, who uint8, method, path, query, contentType, header, body string) {
		send(t, who, method, path, query, contentType, header, body)
	})
}

// wild returns a request that a client could send through net/http, or nil.
func wild(s *fixture, method, path, query, body string) *http.Request {
	if !strings.HasPrefix(path, "/") || method == "" || strings.ContainsAny(method+query, " \r\n\t\x00") {
		return nil
	}
	plain, err := url.PathUnescape(path)
	if err != nil {
		return nil
	}
	request := httptest.NewRequest("GET", s.Origin, strings.NewReader(body))
	request.Method, request.URL = method, &url.URL{Path: plain, RawPath: path, RawQuery: query}
	return request
}

// faultOf adds the request id that the listener would assign, and returns the result of r.fault.
func (r reply) faultOf(method string) string {
	r.header = r.header.Clone()
	if slices.Equal(r.header["X-Request-Id"], []string{""}) {
		r.header.Set("X-Request-Id", "1")
		r.body = []byte(strings.Replace(string(r.body), `"request_id":""`, `"request_id":"1"`, 1))
	}
	return r.fault(method)
}
