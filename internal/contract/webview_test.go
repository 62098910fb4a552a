package contract_test

import (
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle/internal/servicetest"
)

// linkFacts are links that programs build (sections 12.1 and 12.2 of the fact list). Each link
// begins a flow, and the service redirects the browser to an address of this flow.
var linkFacts = slices.Concat(
	ofSection("12.1",
		begins("{base}/auth/webview/{lang}/connect", "OLD, SYMF", "/2.0/auth/webview/fr/connect?response_type=code", "/2.0/auth/webview/fr/connect"),
		begins("{base}/auth/webview/connect", "OLD", "/2.0/auth/webview/connect?code={new code}", "/2.0/auth/webview/"),
		begins("{webview}/{lang}/connect", "D, BART", "/webview/nl/connect?code={new code}", "/webview/nl/connect"),
		begins("{webview}/connect without language", "IKCP, JOUL", "/webview/connect?code={new code}", "/webview/"),
		begins("{base}/auth/webview/{lang}/reconnect", "OLD", "/2.0/auth/webview/de/reconnect?connection_id={connection}&code={new code}", "/2.0/auth/webview/de/reconnect"),
		begins("{base}/auth/webview/{lang}/manage", "OLD, SYMF", "/2.0/auth/webview/it/manage?code={new code}", "/2.0/auth/webview/it/manage"),
		begins("a code in the fragment, which the server does not see", "OLD", "/2.0/auth/webview/en/manage", "/2.0/auth/webview/en/manage"),
		begins("{base}/auth/share/", "OLD", "/2.0/auth/share/?response_type=code&state=&types=banks", "/2.0/auth/webview/en/connect"),
		begins("{base}/auth/share", "OLD", "/2.0/auth/share?response_type=code", "/2.0/auth/webview/en/connect"),
		begins("{base}/auth/share/ with a code", "OLD", "/2.0/auth/share/?response_type=code&code={new code}", "/2.0/auth/webview/en/manage"),
		begins("{base}/auth/webview/connect/select", "SW", "/2.0/auth/webview/connect/select?types=providers&connectors=40", "/2.0/auth/webview/en/connect"),
		begins("{base}/auth/webview/{lang}/connect/select", "SYMF", "/2.0/auth/webview/fr/connect/select", "/2.0/auth/webview/fr/connect"),
		begins("{base}/auth/webview/accounts", "SW", "/2.0/auth/webview/accounts?code={new code}", "/2.0/auth/webview/en/manage"),
		begins("{base}/auth/webview/{lang}/accounts", "SW", "/2.0/auth/webview/de/accounts?code={new code}", "/2.0/auth/webview/de/manage"),
		begins("the version twice", "FORM", "/2.0/2.0/auth/webview/nl/connect", "/2.0/auth/webview/nl/connect"),
		begins("the version twice, an older address", "FORM", "/2.0/2.0/auth/share/", "/2.0/auth/webview/en/connect"),
	),
	ofSection("12.2",
		begins("connect: domain, a bare name", "D", "/webview/en/connect?domain=test", "/webview/en/connect"),
		begins("connect: domain, a host", "BART, PYX", "/webview/en/connect?domain=127.0.0.1", "/webview/en/connect"),
		begins("connect: without code", "D", "/webview/en/connect?state=x", "/webview/en/connect"),
		begins("connect: state", "D", "/webview/en/connect?code={new code}&state=a%20b%26c", "/webview/en/connect"),
		begins("connect: connector_ids", "D", "/webview/en/connect?code={new code}&connector_ids=59,40", "/webview/en/connect"),
		begins("connect: connector_uuids", "D", "/webview/en/connect?code={new code}&connector_uuids={test connector},{provider connector}", "/webview/en/connect"),
		begins("connect: connector_capabilities", "D, FORM", "/webview/en/connect?code={new code}&connector_capabilities=bank,document", "/webview/en/connect"),
		begins("connect: connector_country", "D", "/webview/en/connect?code={new code}&connector_country=FR", "/webview/en/connect"),
		begins("connect: account_ibans", "D", "/webview/en/connect?code={new code}&account_ibans=FR7630006000011234567890189", "/webview/en/connect"),
		begins("connect: account_types", "D", "/webview/en/connect?code={new code}&account_types=checking,card", "/webview/en/connect"),
		begins("connect: account_usages", "D", "/webview/en/connect?code={new code}&account_usages=PRIV,ORGA", "/webview/en/connect"),
		begins("connect: max_connections", "D", "/webview/en/connect?code={new code}&max_connections=3", "/webview/en/connect"),
		begins("connect: {connector_uuid}.{field}", "D", "/webview/en/connect?code={new code}&{test connector}.login=anna", "/webview/en/connect"),
		begins("connect: compat", "D", "/webview/en/connect?code={new code}&compat=true", "/webview/en/connect"),
		begins("reconnect: connection_id", "D, FORM", "/webview/en/reconnect?code={new code}&connection_id={connection}&state=x", "/webview/en/reconnect"),
		begins("reconnect: reset_credentials", "D", "/webview/en/reconnect?code={new code}&connection_id={connection}&reset_credentials=true", "/webview/en/reconnect"),
		begins("reconnect: connection_sources", "D", "/webview/en/reconnect?code={new code}&connection_id={connection}&connection_sources=openapi", "/webview/en/reconnect"),
		begins("reconnect: sources", "WVJS", "/webview/en/reconnect?code={new code}&connection_id={connection}&sources=directaccess", "/webview/en/reconnect"),
		begins("manage: connection_id", "D", "/webview/en/manage?code={new code}&connection_id={connection}", "/webview/en/manage"),
		begins("manage: connector_capabilities", "D", "/webview/en/manage?code={new code}&connector_capabilities=bank", "/webview/en/manage"),
		begins("manage: account_types", "D", "/webview/en/manage?code={new code}&account_types=checking", "/webview/en/manage"),
		row{fact: "manage: without redirect_uri", by: "D", call: "GET /webview/en/manage?client_id={client}&code={new code}", status: 303, leads: "/webview/en/manage?session="},
		row{fact: "redirect_uri as it is", by: "FORM", call: "GET /webview/en/connect?client_id={client}&code={new code}&redirect_uri=" + receives, status: 303, leads: "/webview/en/connect?session="},
	),
)

const receives = "https://shop.example/back"

func begins(fact, by, link, leads string) row {
	glue := "?"
	if strings.Contains(link, "?") {
		glue = "&"
	}
	if !strings.HasSuffix(leads, "/") {
		leads += "?session="
	}
	return row{fact: fact, by: by, call: "GET " + link + glue + "client_id={client}&redirect_uri=" + url.QueryEscape(receives), status: 303, leads: leads}
}

// ending is a fact of section 12.3 of the fact list: the parameters that an application receives
// when a user returns.
type ending struct {
	fact, by string
	// link is the flow, with parameters in addition to the usual parameters.
	link string
	walk func(p *person, s page) page
	// shown lists all parameters of the callback. The word {one} means the user's last connection,
	// and * means any text.
	shown string
}

var endings = []ending{
	{"connect", "D, FORM", "connect?code={new code}&state=x", both(share("one"), finish), "connection_id={one}&state=x"},
	{"connect: connection_ids", "D", "connect?code={new code}&max_connections=2", both(share("one"), finish), "connection_id={one}&connection_ids={one}"},
	{"connect: code of a new user", "D, JB", "connect?state=x", both(share("one"), finish), "code=*&connection_id=*&state=x"},
	{"connect: access_denied", "D, SDK", "connect?code={new code}&state=x", leave, "error=access_denied&error_description=*&state=x"},
	{"connect: server_error", "D, SDK", "connect?code={new code}&state=x", both(signIn("down"), leave), "error=server_error&error_description=*&state=x"},
	{"connect: session_expired", "SDK", "connect?code={new code}&state=x", vanish, "error=session_expired&error_description=*&state=x"},
	{"reconnect", "FORM", "reconnect?code={new code}&connection_id={well}&state=x", stay, "connection_id={well}&state=x"},
	{"reconnect: access_denied", "D", "reconnect?code={new code}&connection_id={ill}&state=x", leave, "connection_id={ill}&error=access_denied&error_description=*&state=x"},
	{"manage", "D", "manage?code={new code}&state=x", leave, "state=x"},
	{"manage: connection_deleted", "SDK", "manage?code={new code}&connection_id={well}&state=x", forget, "connection_deleted=true&connection_id={well}&state=x"},
}

// TestCallbacks checks that every callback has exactly the parameters that programs read.
func TestCallbacks(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		s.OK(s.Call("PUT", "/clients/"+s.ClientID, s.ConfigToken, map[string]any{"redirect_uris": []string{receives}}))
		for _, e := range endings {
			t.Run(e.fact+" ("+e.by+")", func(t *testing.T) { e.check(t, s) })
		}
	})
}

func (e ending) check(t *testing.T, s *servicetest.Instance) {
	w := &fixture{Instance: s, things: map[string]string{"client": s.ClientID}}
	_, w.things["user token"] = w.user(t)
	for name, login := range map[string]string{"well": "one", "ill": "otp"} {
		if strings.Contains(e.link, "{"+name+"}") {
			w.things[name] = w.connect(t, w.things["user token"], login)
		}
	}
	p := newPerson(t, w)
	end := e.walk(p, p.open(s.Origin+"/webview/en/"+w.fill(t, e.link)+"&client_id="+s.ClientID+"&redirect_uri="+url.QueryEscape(receives)))
	if !strings.HasPrefix(end.at.String(), receives+"?") {
		t.Fatalf("the person ends at %s (%d): %s", end.at, end.status, end.body)
	}
	if strings.Contains(e.shown, "{one}") {
		all := w.listIDs(t, w.things["user token"], "/users/me/connections", "connections")
		w.things["one"] = all[len(all)-1]
	}
	want, err := url.ParseQuery(w.fill(t, e.shown))
	if err != nil {
		t.Fatal(err)
	}
	shown := end.at.Query()
	if names, wanted := slices.Sorted(maps.Keys(shown)), slices.Sorted(maps.Keys(want)); !slices.Equal(names, wanted) {
		t.Fatalf("told are %v, want %v", names, wanted)
	}
	for name := range want {
		if value := shown.Get(name); value == "" || want.Get(name) != "*" && want.Get(name) != value {
			t.Errorf("%s is %q, want %q", name, value, want.Get(name))
		}
	}
}

type person struct {
	*fixture
	t       *testing.T
	browser *http.Client
}

type page struct {
	at     *url.URL
	status int
	body   string
}

func newPerson(t *testing.T, w *fixture) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &person{w, t, &http.Client{Jar: jar, CheckRedirect: func(to *http.Request, _ []*http.Request) error {
		if to.URL.Host != strings.TrimPrefix(w.Origin, "http://") {
			return http.ErrUseLastResponse // the application is not running
		}
		return nil
	}}}
}

func (p *person) open(address string) page {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.show(request)
}

func (p *person) show(request *http.Request) page {
	p.t.Helper()
	response, err := p.browser.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	at := response.Request.URL
	if to, err := response.Location(); err == nil {
		at = to
	}
	return page{at, response.StatusCode, string(body)}
}

var (
	// watchedAddress finds the address that a waiting page opens without scripts.
	watchedAddress = regexp.MustCompile(`<noscript><meta http-equiv="refresh" content="\d+; url=([^"]+)"></noscript>`)

	pageForm  = regexp.MustCompile(`(?s)<form method="post" action="([^"]*)"[^>]*>(.*?)</form>`)
	formInput = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
	pageTick  = regexp.MustCompile(`name="account" value="(\d+)"`)
)

func (p *person) send(s page, step string, pairs ...string) page {
	p.t.Helper()
	for _, found := range pageForm.FindAllStringSubmatch(s.body, -1) {
		form := url.Values{}
		for _, input := range formInput.FindAllStringSubmatch(found[2], -1) {
			form.Set(input[1], html.UnescapeString(input[2]))
		}
		if form.Get("step") != step {
			continue
		}
		for i := 0; i < len(pairs); i += 2 {
			form.Add(pairs[i], pairs[i+1])
		}
		to, err := s.at.Parse(html.UnescapeString(found[1]))
		if err != nil {
			p.t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, to.String(), strings.NewReader(form.Encode()))
		if err != nil {
			p.t.Fatal(err)
		}
		request.Header.Set("Content-Type", asForm)
		request.Header.Set("Sec-Fetch-Site", "same-origin")
		return p.settled(p.show(request))
	}
	p.t.Fatalf("%s (%d) has no form about %q: %s", s.at, s.status, step, s.body)
	return page{}
}

func (p *person) settled(s page) page {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); strings.Contains(s.body, `<p role="status" data-after=`); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s never ends", s.at)
		}
		next := watchedAddress.FindStringSubmatch(s.body)
		if next == nil {
			p.t.Fatalf("%s waits without a next address: %s", s.at, s.body)
		}
		s = p.open(p.Origin + html.UnescapeString(next[1]))
	}
	return s
}

func (p *person) at(s page, pairs ...string) page {
	p.t.Helper()
	to, query := *s.at, s.at.Query()
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	to.RawQuery = query.Encode()
	return p.open(to.String())
}

// These functions are values of ending.walk.

func stay(_ *person, s page) page { return s }

func leave(p *person, s page) page { return p.at(s, "step", "leave") }

func finish(p *person, s page) page { return p.at(s, "step", "done") }

func forget(p *person, s page) page {
	return p.send(p.at(s, "connection", p.things["well"], "step", "forget"), "forget")
}

func vanish(p *person, s page) page {
	p.OK(p.Call("DELETE", "/users/me", p.things["user token"], nil))
	return p.open(s.at.String())
}

func signIn(login string) func(*person, page) page {
	return func(p *person, s page) page {
		return p.send(s, "begin", "field.login", login, "field.password", "1234")
	}
}

func share(login string) func(*person, page) page {
	return func(p *person, s page) page {
		s = signIn(login)(p, s)
		tick := pageTick.FindStringSubmatch(s.body)
		if tick == nil {
			p.t.Fatalf("%s (%d) offers no account: %s", s.at, s.status, s.body)
		}
		return p.send(s, "share", "account", tick[1])
	}
}

func both(first, then func(*person, page) page) func(*person, page) page {
	return func(p *person, s page) page { return then(p, first(p, s)) }
}
