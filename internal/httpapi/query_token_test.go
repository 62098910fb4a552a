package httpapi_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A read may have its token in the address if the domain allows it. Writes never use a token in the
// address.
func TestTokenInTheAddress(t *testing.T) {
	s := newService(t)
	refused := outcome{status: 401, code: "invalidToken", message: "The token is not valid."}
	unread := outcome{status: 401, code: "invalidToken", message: "must be sent once, as \"Bearer <token>\"; the parameter token works only in GET requests"}
	unsent := outcome{status: 401, code: "invalidToken", message: "must be sent once"}
	for name, test := range map[string]struct {
		call call
		want outcome
	}{
		"read":                   {call{url: "/2.0/items/3?token=reader"}, outcome{status: 200, body: `{"id":3}`}},
		"head":                   {call{method: "HEAD", url: "/2.0/items/3?token=reader"}, outcome{status: 200}},
		"of the user":            {call{url: "/2.0/things?token=user"}, outcome{status: 200, body: `{"got":42}`}},
		"strictly":               {call{url: "/2.0/flag?token=reader&all"}.strict(), outcome{status: 200, body: `{"got":true}`}},
		"partly public":          {call{url: "/2.0/guarded?secret=1&token=reader"}, outcome{status: 200}},
		"without the scope":      {call{url: "/2.0/items/3?token=user"}, outcome{status: 403, code: "forbidden", message: "The token needs"}},
		"nobody's":               {call{url: "/2.0/items/3?token=nobody"}, refused},
		"empty":                  {call{url: "/2.0/items/3?token="}, unsent},
		"the header comes first": {call{url: "/2.0/items/3?token=reader", token: "nobody"}, refused},
		"a header that is none":  {call{url: "/2.0/items/3?token=reader", header: map[string]string{"Authorization": "Basic x"}}, outcome{status: 401, code: "invalidToken", message: "must be \"Bearer"}},
		"to create":              {call{method: "POST", url: "/2.0/items?token=admin", body: `{"name":"a"}`}, unread},
		"to change":              {call{method: "PUT", url: "/2.0/items/3?token=admin", body: `{}`}, unread},
		"to delete":              {call{method: "DELETE", url: "/2.0/items/3?token=admin"}, unread},
		"a domain without":       {call{url: "http://two.example/2.0/items/3?token=reader"}, outcome{status: 401, code: "invalidToken", message: "accepts no token in the address"}},
	} {
		t.Run(name, func(t *testing.T) { s.check(t, test.call, test.want) })
	}
	if s.created != 0 {
		t.Error("something was made")
	}
}

// Responses and logs do not contain a token from the address.
func TestTokenOfTheAddressDoesNotComeBack(t *testing.T) {
	s := newService(t)
	for _, url := range []string{
		"/2.0/items?limit=2&token=reader&parity=odd", "/2.0/items?token=reader&limit=x", "/2.0/items?token=reader&sign_response&limit=1",
		"/2.0/nothing?token=reader", "/2.0/fail/panic?token=reader", "/2.0/fail/unknown?token=reader", "/2.0/caller?token=reader", "http://two.example/2.0/items?token=reader",
	} {
		w := s.do(call{url: url})
		answer := w.Body.String()
		for name, values := range w.Header() {
			answer += name + strings.Join(values, " ")
		}
		if strings.Contains(answer, "reader") || strings.Contains(answer+s.log.String(), "token=") {
			t.Errorf("%s: %d %s\n%s", url, w.Code, answer, s.log.String())
		}
	}
	// The links of a page work with the token in the header, and with the token in the address.
	first := s.page(t, "/2.0/items?limit=2&token=reader", "")
	second := s.page(t, first.Links.Next.Href, "reader")
	third := s.page(t, second.Links.Next.Href+"&token=reader", "")
	if diff := cmp.Diff([]int64{5, 6}, third.ids()); diff != "" {
		t.Errorf("the third page (-want +got):\n%s", diff)
	}
}
