package webview_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"passerelle/connector/sandbox"
	"passerelle/connector/sandbox/customers"
	"passerelle/internal/servicetest"
)

const returnURL = "https://app.example/back"

// walker is a person with a browser on the pages of the complete service. It also acts as the
// application that sends the person to these pages.
type walker struct {
	*servicetest.Instance
	t       *testing.T
	browser *http.Client
	token   string
	// acknowledged is the last confirmation page.
	acknowledged string
}

// eachWalker runs a test on each kind of database. The application has registered only the redirect
// address returnURL.
func eachWalker(t *testing.T, run func(t *testing.T, p *walker)) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		s.OK(s.Call("PUT", "/clients/"+s.ClientID, s.ConfigToken, map[string]any{"redirect_uris": []string{returnURL}}))
		run(t, newWalker(t, s))
	})
}

func newWalker(t *testing.T, s *servicetest.Instance) *walker {
	t.Helper()
	var out struct {
		Token string `json:"auth_token"`
	}
	s.JSON(s.OK(s.Call("POST", "/auth/init", "", map[string]any{"client_id": s.ClientID, "client_secret": s.Secret})), &out)
	return &walker{Instance: s, t: t, browser: newBrowser(t), token: out.Token}
}

func (p *walker) code() string {
	p.t.Helper()
	var out struct{ Code string }
	p.JSON(p.OK(p.Call("GET", "/auth/token/code", p.token, nil)), &out)
	return out.Code
}

// link returns the address to which the application sends the person. An empty value omits a
// parameter.
func (p *walker) link(flow string, pairs ...string) string {
	p.t.Helper()
	query := url.Values{"client_id": {p.ClientID}, "redirect_uri": {returnURL}, "code": {p.code()}, "state": {"a b&c=ü"}}
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" {
			query.Del(pairs[i])
		}
	}
	return p.Origin + "/webview/en/" + flow + "?" + query.Encode()
}

// shown is the page that the browser shows after redirects, and the page's address.
type shown struct {
	answer
	at *url.URL
}

func (p *walker) open(address string) shown {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, address, nil)
	must(p.t, err)
	return p.follow(request)
}

func (p *walker) follow(request *http.Request) shown {
	p.t.Helper()
	for range 10 {
		got := p.once(request)
		if _, done, said := strings.Cut(got.header.Get("Refresh"), "url="); said && strings.Contains(done, "step=done") {
			p.acknowledged = got.body
			got.location = done // the page itself does this after the confirmation
		}
		if got.location == "" {
			return shown{got, request.URL}
		}
		to, err := request.URL.Parse(got.location)
		must(p.t, err)
		if to.Host != request.URL.Host {
			return shown{got, to}
		}
		request, err = http.NewRequestWithContext(p.t.Context(), http.MethodGet, to.String(), nil)
		must(p.t, err)
	}
	p.t.Fatalf("%s leads round in circles", request.URL)
	return shown{}
}

func (p *walker) once(request *http.Request) answer {
	p.t.Helper()
	response, err := p.browser.Do(request)
	must(p.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(p.t, err)
	return answer{response.StatusCode, response.Header.Get("Location"), string(body), response.Header}
}

var (
	posted  = regexp.MustCompile(`(?s)<form method="post" action="([^"]*)"[^>]*>(.*?)</form>`)
	carried = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
)

// form returns the form for a step on a page, with the values that a browser would send without any
// input.
func (p *walker) form(s shown, step string) (action string, form url.Values) {
	p.t.Helper()
	for _, found := range posted.FindAllStringSubmatch(s.body, -1) {
		form := url.Values{}
		for _, input := range carried.FindAllStringSubmatch(found[2], -1) {
			form.Set(input[1], html.UnescapeString(input[2]))
		}
		if form.Get("step") == step {
			return html.UnescapeString(found[1]), form
		}
	}
	p.t.Fatalf("%s (%d) has no form about %q: %s", s.at, s.status, step, s.body)
	return "", nil
}

func (p *walker) send(s shown, step string, pairs ...string) shown {
	p.t.Helper()
	action, form := p.form(s, step)
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return p.post(s, action, form)
}

func (p *walker) post(s shown, action string, form url.Values) shown {
	p.t.Helper()
	to, err := s.at.Parse(action)
	must(p.t, err)
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, to.String(), strings.NewReader(form.Encode()))
	must(p.t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	return p.follow(request)
}

// settled follows a waiting page until it shows another page.
func (p *walker) settled(s shown) shown {
	p.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		if !strings.Contains(s.body, `<p role="status" data-after=`) {
			return s
		}
		s = p.open(s.at.Scheme + "://" + s.at.Host + watched(s.body))
	}
	p.t.Fatalf("%s never ends: %s", s.at, s.body)
	return s
}

var watchedAddress = regexp.MustCompile(`<noscript><meta http-equiv="refresh" content="\d+; url=([^"]+)"></noscript>`)

var polledAddress = regexp.MustCompile(`data-next="([^"]+)"`)

// polledNext returns the address that the script of a waiting page polls.
func polledNext(body string) string {
	found := polledAddress.FindStringSubmatch(body)
	if found == nil {
		return "the page does not wait"
	}
	return html.UnescapeString(found[1])
}

// watched returns the address that a waiting page opens without scripts.
func watched(body string) string {
	found := watchedAddress.FindStringSubmatch(body)
	if found == nil {
		return "the page does not wait"
	}
	return html.UnescapeString(found[1])
}

func (s shown) shows(t *testing.T, texts ...string) shown {
	t.Helper()
	body := html.UnescapeString(s.body)
	for _, text := range texts {
		if !strings.Contains(body, text) {
			t.Fatalf("%s (%d) does not show %q: %s", s.at, s.status, text, body)
		}
	}
	return s
}

func (s shown) lacks(t *testing.T, texts ...string) shown {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(html.UnescapeString(s.body), text) {
			t.Errorf("%s (%d) shows %q: %s", s.at, s.status, text, s.body)
		}
	}
	return s
}

// back checks that the browser was redirected to the application.
func (s shown) back(t *testing.T) url.Values {
	t.Helper()
	if s.at.Scheme+"://"+s.at.Host+s.at.Path != returnURL {
		t.Fatalf("the browser is at %s (%d): %s", s.at, s.status, s.body)
	}
	return s.at.Query()
}

func (p *walker) click(s shown, text string) shown {
	p.t.Helper()
	for _, found := range regexp.MustCompile(`(?s)<a [^>]*href="([^"]*)"[^>]*>(.*?)</a>`).FindAllStringSubmatch(s.body, -1) {
		if strings.Contains(html.UnescapeString(found[2]), text) {
			to, err := s.at.Parse(html.UnescapeString(found[1]))
			must(p.t, err)
			return p.open(to.String())
		}
	}
	p.t.Fatalf("%s (%d) has no link %q: %s", s.at, s.status, text, s.body)
	return shown{}
}

// connecting returns the page after the person has sent a login to the test connector.
func (p *walker) connecting(login string, pairs ...string) shown {
	p.t.Helper()
	page := p.open(p.link("connect", append([]string{"connector_uuids", sandbox.TestConnector}, pairs...)...))
	return p.settled(p.send(page, "begin", "field.login", login, "field.password", customers.Password))
}

func (p *walker) connection(login string) string {
	p.t.Helper()
	var out struct{ ID json.Number }
	p.JSON(p.OK(p.Call("POST", "/connections?source=directaccess", p.token, map[string]any{"connector_uuid": sandbox.TestConnector, "login": login, "password": customers.Password})), &out)
	return out.ID.String()
}

type connected struct {
	ID            json.Number
	State         *string
	Accounts      []struct{ Name string }
	Subscriptions []struct{ Label string }
}

func (p *walker) connections(token string) []connected {
	p.t.Helper()
	var out struct{ Connections []connected }
	p.JSON(p.OK(p.Call("GET", "/connections?expand=accounts,subscriptions", token, nil)), &out)
	return out.Connections
}

var ticked = regexp.MustCompile(`name="(account|subscription)" value="(\d+)"`)

func (s shown) offered() (accounts, subscriptions []string) {
	for _, found := range ticked.FindAllStringSubmatch(s.body, -1) {
		if found[1] == "account" {
			accounts = append(accounts, found[2])
		} else {
			subscriptions = append(subscriptions, found[2])
		}
	}
	return accounts, subscriptions
}

func sprint(values url.Values) string { return fmt.Sprint(map[string][]string(values)) }

func regexpOne(t *testing.T, pattern, text string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("there is no %s in %s", pattern, text)
	}
	return html.UnescapeString(found[1])
}
