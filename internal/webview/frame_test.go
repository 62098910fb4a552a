package webview_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// domainTransport sends requests like a browser that shows the pages in a frame of the
// application's page.
type domainTransport struct {
	*walker
	cookies map[string]string
}

// RoundTrip adds the header that browsers send from a frame. Browsers send secure cookies to their
// own machine even without https. Go's cookie jar does not, so RoundTrip adds these cookies.
func (i domainTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Sec-Fetch-Dest", "iframe")
	for name, value := range i.cookies {
		request.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err == nil {
		for _, cookie := range response.Cookies() {
			i.cookies[cookie.Name] = cookie.Value
		}
	}
	return response, err
}

func (p *walker) framed(origins string) *walker {
	p.t.Helper()
	p.OK(p.Call("PUT", "/clients/"+p.ClientID, p.ConfigToken, map[string]any{"config": map[string]string{"webview.origins": origins}}))
	other := *p
	other.browser = &http.Client{
		Transport:     domainTransport{p, map[string]string{}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &other
}

// Only the origins that the application has registered may show the pages about banking data in a
// frame.
func TestWhoMayShowThePages(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		closed := p.open(p.link("connect")).header
		if policy := closed.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") || closed.Get("X-Frame-Options") != "DENY" {
			t.Errorf("by default: %s, %s", policy, closed.Get("X-Frame-Options"))
		}
		inside := p.framed("https://app.example http://localhost:3000")
		first := inside.once(mustRequest(t, inside.link("connect")))
		cookie := first.header.Get("Set-Cookie")
		for _, part := range []string{"SameSite=None", "Secure", "Partitioned", "HttpOnly"} {
			if !strings.Contains(cookie, part) {
				t.Errorf("the cookie of a frame lacks %s: %s", part, cookie)
			}
		}
		open := inside.open(inside.Origin + first.location).header
		if policy := open.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors https://app.example http://localhost:3000;") || open.Get("X-Frame-Options") != "" {
			t.Errorf("with origins: %s, %s", policy, open.Get("X-Frame-Options"))
		}
		for _, wrong := range []string{"app.example", "https://app.example/", "https://app.example/x", "https://*.example", "'self'", "https://app.example;script-src", "https://App.example", strings.Repeat("https://a.example ", 21)} {
			a := p.Call("PUT", "/clients/"+p.ClientID, p.ConfigToken, map[string]any{"config": map[string]string{"webview.origins": wrong}})
			if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "webview.origins") {
				t.Errorf("%q: %d %s", wrong, a.Status, a.Body)
			}
		}
	})
}

// An error page of a flow appears in the frame too. Otherwise the person would see an empty frame.
func TestErrorsInAFrame(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		inside := p.framed("https://app.example")
		page := inside.open(inside.link("connect"))
		action, form := inside.form(page, "begin")
		form.Set("csrf", "x")
		client := "client_id=" + inside.ClientID
		for name, c := range map[string]struct {
			got       shown
			ancestors string
		}{
			"wrong link":       {inside.open(inside.link("connect", "max_connections", "none")), "https://app.example"},
			"used code":        {inside.open(inside.link("manage", "code", "x")), "https://app.example"},
			"wrong form":       {inside.post(page, action, form), "https://app.example"},
			"unknown flow":     {inside.open(inside.Origin + "/webview/en/connect?session=x"), "'none'"},
			"link of payments": {inside.open(inside.Origin + "/webview/en/payment?code=x&" + client), "'none'"},
			"other address":    {inside.open(inside.Origin + "/webview/en/other?" + client), "'none'"},
		} {
			policy, old := c.got.header.Get("Content-Security-Policy"), c.got.header.Get("X-Frame-Options")
			if c.got.status < 400 || !strings.Contains(policy, "frame-ancestors "+c.ancestors+";") || (old == "DENY") != (c.ancestors == "'none'") {
				t.Errorf("%s: %d with %q and %q", name, c.got.status, policy, old)
			}
		}
	})
}

func mustRequest(t *testing.T, address string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	must(t, err)
	return request
}

func (s shown) message(t *testing.T) string {
	t.Helper()
	text := html.UnescapeString(regexpOne(t, `data-message="([^"]*)"`, s.body))
	var m struct {
		Type string
		Data map[string]any
	}
	must(t, json.Unmarshal([]byte(text), &m))
	if m.Type != "powensWebviewTermination" || !strings.Contains(s.body, `data-origins="https://app.example"`) {
		t.Errorf("the message is %s: %s", text, s.body)
	}
	raw, err := json.Marshal(m.Data)
	must(t, err)
	return string(raw)
}

// In a frame, a flow ends with a message to the page around the frame.
func TestMessages(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		p = p.framed("https://app.example")
		check := func(got shown, want string) {
			t.Helper()
			if message := got.message(t); message != want {
				t.Errorf("the message is %s, want %s", message, want)
			}
		}
		left := p.click(p.open(p.link("connect")), "Leave without connecting")
		check(left, `{"error":"access_denied","errorDescription":"The person went no further.","state":"a b\u0026c=ü"}`)

		page := p.connecting("one", "max_connections", "2", "state", "")
		accounts, _ := page.offered()
		page = p.click(p.send(page, "share", "account", accounts[0]), "Continue to")
		id := p.connections(p.token)[0].ID.String()
		check(page, `{"connectionId":"`+id+`","connectionIds":"`+id+`"}`)
		check(p.open(p.link("reconnect", "connection_id", id, "state", "")), `{"connectionId":"`+id+`"}`)

		list := p.open(p.link("manage", "redirect_uri", "", "state", "x"))
		one := p.click(list, "Banque Exemple")
		check(p.click(p.send(p.click(one, "Remove this connection"), "forget"), "Done"), `{"connectionDeleted":true,"connectionId":"`+id+`","state":"x"}`)
	})
}

// The page of an institution opens in another window with other cookies. When the person comes
// back, that window confirms the result, and the page in the frame continues.
func TestTheInstitutionInAWindowOfItsOwn(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		inside, window := p.framed("https://app.example"), p
		page := inside.open(inside.link("connect"))
		page = inside.send(inside.click(page, "own page instead"), "begin").shows(t, "opens in another window", `target="_blank"`)
		action, form := inside.form(page, "bank")
		if !form.Has("ticket") {
			t.Fatalf("the form has no ticket: %v", form)
		}
		onward := window.post(page, action, form).shows(t, "Continue at Banque Exemple")
		_, bank, _ := strings.Cut(onward.header.Get("Refresh"), "url=")
		landed := window.open(window.decide(bank, url.Values{"login": {"one"}}))
		landed.shows(t, "Access granted", "close this window")
		if landed.at.Query().Has("ticket") {
			t.Errorf("the ticket is in an address: %s", landed.at)
		}
		inside.open(inside.Origin+watched(page.body)).shows(t, "What do you want to share")
		form.Set("step", "share")
		if got := window.post(page, action, form); got.status != http.StatusUnauthorized {
			t.Errorf("a ticket is good for more: %d", got.status)
		}
	})
}
