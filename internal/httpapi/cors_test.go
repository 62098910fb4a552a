package httpapi_test

import (
	"strings"
	"testing"
)

// TestCallsOfPages: if a domain lists the origin of a page, the page may read the responses of the
// domain, including errors.
func TestCallsOfPages(t *testing.T) {
	s := newService(t)
	const listed, other = "https://app.example", "https://evil.example"
	for name, test := range map[string]struct {
		call    call
		status  int
		allowed string
	}{
		"read":                     {call{url: "/2.0/items/3", token: "reader", header: from(listed)}, 200, listed},
		"another that is listed":   {call{url: "/2.0/items/3", token: "reader", header: from("http://localhost:3000")}, 200, "http://localhost:3000"},
		"without a token":          {call{url: "/2.0/items/3", header: from(listed)}, 401, listed},
		"nothing there":            {call{url: "/2.0/nothing", token: "reader", header: from(listed)}, 404, listed},
		"a fault":                  {call{url: "/2.0/fail/panic", token: "admin", header: from(listed)}, 500, listed},
		"a file":                   {call{url: "/2.0/download", header: from(listed)}, 200, listed},
		"of an origin that is not": {call{url: "/2.0/items/3", token: "reader", header: from(other)}, 200, ""},
		"of part of one":           {call{url: "/2.0/items/3", token: "reader", header: from("https://app.example.evil.example")}, 200, ""},
		"of another scheme":        {call{url: "/2.0/items/3", token: "reader", header: from("http://app.example")}, 200, ""},
		"of no origin":             {call{url: "/2.0/items/3", token: "reader", header: from("null")}, 200, ""},
		"of a program":             {call{url: "/2.0/items/3", token: "reader"}, 200, ""},
		"another domain":           {call{url: "http://two.example/2.0/items/3", token: "reader", header: from(listed)}, 200, ""},
		"no domain":                {call{url: "http://nowhere.example/2.0/items/3", token: "reader", header: from(listed)}, 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.do(test.call)
			allowed := got.Header().Get("Access-Control-Allow-Origin")
			if got.Code != test.status || allowed != test.allowed {
				t.Errorf("%d for %q, want %d for %q", got.Code, allowed, test.status, test.allowed)
			}
			read := got.Header().Get("Access-Control-Expose-Headers")
			if (allowed != "") != strings.Contains(read, "X-Request-Id") || got.Header().Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("headers %v", got.Header())
			}
			if allowed != "" && got.Header().Get("Vary") != "Origin" {
				t.Errorf("a cache may give it to another page: %v", got.Header())
			}
		})
	}
	if got := s.do(call{url: "/2.0/download?kind=public"}); got.Header().Get("Vary") != "Origin" {
		t.Errorf("a cache may give what a program got to a page: %v", got.Header())
	}
}

func from(origin string, pairs ...string) map[string]string {
	header := map[string]string{"Origin": origin}
	for i := 0; i < len(pairs); i += 2 {
		header[pairs[i]] = pairs[i+1]
	}
	return header
}

// The response to a preflight from a listed origin has the methods of the path and the headers of
// the API.
func TestQuestionsOfBrowsers(t *testing.T) {
	s := newService(t)
	const listed = "https://app.example"
	asking := []string{"Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "authorization,content-type"}
	for name, test := range map[string]struct {
		url    string
		header map[string]string
		status int
		allow  string
	}{
		"a path":            {"/2.0/items/3", from(listed, asking...), 204, "DELETE, GET, HEAD, POST, PUT"},
		"nothing there":     {"/2.0/nothing", from(listed, asking...), 404, ""},
		"without a version": {"/items/3", from(listed, asking...), 404, ""},
		"not listed":        {"/2.0/items/3", from("https://evil.example", asking...), 405, ""},
		"no question":       {"/2.0/items/3", from(listed), 405, ""},
		"another domain":    {"http://two.example/2.0/items/3", from(listed, asking...), 405, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.do(call{method: "OPTIONS", url: test.url, header: test.header})
			if allow := got.Header().Get("Access-Control-Allow-Methods"); got.Code != test.status || allow != test.allow {
				t.Errorf("%d with %q, want %d with %q", got.Code, allow, test.status, test.allow)
			}
			if got.Code == 204 && (!strings.Contains(got.Header().Get("Access-Control-Allow-Headers"), "Authorization") || got.Header().Get("Access-Control-Max-Age") == "" || got.Body.Len() > 0) {
				t.Errorf("%v %s", got.Header(), got.Body)
			}
		})
	}
	s.down = true
	if got := s.do(call{method: "OPTIONS", url: "/2.0/items/3", header: from(listed, asking...)}); got.Code != 204 {
		t.Errorf("during maintenance: %d", got.Code)
	}
	if got := s.do(call{url: "/2.0/items/3", token: "reader", header: from(listed)}); got.Code != 503 || got.Header().Get("Access-Control-Allow-Origin") != listed {
		t.Errorf("a call during maintenance: %d %v", got.Code, got.Header())
	}
}
