package servicetest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"passerelle/internal/servicetest"
)

const returnURL = "https://app.example/back"

// person is an end user with a token. Its methods also do the application's part of the flow.
type person struct {
	*servicetest.Instance
	t       *testing.T
	token   string
	browser *http.Client
}

func newPerson(t *testing.T, s *servicetest.Instance) *person {
	t.Helper()
	var out struct {
		Token string `json:"auth_token"`
	}
	s.JSON(s.OK(s.Call("POST", "/auth/init", "", map[string]any{"client_id": s.ClientID, "client_secret": s.Secret})), &out)
	return &person{Instance: s, t: t, token: out.Token, browser: newBrowser(t)}
}

func newBrowser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// In eachPerson, the application has registered only the redirect address returnURL.
func eachPerson(t *testing.T, run func(t *testing.T, p *person)) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		s.OK(s.Call("PUT", "/clients/"+s.ClientID, s.ConfigToken, map[string]any{"redirect_uris": []string{returnURL}}))
		run(t, newPerson(t, s))
	})
}

// query returns a valid query with some parameters changed. The argument `changes` contains
// names and values in turn. An empty value omits its parameter.
func (p *person) query(changes ...string) string {
	q := url.Values{"client_id": {p.ClientID}, "redirect_uri": {returnURL}, "connector_uuid": {testConnector}, "state": {"a b&c=ü"}}
	for i := 0; i < len(changes); i += 2 {
		q.Set(changes[i], changes[i+1])
		if changes[i+1] == "" {
			q.Del(changes[i])
		}
	}
	return q.Encode()
}

func (p *person) address(changes ...string) string {
	p.t.Helper()
	var out struct{ URL string }
	p.JSON(p.OK(p.Call("GET", "/webauth-url?"+p.query(changes...), p.token, nil)), &out)
	return out.URL
}

func (p *person) open(address string) servicetest.Answer {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := p.browser.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return servicetest.Answer{Status: response.StatusCode, Header: response.Header, Body: body}
}

func (p *person) sent(a servicetest.Answer) *url.URL {
	p.t.Helper()
	to, err := url.Parse(a.Header.Get("Location"))
	if a.Status != http.StatusFound && a.Status != http.StatusSeeOther || err != nil {
		p.t.Fatalf("%d %v %s", a.Status, err, a.Body)
	}
	return to
}

var (
	action = regexp.MustCompile(`action="([^"]*)"`)
	hidden = regexp.MustCompile(`name="state" value="([^"]*)"`)
	coded  = regexp.MustCompile(`name="code" value="([^"]*)"`)
)

type form struct{ action, state, code string }

func (p *person) page(address string) form {
	p.t.Helper()
	a := p.open(address)
	body, parts := string(a.Body), form{}
	for into, pattern := range map[*string]*regexp.Regexp{&parts.action: action, &parts.state: hidden, &parts.code: coded} {
		found := pattern.FindStringSubmatch(body)
		if a.Status != http.StatusOK || found == nil {
			p.t.Fatalf("%d: the page lacks %s: %s", a.Status, pattern, body)
		}
		*into = found[1]
	}
	return parts
}

func (f form) approveAddress(login string) string {
	return f.action + "?" + url.Values{"state": {f.state}, "login": {login}, "code": {f.code}}.Encode()
}

func (f form) refuseAddress() string {
	return f.action + "?" + url.Values{"state": {f.state}, "error": {"access_denied"}}.Encode()
}

func (p *person) arrives(a servicetest.Answer, code string) string {
	p.t.Helper()
	to := p.sent(a)
	q := to.Query()
	if to.Scheme+"://"+to.Host+to.Path != returnURL || q.Get("state") != "a b&c=ü" || q.Get("error") != code || (q.Get("error_description") == "") != (code == "") {
		p.t.Errorf("arrives at %s, want error %q", to, code)
	}
	return q.Get("id_connection")
}

// state returns an empty text for a connection without a state.
func (p *person) state(id string) string {
	p.t.Helper()
	var out struct{ State *string }
	p.JSON(p.OK(p.Call("GET", "/connections/"+id, p.token, nil)), &out)
	if out.State == nil {
		return ""
	}
	return *out.State
}

func (p *person) connections() (n int) {
	p.t.Helper()
	var out struct{ Total int }
	p.JSON(p.OK(p.Call("GET", "/connections", p.token, nil)), &out)
	return out.Total
}

// A person agrees on the bank's page, and returns with a connection.
func TestWebauth(t *testing.T) {
	eachPerson(t, func(t *testing.T, p *person) {
		address := p.address()
		f := p.page(p.sent(p.open(address)).String())
		id := p.arrives(p.open(f.approveAddress("one")), "")
		var accounts struct{ Total int }
		p.JSON(p.OK(p.Call("GET", "/connections/"+id+"/accounts?all", p.token, nil)), &accounts)
		if p.state(id) != "" || accounts.Total != 1 || p.connections() != 1 {
			t.Errorf("state %q, %d accounts, %d connections", p.state(id), accounts.Total, p.connections())
		}
		// The link and the return address work only once.
		for _, used := range []string{address, f.approveAddress("one"), f.approveAddress("many"), f.refuseAddress()} {
			if a := p.open(used); a.Status != http.StatusUnauthorized || !strings.Contains(string(a.Body), "no longer valid") {
				t.Errorf("%s once more: %d %s", used, a.Status, a.Body)
			}
		}
		a := p.Call("GET", "/webauth-url?"+p.query("connector_uuid", "", "id_connection", id), p.token, nil)
		var refused struct{ Code string }
		if p.JSON(a, &refused); a.Status != http.StatusConflict || refused.Code != "invalidValue" {
			t.Errorf("a connection that is up to date: %d %s", a.Status, a.Body)
		}
		p.arrives(p.open(p.direct("connector_uuid", "", "id_connection", id)), "invalidValue")
		p.silent(address, f)
	})
}

// direct constructs an address of the page /webauth, with a code, instead of requesting the address
// from /webauth-url.
func (p *person) direct(changes ...string) string {
	p.t.Helper()
	var code struct{ Code string }
	p.JSON(p.OK(p.Call("GET", "/auth/token/code", p.token, nil)), &code)
	return p.Base + "/webauth?" + p.query(changes...) + "&token=" + code.Code
}

func (p *person) silent(address string, f form) {
	p.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, secret := range []string{u.Query().Get("token"), f.state, f.code, p.token} {
		if secret == "" || strings.Contains(p.Logs.String(), secret) {
			p.t.Errorf("%q is empty or was logged", secret)
		}
	}
}

// A person who refuses at the bank may go to the bank again.
func TestWebauthRefused(t *testing.T) {
	eachPerson(t, func(t *testing.T, p *person) {
		f := p.page(p.sent(p.open(p.direct())).String())
		id := p.arrives(p.open(f.refuseAddress()), "access_denied")
		if p.state(id) != "webauthRequired" {
			t.Errorf("state %q", p.state(id))
		}
		again := p.page(p.sent(p.open(p.address("connector_uuid", "", "id_connection", id))).String())
		if got := p.arrives(p.open(again.approveAddress("one")), ""); got != id || p.state(id) != "" {
			t.Errorf("connection %s of %s, state %q", got, id, p.state(id))
		}
	})
}

// The service refuses a return with a forged state. A code that does not belong to the state gives
// no access.
func TestWebauthForged(t *testing.T) {
	eachPerson(t, func(t *testing.T, p *person) {
		f := p.page(p.sent(p.open(p.address())).String())
		other := p.page(p.sent(p.open(p.address())).String())
		number, nonce, _ := strings.Cut(f.state, ".")
		for _, state := range []string{"", "x", ".", f.state + "0", "0" + f.state, number + "." + strings.ToUpper(nonce), "99." + nonce, number + "." + strings.Repeat("0", 32)} {
			forged := form{f.action, state, f.code}
			if a := p.open(forged.approveAddress("one")); a.Status != http.StatusUnauthorized && a.Status != http.StatusNotFound {
				t.Errorf("state %q: %d %s", state, a.Status, a.Body)
			}
		}
		if a := p.open(f.approveAddress(strings.Repeat("x", 9000))); a.Status != http.StatusBadRequest {
			t.Errorf("a lot from the bank: %d", a.Status)
		}
		p.arrives(p.open(form{f.action, f.state, other.code}.approveAddress("one")), "webauthRequired")
		p.arrives(p.open(form{other.action, other.state, "invented"}.approveAddress("one")), "webauthRequired")
		if a := p.open(f.approveAddress("one")); a.Status != http.StatusUnauthorized {
			t.Errorf("the right code after the state was used: %d %s", a.Status, a.Body)
		}
	})
}

// Only the redirected browser can use the return address. An attacker who makes another person
// agree must not get that person's accounts.
func TestWebauthInAnotherBrowser(t *testing.T) {
	eachPerson(t, func(t *testing.T, p *person) {
		f := p.page(p.sent(p.open(p.address())).String())
		id, stranger := fmt.Sprint(p.first()), newPerson(t, p.Instance)
		own := stranger.page(stranger.sent(stranger.open(stranger.address())).String())
		for _, taken := range []form{f, {f.action, f.state, own.code}} {
			if a := stranger.open(taken.approveAddress("one")); a.Status != http.StatusForbidden || !strings.Contains(string(a.Body), "another browser") {
				t.Errorf("another browser: %d %s", a.Status, a.Body)
			}
		}
		if p.state(id) != "webauthRequired" {
			t.Errorf("state %q", p.state(id))
		}
		if got := p.arrives(p.open(f.approveAddress("one")), ""); got != id || p.state(id) != "" {
			t.Errorf("connection %s of %s, state %q", got, id, p.state(id))
		}
	})
}

// In a sandbox, an application without registered addresses may use any address. Even then, the
// service redirects a browser only with a valid code.
func TestWebauthRedirectsNobodyWithoutACode(t *testing.T) {
	eachPerson(t, func(t *testing.T, p *person) {
		p.OK(p.Call("PUT", "/clients/"+p.ClientID, p.ConfigToken, map[string]any{"redirect_uris": []string{}}))
		for _, changes := range [][]string{{}, {"connector_uuid", ""}, {"id_connection", "x"}, {"token", "psl_cod_invented"}, {"token", p.token}} {
			a := p.open(p.Base + "/webauth?" + p.query(append(changes, "redirect_uri", "https://elsewhere.example/")...))
			if a.Status != http.StatusUnauthorized || a.Header.Get("Location") != "" {
				t.Errorf("%v: %d to %q: %s", changes, a.Status, a.Header.Get("Location"), a.Body)
			}
		}
	})
}

// The browser goes back to the application when two parameters name different connectors.
func TestWebauthOfContradictingConnectors(t *testing.T) {
	eachPerson(t, func(t *testing.T, p *person) {
		for _, number := range []string{"41", "9999", "x"} {
			a := p.open(p.direct("id_connector", number))
			p.arrives(a, "invalidValue")
			if to := a.Header.Get("Location"); !strings.Contains(to, "id_connector%3A+names+another+connector+than+connector_uuid") {
				t.Errorf("%s: sent to %s", number, to)
			}
		}
		if n := p.connections(); n != 0 {
			t.Errorf("%d connections", n)
		}
		p.page(p.sent(p.open(p.direct("id_connector", "40"))).String())
	})
}

// Only the owner of a connection may use it. The application must have registered the redirect
// address.
func TestWebauthOfOthers(t *testing.T) {
	eachPerson(t, func(t *testing.T, p *person) {
		stranger := newPerson(t, p.Instance)
		p.open(p.direct())
		id := fmt.Sprint(p.first())
		if a := p.Call("GET", "/webauth-url?"+p.query("connector_uuid", "", "id_connection", id), stranger.token, nil); a.Status != http.StatusNotFound {
			t.Errorf("the address for another's connection: %d %s", a.Status, a.Body)
		}
		stranger.arrives(stranger.open(stranger.direct("connector_uuid", "", "id_connection", id)), "notFound")
		for _, wrong := range [][]string{{"redirect_uri", "https://elsewhere.example/"}, {"redirect_uri", "javascript:alert(1)"}, {"redirect_uri", ""}, {"client_id", "1"}, {"client_id", ""}} {
			if a := p.open(p.direct(wrong...)); a.Status != http.StatusBadRequest || a.Header.Get("Location") != "" {
				t.Errorf("%v: %d %s", wrong, a.Status, a.Body)
			}
		}
		for _, address := range []string{p.direct() + "x", p.Base + "/webauth?" + p.query(), p.Base + "/webauth?" + p.query() + "&token=" + p.token} {
			if a := p.open(address); a.Status != http.StatusUnauthorized || a.Header.Get("Location") != "" {
				t.Errorf("without a code: %d %s", a.Status, a.Body)
			}
		}
		if n := p.connections(); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
		p.OK(p.Call("DELETE", "/connections/"+id, p.token, nil))
	})
}

func (p *person) first() (id int64) {
	p.t.Helper()
	var out struct{ Connections []struct{ ID int64 } }
	p.JSON(p.OK(p.Call("GET", "/connections", p.token, nil)), &out)
	return out.Connections[0].ID
}

// When an application creates a connection without a browser, the connection's message contains the
// bank's address.
func TestWebauthWithoutABrowserAtFirst(t *testing.T) {
	eachPerson(t, func(t *testing.T, p *person) {
		var out struct {
			ID      int64
			State   string
			Message string `json:"error_message"`
		}
		p.JSON(p.OK(p.Call("POST", "/connections?source=openapi", p.token, map[string]any{"connector_uuid": testConnector})), &out)
		address, found := strings.CutPrefix(out.Message, "Redirecting to ")
		if out.State != "webauthRequired" || !found {
			t.Fatalf("%+v", out)
		}
		f := p.page(address)
		p.OK(p.Call("PUT", fmt.Sprintf("/connections/%d", out.ID), p.token, "{}")) // the return address stays valid
		if a := p.open(f.approveAddress("otp")); a.Status != http.StatusOK || !strings.Contains(string(a.Body), "This is not finished yet") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		id := fmt.Sprint(out.ID)
		if p.state(id) != "additionalInformationNeeded" {
			t.Errorf("state %q", p.state(id))
		}
		p.OK(p.Call("POST", "/connections/"+id, p.token, map[string]any{"otp": "123456"}))
		if p.state(id) != "" {
			t.Errorf("state %q after the code", p.state(id))
		}
	})
}

// TestWebauthWithAQuestion: when the institution asks the person a further question, the redirect
// to the application has no error, because the application passes the question on.
func TestWebauthWithAQuestion(t *testing.T) {
	eachPerson(t, func(t *testing.T, p *person) {
		f := p.page(p.sent(p.open(p.address("website", "pro", "password", "1234"))).String())
		id := p.arrives(p.open(f.approveAddress("app")), "")
		if p.state(id) != "decoupled" {
			t.Errorf("state %q", p.state(id))
		}
		for _, login := range []string{"down", "action"} {
			f := p.page(p.sent(p.open(p.address())).String())
			p.arrives(p.open(f.approveAddress(login)), map[string]string{"down": "websiteUnavailable", "action": "actionNeeded"}[login])
		}
	})
}

func TestWebauthInABrowser(t *testing.T) {
	t.Parallel()
	for _, window := range []struct {
		name          string
		width, height int64
	}{{"desktop", 1280, 900}, {"phone", 390, 844}} {
		t.Run(window.name, func(t *testing.T) {
			t.Parallel()
			servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
				site, landed := shop(t)
				s.OK(s.Call("PUT", "/clients/"+s.ClientID, s.ConfigToken, map[string]any{"redirect_uris": []string{site.URL + "/back"}}))
				p := newPerson(t, s)
				ctx := servicetest.Browser(t, window.width, window.height)
				p.browse(ctx, servicetest.Navigate(p.address("redirect_uri", site.URL+"/back")), servicetest.Shown(`#login`))
				servicetest.Inspect(ctx, t, "access-"+window.name)
				p.browse(ctx, chromedp.SetValue(`#login`, "one"), chromedp.Click(`button.approve`), servicetest.Shown(`#landed`))
				q := <-landed
				if p.state(q.Get("id_connection")) != "" || q.Get("state") != "a b&c=ü" || q.Has("error") || q.Has("token") || q.Has("code") {
					t.Errorf("back with %v, state %q", q, p.state(q.Get("id_connection")))
				}
			})
		})
	}
}

func (p *person) browse(ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	for n, step := range steps {
		if err := chromedp.Do(ctx, step); err != nil {
			servicetest.Picture(ctx, p.t, "access-failed")
			p.t.Fatalf("step %d: %v", n, err)
		}
	}
}
