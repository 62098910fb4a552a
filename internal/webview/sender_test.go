package webview_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"passerelle"
)

// A wrong link shows the same page in every flow, under both roots, with and without a language or
// a final slash.
func TestWrongLinksOfEveryFlow(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p := s.create(t, nil)
		right := url.Values{
			"client_id": {number(passerelle.PaymentID(s.client.ID))}, "redirect_uri": {"https://shop.example/sorry"}, "domain": {"test"}, "connection_id": {"1"},
		}
		for _, place := range everyPlace() {
			link := func(name, value string) answer {
				query := url.Values{}
				for key, values := range right {
					query[key] = values
				}
				if strings.Contains(place, "payment") {
					query.Set("code", s.code(t, p.ID, passerelle.ScopePaymentsValidate))
				}
				if name != "" {
					query.Set(name, value)
				}
				return s.get(t, place+"?"+query.Encode())
			}
			if got := link("", ""); got.status != http.StatusSeeOther {
				t.Errorf("%s: a right link is answered with %d %s", place, got.status, got.body)
			}
			const unknown, known = "<h1>We do not know which site sent you", "<h1>This link does not work"
			for _, wrong := range []struct{ name, value, shows string }{
				{"client_id", "999", "client_id: there is no application 999"},
				{"client_id", "x", "client_id: must be the number of an application"},
				{"domain", "elsewhere.example", "&#34;elsewhere.example&#34; is not this service"},
				{"redirect_uri", "javascript:alert(1)", "redirect_uri: "},
				{"redirect_uri", "https://shop.example/sorry?a=1", "redirect_uri: must have no query"},
				{"redirect_uri", "https://evil.example/", "redirect_uri: "},
			} {
				got, title := link(wrong.name, wrong.value), unknown
				if strings.Contains(got.body, "Go back to Maison Dupont") {
					title = known
				}
				if (wrong.name == "domain") != (title == known) {
					t.Errorf("%s with the %s %q has another way back: %s", place, wrong.name, wrong.value, got.body)
				}
				if got.status != http.StatusBadRequest || got.header.Get("Set-Cookie") != "" || !strings.Contains(got.body, wrong.shows) || !strings.Contains(got.body, title) {
					t.Errorf("%s with the %s %q: %d, cookie %q: %s", place, wrong.name, wrong.value, got.status, got.header.Get("Set-Cookie"), got.body)
				}
			}
		}
	})
}

func everyPlace() (all []string) {
	for _, root := range []string{"/webview", "/2.0/auth/webview"} {
		for _, lang := range []string{"", "/en"} {
			for _, flow := range []string{"connect", "reconnect", "manage", "payment"} {
				for _, end := range []string{"", "/"} {
					all = append(all, root+lang+"/"+flow+end)
				}
			}
		}
	}
	return all
}
