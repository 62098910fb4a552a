package webview_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"passerelle/connector/sandbox"
	"passerelle/connector/sandbox/customers"
)

func TestLinks(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		query := func(pairs ...string) string {
			_, query, _ := strings.Cut(p.link("connect", pairs...), "?")
			return query
		}
		host := strings.TrimPrefix(p.Origin, "http://")
		bare, _, _ := strings.Cut(host, ":")
		const everything = "Connect to Banque Exemple"
		for _, c := range []struct {
			name, path, query string
			shows             []string
		}{
			{"new address", "/webview/en/connect", query(), []string{everything}},
			{"old address", "/2.0/auth/webview/en/connect", query("response_type", "code"), []string{everything}},
			{"in French", "/webview/fr/connect", query(), []string{`lang="fr"`, "Se connecter à Banque Exemple"}},
			{"language of the browser", "/webview/connect", query(), []string{`lang="fr"`}},
			{"old address, language of the browser", "/2.0/auth/webview/connect", query(), []string{`lang="fr"`}},
			{"domain by host", "/webview/en/connect", query("domain", host), []string{everything}},
			{"domain by host without port", "/webview/en/connect", query("domain", bare), []string{everything}},
			{"domain by name", "/webview/en/connect", query("domain", "TEST"), []string{everything}},
			{"another domain", "/webview/en/connect", query("domain", "bank.example"), []string{`"bank.example" is not this service`}},
			{"address not encoded", "/webview/en/connect", query("redirect_uri", "") + "&redirect_uri=" + returnURL, []string{everything}},
			{"connectors by number", "/webview/en/connect", query("connector_ids", "64,40", "connector_capabilities", "document"), []string{"Choose your provider", "Fournisseur Exemple", "Banque Exemple"}},
			{"connectors by UUID", "/webview/en/connect", query("connector_uuids", strings.ToUpper(customers.ProviderConnector), "connector_capabilities", "document"), []string{"Connect to Fournisseur Exemple"}},
			{"unknown connector", "/webview/en/connect", query("connector_uuids", "00000000-0000-4000-8000-000000000000"), []string{"None of the available banks"}},
			{"restricted connector", "/webview/en/connect", query("connector_uuids", customers.RestrictedConnector), []string{"None of the available banks"}},
			{"capabilities, all of them", "/webview/en/connect", query("connector_capabilities", "document,bankwealth"), []string{everything}},
			{"a capability without institutions", "/webview/en/connect", query("connector_capabilities", "contact"), []string{"None of the available banks"}},
			{"country", "/webview/en/connect", query("connector_country", "fr"), []string{everything}},
			{"country without institutions", "/webview/en/connect", query("connector_country", "JP"), []string{"None of the available banks"}},
			{"account types", "/webview/en/connect", query("account_types", "perco"), []string{"None of the available banks"}},
			{"account usages", "/webview/en/connect", query("account_usages", "ORGA"), []string{"None of the available banks"}},
			{"filled in before", "/webview/en/connect", query(sandbox.TestConnector+".login", "anna", "x.login", "bert"), []string{`value="anna"`}},
			{"types of an old program", "/2.0/auth/webview/en/connect", query("types", "providers"), []string{"Choose your provider", "Fournisseur Exemple"}},
			{"types and capabilities", "/2.0/auth/webview/en/connect", query("types", "providers", "connector_capabilities", "bank"), []string{everything}},
			{"unknown types", "/2.0/auth/webview/en/connect", query("types", "all"), []string{everything}},
			{"connectors of an old program", "/2.0/auth/webview/en/connect", query("types", "providers", "connectors", "64"), []string{"Connect to Fournisseur Exemple"}},
			{"old program", "/webview/en/connect", query("compat", "1", "unknown", "2"), []string{everything}},
		} {
			t.Run(c.name, func(t *testing.T) {
				p := newWalker(t, p.Instance)
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.Origin+c.path+"?"+c.query, nil)
				must(t, err)
				request.Header.Set("Accept-Language", "fr-CA, en;q=0.5")
				first := p.once(request)
				if cookie := first.header.Get("Set-Cookie"); first.location != "" && !strings.Contains(cookie, "Path="+strings.TrimSuffix(strings.TrimSuffix(c.path, "/connect"), "/en")) && !strings.Contains(c.path, "/fr/") {
					t.Errorf("cookie %q", cookie)
				}
				if first.location == "" {
					shown{first, request.URL}.shows(t, c.shows...)
					return
				}
				p.open(p.Origin+first.location).shows(t, c.shows...)
			})
		}
	})
}

func TestWrongLinks(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		other := newWalker(t, p.Instance)
		foreign := other.connection("one")
		const notTheirs = "connection_id: must be the number of a connection of the user who has the code"
		for _, c := range []struct {
			name, link string
			status     int
			shows      string
		}{
			{"no application", p.link("connect", "client_id", ""), 400, "client_id: must be the number"},
			{"unknown application", p.link("connect", "client_id", "999"), 400, "there is no application 999"},
			{"nowhere to go", p.link("connect", "redirect_uri", ""), 400, "redirect_uri: is required"},
			{"another site", p.link("connect", "redirect_uri", "https://elsewhere.example/"), 400, `registered are ["` + returnURL + `"]`},
			{"no page", p.link("connect", "redirect_uri", "javascript:alert(1)"), 400, "redirect_uri: "},
			{"with a query", p.link("connect", "redirect_uri", returnURL+"?a=1"), 400, "redirect_uri: must have no query"},
			{"long state", p.link("connect", "state", strings.Repeat("x", 2001)), 400, "state: "},
			{"no number of connections", p.link("connect", "max_connections", "many"), 400, "max_connections: "},
			{"no connections at all", p.link("connect", "max_connections", "0"), 400, "max_connections: "},
			{"invented code", p.link("connect", "code", "psl_cod_x"), 401, "no longer valid"},
			{"a token for a code", p.link("connect", "code", p.token), 401, "no longer valid"},
			{"reconnect what", p.link("reconnect"), 400, "connection_id: is required"},
			{"reconnect a word", p.link("reconnect", "connection_id", "one"), 400, "connection_id: must be the number"},
			{"reconnect another's", p.link("reconnect", "connection_id", foreign), 400, notTheirs},
			{"reconnect none", p.link("reconnect", "connection_id", "999999"), 400, notTheirs},
			{"manage another's", p.link("manage", "connection_id", foreign), 400, notTheirs},
			{"manage none", p.link("manage", "connection_id", "999999"), 400, notTheirs},
			{"more than a cookie holds", p.link("connect", sandbox.TestConnector+".login", strings.Repeat("x", 4000)), 400, "This link is too long"},
			{"too many numbers", p.link("connect", "connector_ids", strings.Repeat("1,", 501)), 400, "connector_ids, connector_uuids: "},
			{"too many connectors", p.link("connect", "connector_uuids", strings.Repeat("x,", 501)), 400, "connector_ids, connector_uuids: "},
			{"too many accounts", p.link("connect", "account_ibans", strings.Repeat("x,", 501)), 400, "account_ibans: "},
			{"a word for a number", p.link("connect", "connector_ids", "abc,4O"), 400, "connector_ids: must be numbers or UUIDs of connectors"},
			{"a word for a UUID", p.link("connect", "connector_uuids", "abc"), 400, "connector_uuids: must be numbers or UUIDs of connectors"},
			{"words for numbers and for UUIDs", p.link("connect", "connector_ids", "4O", "connector_uuids", "abc"), 400, "connector_ids: must be numbers or UUIDs of connectors"},
			{"unknown capability", p.link("connect", "connector_capabilities", "bank,fortune"), 400, "connector_capabilities: must be one or more of bank, bankwealth, document, profile, contact"},
			{"a country of three letters", p.link("connect", "connector_country", "FRA"), 400, "connector_country: must be an ISO 3166-1 country code in capitals, such as FR"},
			{"unknown account type", p.link("connect", "account_types", "xx,yy"), 400, "account_types: must be names of account types, such as checking; GET /account_types lists them"},
			{"unknown account type, managing", p.link("manage", "account_types", "xx"), 400, "account_types: must be names of account types"},
			{"unknown usage", p.link("connect", "account_usages", "PRO"), 400, "account_usages: must be one or more of PRIV, ORGA, ASSO"},
			{"no IBAN", p.link("connect", "account_ibans", "abc"), 400, "account_ibans: must be IBANs"},
			{"unknown flow", p.link("connexion"), 404, "Page not found"},
			{"unknown language", strings.Replace(p.link("connect"), "/en/", "/xx/", 1), 404, "Page not found"},
			{"no session", p.Origin + "/webview/en/connect?session=x", 401, "no longer valid"},
		} {
			t.Run(c.name, func(t *testing.T) {
				got := p.open(c.link).shows(t, c.shows)
				if got.status != c.status || got.header.Get("Set-Cookie") != "" {
					t.Errorf("answered %d with cookie %q, want %d", got.status, got.header.Get("Set-Cookie"), c.status)
				}
			})
		}
		p.OK(p.Call("GET", "/users/me", p.token, nil))
	})
}

// In lists of which any value may match, a wrong value beside a right one changes nothing.
func TestLinksWithOneWrongValue(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		for parameter, values := range map[string]string{
			"connector_ids": "40,abc", "connector_uuids": "abc," + sandbox.TestConnector, "account_types": "xx,checking",
			"account_usages": "PRIV,PRO", "account_ibans": "abc,FR7630006000011234567890189",
		} {
			page := p.open(p.link("connect", parameter, values)).shows(t, "Connect to")
			if page.status != http.StatusOK {
				t.Errorf("%s=%s: answered %d", parameter, values, page.status)
			}
		}
		p.open(p.link("manage", "account_types", "xx,checking")).shows(t, "Your connections")
		p.open(p.link("connect", "connector_uuids", "abc", "connector_ids", "40")).shows(t, "Connect to Banque Exemple")
	})
}

// A wrong value of a parameter that the flow does not use changes nothing.
func TestLinksWithUnusedParameters(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		unused := []string{"connector_ids", "abc", "connector_uuids", "x", "connector_country", "FRA"}
		p.open(p.link("manage", unused...)).shows(t, "Your connections")
		id := p.connection("anna")
		filters := slices.Concat(unused, []string{"connector_capabilities", "fortune", "account_types", "xx", "account_usages", "PRO", "account_ibans", "abc"})
		p.open(p.link("reconnect", slices.Concat(filters, []string{"connection_id", id, "reset_credentials", "1"})...)).shows(t, "Banque Exemple")
		accounts := []string{"account_types", "xx", "account_ibans", "abc", "connector_capabilities", "document"}
		p.open(p.link("connect", slices.Concat(accounts, []string{"connector_uuids", customers.ProviderConnector})...)).shows(t, "Connect to Fournisseur Exemple")
		p.open(p.link("manage", slices.Concat(accounts, []string{"account_usages", "PRO"})...)).shows(t, "Your connections")
	})
}

// Only one browser gets access with a single-use code. Other codes can be used several times.
func TestCodesOfLinks(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		var single struct{ Code string }
		p.JSON(p.OK(p.Call("GET", "/auth/token/code?type=singleAccess", p.token, nil)), &single)
		link := p.link("connect", "code", single.Code)
		page := p.open(link).shows(t, "Connect to")
		if got := p.open(link); got.status != http.StatusUnauthorized {
			t.Errorf("a code for one use is good twice: %d", got.status)
		}
		p.open(page.at.String()).shows(t, "Connect to") // the flow continues
		stranger := newWalker(t, p.Instance)
		if got := stranger.open(page.at.String()); got.status != http.StatusUnauthorized {
			t.Errorf("another browser is in the flow: %d", got.status)
		}
		p.JSON(p.OK(p.Call("GET", "/auth/token/code?type=singleAccess", p.token, nil)), &single)
		p.open(p.link("connect", "code", single.Code, "account_ibans", strings.Repeat("FR7630006000011234567890189,", 500))).shows(t, "This link is too long")
		p.open(p.link("connect", "code", single.Code)).shows(t, "Connect to") // the refused link has not used up the code
		many := p.link("connect")
		p.open(many).shows(t, "Connect to")
		p.open(many).shows(t, "Connect to")
	})
}

// A form must have the flow's token and come from the service's own site.
func TestFormsOfOthers(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		page := p.open(p.link("connect"))
		action, form := p.form(page, "begin")
		form.Set("field.login", "anna")
		form.Set("field.password", customers.Password)
		send := func(change func(url.Values), site string) shown {
			sent := url.Values{}
			for name, values := range form {
				sent[name] = values
			}
			change(sent)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.Origin+action, strings.NewReader(sent.Encode()))
			must(t, err)
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			request.Header.Set("Sec-Fetch-Site", site)
			return p.follow(request)
		}
		for _, c := range []struct {
			name, site string
			change     func(url.Values)
			status     int
		}{
			{"from another site", "cross-site", func(url.Values) {}, 403},
			{"without the token", "same-origin", func(f url.Values) { f.Del("csrf") }, 403},
			{"with another token", "same-origin", func(f url.Values) { f.Set("csrf", "x") }, 403},
			{"about nothing", "same-origin", func(f url.Values) { f.Set("step", "x") }, 400},
			{"about a connection that is none", "same-origin", func(f url.Values) { f.Set("step", "share") }, 400},
			{"with an invented ticket", "same-origin", func(f url.Values) { f.Set("ticket", "x"); f.Set("step", "bank") }, 401},
		} {
			if got := send(c.change, c.site); got.status != c.status {
				t.Errorf("%s: %d, want %d: %s", c.name, got.status, c.status, got.body)
			}
		}
		if n := len(p.connections(p.token)); n != 0 {
			t.Errorf("%d connections came of it", n)
		}
		if got := p.settled(send(func(url.Values) {}, "same-origin")); got.status != http.StatusOK {
			t.Errorf("the right form: %d %s", got.status, got.body)
		}
	})
}
