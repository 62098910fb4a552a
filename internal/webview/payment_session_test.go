package webview_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/initiation"
	"passerelle/internal/store"
	"passerelle/payment"
)

func TestCodeIsRemovedFromTheAddress(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p := s.create(t, nil)
		code := s.code(t, p.ID, passerelle.ScopePaymentsValidate)
		for _, c := range []struct{ name, path, root, accept, want string }{
			{"language in the address", "/webview/fr/payment", "/webview", "en", "/webview/fr/payment"},
			{"language of the browser", "/webview/payment", "/webview", "eo, fr;q=0.8, en;q=0.5", "/webview/fr/payment"},
			{"no language at all", "/webview/payment", "/webview", "", "/webview/en/payment"},
			{"old address", "/2.0/auth/webview/de/payment", "/2.0/auth/webview", "", "/2.0/auth/webview/de/payment"},
			{"old address, no language", "/2.0/auth/webview/payment", "/2.0/auth/webview", "fr-CA", "/2.0/auth/webview/fr/payment"},
			{"language of Brazil", "/webview/payment", "/webview", "pt-BR", "/webview/pt/payment"},
			{"language of Switzerland", "/webview/payment", "/webview", "gsw, de-CH;q=0.9, it;q=0.8", "/webview/de/payment"},
			{"language that is none", "/webview/payment", "/webview", "!", "/webview/en/payment"},
		} {
			t.Run(c.name, func(t *testing.T) {
				request := s.request(t, http.MethodGet, c.path+"?domain=test&client_id="+strconv.FormatInt(int64(s.client.ID), 10)+"&payment_id="+number(p.ID)+"&code="+code)
				request.Header.Set("Accept-Language", c.accept)
				got := s.do(t, request)
				if want := c.want + "?payment_id=" + number(p.ID); got.status != http.StatusSeeOther || got.location != want {
					t.Errorf("answered %d to %q, want 303 to %q", got.status, got.location, want)
				}
				checkCookie(t, got, c.root, code)
			})
		}
	})
}

func checkCookie(t *testing.T, got answer, path, code string) {
	t.Helper()
	cookie := got.header.Get("Set-Cookie")
	for _, part := range []string{"Path=" + path, "HttpOnly", "SameSite=Lax", "Max-Age=86400"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie lacks %s: %s", part, cookie)
		}
	}
	if strings.Contains(cookie, "Secure") || strings.Contains(cookie, code) {
		t.Errorf("the cookie is for https, or shows the code: %s", cookie)
	}
	if got.header.Get("Cache-Control") != "no-store" || got.header.Get("Referrer-Policy") == "" {
		t.Errorf("the redirect may be stored or tell where it came from: %v", got.header)
	}
}

func TestCookiesOfHTTPSAreSecure(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p := s.create(t, nil)
		s.domain.BaseURL = "https://localhost/2.0"
		request := s.request(t, http.MethodGet, "/webview/en/payment?code="+s.code(t, p.ID, passerelle.ScopePaymentsValidate))
		request.Host = "localhost"
		if cookie := s.do(t, request).header.Get("Set-Cookie"); !strings.Contains(cookie, "; Secure") {
			t.Errorf("the cookie also travels in the clear: %s", cookie)
		}
	})
}

func TestPagesAreOnTheConfiguredHost(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		path := "/webview/en/payment?code=" + s.code(t, s.create(t, nil).ID, passerelle.ScopePaymentsValidate)
		request := s.request(t, http.MethodGet, path)
		request.Host = "localhost:1"
		if got := s.do(t, request); got.location != s.origin+path || got.header.Get("Set-Cookie") != "" {
			t.Errorf("sent to %q with cookie %q, want %q without", got.location, got.header.Get("Set-Cookie"), s.origin+path)
		}
	})
}

func TestPageNeedsATokenForThePayment(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p, other := s.create(t, nil), s.create(t, nil)
		page := s.open(t, p.ID, nil)
		validate := s.code(t, p.ID, passerelle.ScopePaymentsValidate)
		for _, c := range []struct{ name, address string }{
			{"no code, no payment", "/webview/en/payment"},
			{"payment without a cookie", "/webview/en/payment?payment_id=" + number(other.ID)},
			{"payment that does not exist", "/webview/en/payment?payment_id=999999999"},
			{"payment that is no number", "/webview/en/payment?payment_id=x"},
			{"cookie on the other root", strings.Replace(page, "/webview", "/2.0/auth/webview", 1)},
			{"empty code", "/webview/en/payment?code="},
			{"made-up code", "/webview/en/payment?code=pp_0123456789"},
			{"code without the scope", "/webview/en/payment?code=" + s.code(t, p.ID, passerelle.ScopePaymentsReadOnly)},
			{"code of a service", "/webview/en/payment?code=" + s.serviceToken(t)},
			{"code of another domain", "/webview/en/payment?code=" + s.foreignCode(t)},
			{"code of another payment", "/webview/en/payment?code=" + validate + "&payment_id=" + number(other.ID)},
			{"revoked code", "/webview/en/payment?code=" + s.revoked(t, p.ID)},
		} {
			t.Run(c.name, func(t *testing.T) {
				got := s.get(t, c.address)
				if got.status != http.StatusUnauthorized || !strings.Contains(got.body, "This link is no longer valid") {
					t.Errorf("answered %d: %s", got.status, got.body)
				}
				if strings.Contains(got.body, "Dupont") || got.header.Get("Set-Cookie") != "" {
					t.Errorf("the answer tells or gives something: %v %s", got.header, got.body)
				}
			})
		}
	})
}

func TestACookieIsGoodForItsPaymentOnly(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		mine, other := s.create(t, nil), s.create(t, nil)
		s.open(t, mine.ID, nil)
		root, _ := url.Parse(s.origin + "/webview/en/payment")
		cookies := s.browser.Jar.Cookies(root)
		cookies[0].Name = "payment_" + number(other.ID)
		cookies[0].Path = "/webview"
		s.browser.Jar.SetCookies(root, cookies)
		if got := s.get(t, "/webview/en/payment?payment_id="+number(other.ID)); got.status != http.StatusUnauthorized {
			t.Errorf("a renamed cookie opened another payment: %d", got.status)
		}
	})
}

// TestManyPaymentsInOneBrowser opens many payments and flows in one browser. The service drops the
// oldest cookies, because it would refuse a request with all of them.
func TestManyPaymentsInOneBrowser(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		state, page := strings.Repeat("x", 2000), ""
		for range 25 {
			page = s.open(t, s.create(t, nil).ID, url.Values{"state": {state}})
		}
		for range 8 {
			query := url.Values{"client_id": {strconv.FormatInt(int64(s.client.ID), 10)}, "redirect_uri": {"https://shop.example/back"}, "state": {state}}
			if a := s.get(t, "/webview/en/connect?"+query.Encode()); a.status != http.StatusSeeOther {
				t.Fatalf("the link was answered with %d: %s", a.status, a.body)
			}
		}
		if a := s.get(t, page); a.status != http.StatusOK {
			t.Errorf("the last payment has %d: %s", a.status, a.body)
		}
		root, err := url.Parse(s.absolute("/webview/"))
		must(t, err)
		sizes := map[string]int{}
		for _, cookie := range s.browser.Jar.Cookies(root) {
			kind, _, _ := strings.Cut(cookie.Name, "_")
			sizes[kind] += len(cookie.Name) + len(cookie.Value)
		}
		for kind, limit := range map[string]int{"payment": 16 << 10, "journey": 20 << 10} {
			if size := sizes[kind]; size == 0 || size > limit {
				t.Errorf("the cookies %s have %d bytes, not 1 to %d", kind, size, limit)
			}
		}
	})
}

// A payer opens the link of a payment again, in another tab. The forms of the first tab still work.
func TestALinkOpenedAgain(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		for name, again := range map[string]func(p *payment.Payment, code string) string{
			"the same link": func(_ *payment.Payment, code string) string { return code },
			"a new link":    func(p *payment.Payment, _ string) string { return s.code(t, p.ID, passerelle.ScopePaymentsValidate) },
		} {
			p := s.create(t, nil)
			code := s.code(t, p.ID, passerelle.ScopePaymentsValidate)
			page := s.get(t, "/webview/en/payment?code="+code).location
			form := s.form(t, page)
			form.Set("csrf", s.token(t, page))
			if got := s.get(t, "/webview/en/payment?code="+again(p, code)); got.location != page {
				t.Fatalf("%s: answered %d to %q", name, got.status, got.location)
			}
			if got := s.post(t, page, "same-origin", form); got.location != page+"&step=onward" {
				t.Errorf("%s: the form of the first tab was answered with %d to %q: %s", name, got.status, got.location, got.body)
			}
		}
	})
}

// A form that the service refuses may come after the payer has approved. The page therefore makes no
// promise about the payment.
func TestRefusedFormsDoNotSayThatNothingIsPaid(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		_, page := s.ordered(t, "", labelled("actn(decoupled)/done"))
		for name, got := range map[string]answer{
			"token":  s.post(t, page, "same-origin", url.Values{"step": {"resume"}, "csrf": {"x"}}),
			"site":   s.post(t, page, "cross-site", resume),
			"form":   s.post(t, page, "same-origin", url.Values{"step": {"launch"}}),
			"return": s.get(t, "/2.0/webauth/callback?state="+strings.Repeat("x", 9000)),
		} {
			if got.status < 400 || strings.Contains(got.body, "Nothing has been paid") {
				t.Errorf("%s: answered %d: %s", name, got.status, got.body)
			}
		}
	})
}

func TestARevokedTokenEndsTheSession(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p := s.create(t, nil)
		page := s.open(t, p.ID, nil)
		s.revokeAll(t)
		if got := s.get(t, page); got.status != http.StatusUnauthorized {
			t.Errorf("the page outlived its token: %d", got.status)
		}
	})
}

func TestALinkTooLongForACookieIsRefused(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		code := s.code(t, s.create(t, nil).ID, passerelle.ScopePaymentsValidate)
		got := s.get(t, "/webview/en/payment?code="+code+"&state="+strings.Repeat("x", 4000))
		if got.status != http.StatusBadRequest || !strings.Contains(got.body, "This link is too long") {
			t.Errorf("answered %d: %s", got.status, got.body)
		}
	})
}

func TestPlacesWithoutAPage(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		for _, c := range []struct {
			method, path string
			status       int
		}{
			{http.MethodGet, "/webview/xx/payment?code=1", http.StatusNotFound},
			{http.MethodGet, "/webview/en/payment//", http.StatusNotFound},
			{http.MethodGet, "/webview/en/payments/", http.StatusNotFound},
			{http.MethodGet, "/webview//payment", http.StatusNotFound},
			{http.MethodGet, "/webview/en", http.StatusNotFound},
			{http.MethodGet, "/webview/en/", http.StatusNotFound},
			{http.MethodPost, "/webview/", http.StatusMethodNotAllowed},
			{http.MethodGet, "/2.0/webauth/callback", http.StatusNotFound},
			{http.MethodGet, "/2.0/webauth/callback?state=AAAA", http.StatusNotFound},
			{http.MethodPost, "/2.0/webauth/callback?state=AAAA", http.StatusMethodNotAllowed},
			{http.MethodDelete, "/webview/en/payment", http.StatusMethodNotAllowed},
		} {
			t.Run(c.method+" "+c.path, func(t *testing.T) {
				got := s.do(t, s.request(t, c.method, c.path))
				if got.status != c.status || !strings.Contains(got.body, "4711") {
					t.Errorf("answered %d, want %d with the number of the request: %s", got.status, c.status, got.body)
				}
			})
		}
		request := s.request(t, http.MethodGet, "/webview/en/payment")
		request.Host = "unknown.example"
		if got := s.do(t, request); got.status != http.StatusNotFound {
			t.Errorf("an unknown host was answered with %d", got.status)
		}
	})
}

func (s *stack) serviceToken(t *testing.T) string {
	t.Helper()
	grant, err := s.access.IssueService(t.Context(), s.client, passerelle.Scopes{passerelle.ScopePaymentsAdmin, passerelle.ScopePaymentsValidate})
	must(t, err)
	return grant.Text
}

func (s *stack) foreignCode(t *testing.T) string {
	t.Helper()
	d := passerelle.Domain{Name: "foreign", Kind: passerelle.Sandbox, BaseURL: "http://foreign.example/2.0", Created: time.Now()}
	must(t, s.DB.Write(t.Context(), func(tx *store.Tx) error { return tx.CreateDomain(&d, "foreign.example") }))
	client, _, err := s.access.Register(t.Context(), d.ID, "foreign", nil)
	must(t, err)
	p, err := s.Create(t.Context(), d, initiation.Creation{By: client.ID, Draft: draft(nil)})
	must(t, err)
	maker := access.Principal{Domain: d.ID, Client: client.ID, Scopes: passerelle.Scopes{passerelle.ScopePaymentsAdmin}}
	grant, err := s.access.IssuePayment(t.Context(), maker, p.ID, passerelle.Scopes{passerelle.ScopePaymentsValidate})
	must(t, err)
	return grant.Text
}

func (s *stack) revoked(t *testing.T, id passerelle.PaymentID) string {
	t.Helper()
	maker := access.Principal{Domain: s.domain.ID, Client: s.client.ID, Scopes: passerelle.Scopes{passerelle.ScopePaymentsAdmin}}
	grant, err := s.access.IssuePayment(t.Context(), maker, id, passerelle.Scopes{passerelle.ScopePaymentsValidate})
	must(t, err)
	must(t, s.DB.Write(t.Context(), func(tx *store.Tx) error {
		tx.RevokeToken(s.domain.ID, grant.Token.ID, time.Now())
		return nil
	}))
	return grant.Text
}

func (s *stack) revokeAll(t *testing.T) {
	t.Helper()
	tokens, err := s.DB.Tokens(t.Context(), store.TokenFilter{Domain: s.domain.ID, All: true}, store.Window{Limit: 100})
	must(t, err)
	for _, token := range tokens {
		must(t, s.DB.Write(t.Context(), func(tx *store.Tx) error {
			tx.RevokeToken(s.domain.ID, token.ID, time.Now())
			return nil
		}))
	}
}

func (s *stack) report(t *testing.T, p *payment.Payment, reports ...payment.Report) {
	t.Helper()
	for _, report := range reports {
		steps, err := p.Apply(report, time.Now())
		must(t, err)
		s.keep(t, p, steps)
	}
}

func (s *stack) keep(t *testing.T, p *payment.Payment, steps []payment.Step) {
	t.Helper()
	var transitions []payment.Transition
	for _, step := range steps {
		transitions = append(transitions, step.Transition)
	}
	must(t, s.DB.Write(t.Context(), func(tx *store.Tx) error { return tx.UpdatePayment(p, transitions, nil) }))
}
