package webview_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"passerelle/connector/sandbox"
	"passerelle/connector/sandbox/customers"
	"passerelle/internal/servicetest"
)

// In a complete flow, a person signs in, chooses what to share, and returns to the application with
// the connection.
func TestConnect(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		page := p.open(p.link("connect")).shows(t, "Connect to Banque Exemple", "For test application", `type="password"`)
		if page.at.Query().Has("code") || page.at.Query().Has("client_id") {
			t.Errorf("the code stays in the address: %s", page.at)
		}
		page = p.settled(p.send(page, "begin", "field.login", "anna", "field.password", customers.Password))
		page.shows(t, "What do you want to share from Banque Exemple?", "Compte courant", "Contracts").lacks(t, " checked")
		nothing := p.send(page, "share").shows(t, "Select at least one account").body
		if n := strings.Count(nothing, `<fieldset aria-invalid="true" aria-describedby="problem">`); n != 2 {
			t.Errorf("%d lists are marked: %s", n, nothing)
		}

		accounts, subscriptions := page.offered()
		back := p.send(page, "share", "account", accounts[0], "subscription", subscriptions[0]).back(t)
		if want := "Banque Exemple: you share 1 account and 1 contract."; !strings.Contains(p.acknowledged, want) {
			t.Errorf("what was done is not said: %s", p.acknowledged)
		}
		all := p.connections(p.token)
		if len(all) != 1 || all[0].State != nil || len(all[0].Accounts) != 1 || len(all[0].Subscriptions) != 1 {
			t.Fatalf("connections %+v", all)
		}
		if want := (url.Values{"connection_id": {all[0].ID.String()}, "state": {"a b&c=ü"}}); sprint(back) != sprint(want) {
			t.Errorf("back with %v, want %v", back, want)
		}
		checkConsents(t, p, 2)
	})
}

// checkConsents checks the number of stored consents.
func checkConsents(t *testing.T, p *walker, count int) {
	t.Helper()
	var out struct {
		Consents []struct {
			Origin      string
			TextVersion string `json:"text_version"`
			Granted     string `json:"given"`
		}
	}
	p.JSON(p.OK(p.Call("GET", "/users/me/consents", p.token, nil)), &out)
	if len(out.Consents) != count {
		t.Errorf("%d consents, want %d", len(out.Consents), count)
	}
	for _, c := range out.Consents {
		if c.Origin != "webview" || c.TextVersion == "" || c.Granted == "" {
			t.Errorf("consent %+v", c)
		}
	}
}

// A person who arrives without a code becomes a new user. The application receives a code for the
// new user, and exchanges it for a token.
func TestConnectMakesAUser(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		page := p.connecting("one", "code", "")
		accounts, _ := page.offered()
		back := p.send(page, "share", "account", accounts[0]).back(t)
		exchange := map[string]any{"client_id": p.ClientID, "client_secret": p.Secret, "code": back.Get("code")}
		var out struct {
			Token string `json:"access_token"`
		}
		p.JSON(p.OK(p.Call("POST", "/auth/token/access", "", exchange)), &out)
		all := p.connections(out.Token)
		if len(all) != 1 || all[0].ID.String() != back.Get("connection_id") || len(all[0].Accounts) != 1 {
			t.Errorf("connections %+v, back with %v", all, back)
		}
		if a := p.Call("POST", "/auth/token/access", "", exchange); a.Status != http.StatusUnauthorized {
			t.Errorf("the code is good twice: %d", a.Status)
		}
		if strings.Contains(p.Logs.String(), back.Get("code")) {
			t.Error("the code was logged")
		}
	})
}

// The pages ask for the values that a connection's state needs, or show a message.
func TestConnectStates(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		for _, c := range []struct {
			login string
			steps []string // a text of the page, the step, and a field with its value
			ends  string
		}{
			{"otp", []string{"Banque Exemple needs more information", "fill", "field.otp", "123456"}, "What do you want to share"},
			{"device", []string{"needs more information", "fill", "field.device", "phone"}, "What do you want to share"},
			{"app", []string{"Confirm in the Banque Exemple app", "resume", "", ""}, "What do you want to share"},
			{"steps", []string{
				"needs more information", "fill", "field.device", "tablet", "needs more information", "fill", "field.otp", "123456", "Confirm in the Banque Exemple app", "resume", "", "",
			}, "What do you want to share"},
			{"action", []string{"is waiting for you", "again", "", ""}, "Please accept the new terms on our site."},
			{"expired", nil, "Your password has expired."},
			{"limited", nil, "allows no more updates"},
			{"down", []string{"cannot be reached", "again", "", ""}, "cannot be reached"},
			{"bug", nil, "The problem is on our side"},
			{"unsupported", nil, "is not supported"},
			{"none", nil, "What do you want to share"},
		} {
			t.Run(c.login, func(t *testing.T) {
				p := p.in(t)
				page := p.connecting(c.login)
				for i := 0; i < len(c.steps); i += 4 {
					page.shows(t, c.steps[i])
					page = p.settled(p.send(page, c.steps[i+1], c.steps[i+2], c.steps[i+3]))
				}
				page.shows(t, c.ends).lacks(t, "Nothing has been stored") // every one of these connections is stored
			})
		}
	})
}

func (p *walker) in(t *testing.T) *walker {
	other := *p
	other.t = t
	return &other
}

// After a wrong password, the page asks again for the sign-in details of the same connection.
func TestConnectWithAWrongPassword(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		page := p.open(p.link("connect", "connector_uuids", sandbox.TestConnector))
		missing := p.send(page, "begin", "field.login", "anna")
		missing.shows(t, "Something is missing", `value="anna"`, "<title>Please check your entries: Connect to Banque Exemple</title>")
		if missing.status != http.StatusUnprocessableEntity || len(p.connections(p.token)) != 0 {
			t.Errorf("a form without a password: %d, %d connections", missing.status, len(p.connections(p.token)))
		}
		page = p.settled(p.send(page, "begin", "field.login", "anna", "field.password", "0000"))
		page.shows(t, "did not accept these sign-in details", "The login or password is wrong.", `value="anna"`).lacks(t, "0000")
		p.send(page, "fill", "field.login", "anna").shows(t, "Something is missing")
		page = p.settled(p.send(page, "fill", "field.login", "anna", "field.password", customers.Password))
		page.shows(t, "What do you want to share")
		if all := p.connections(p.token); len(all) != 1 {
			t.Errorf("%d connections", len(all))
		}
	})
}

// Spaces around a password count, as in the API. Spaces around a login do not count.
func TestConnectKeepsTheSpacesOfAPassword(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		page := p.open(p.link("connect", "connector_uuids", sandbox.TestConnector))
		page = p.settled(p.send(page, "begin", "field.login", "anna", "field.password", " "+customers.Password))
		page.shows(t, "The login or password is wrong.")
		page = p.settled(p.send(page, "fill", "field.login", "anna", "field.password", customers.Password+" "))
		page.shows(t, "The login or password is wrong.")
		p.settled(p.send(page, "fill", "field.login", " anna ", "field.password", customers.Password)).shows(t, "What do you want to share")
	})
}

// When a person chooses the institution's own page, the service redirects the person to this page.
// Only the same browser can come back.
func TestConnectByThePageOfTheInstitution(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		page := p.open(p.link("connect", "connector_uuids", sandbox.TestConnector))
		page = p.click(page, "own page instead").shows(t, "You sign in on your bank’s own page")
		page = p.send(page, "begin").shows(t, "Continue at Banque Exemple")
		_, bank, _ := strings.Cut(page.header.Get("Refresh"), "url=")
		if !strings.HasPrefix(bank, p.Origin+"/sandbox/bank/access-") {
			t.Fatalf("the person is sent to %q", bank)
		}
		refused := p.open(p.decide(bank, url.Values{"error": {"access_denied"}}))
		refused.shows(t, "Continue at Banque Exemple", "Access was refused.")
		again := p.send(refused, "bank")
		_, bank, _ = strings.Cut(again.header.Get("Refresh"), "url=")
		yes := p.decide(bank, url.Values{"login": {"one"}})
		stranger := newWalker(t, p.Instance)
		if a := stranger.open(yes); a.status != http.StatusForbidden {
			t.Errorf("another browser is received: %d %s", a.status, a.body)
		}
		page = p.open(yes).shows(t, "What do you want to share")
		accounts, _ := page.offered()
		p.send(page, "share", "account", accounts[0]).back(t)
		if all := p.connections(p.token); len(all) != 1 || len(all[0].Accounts) != 1 {
			t.Errorf("connections %+v", all)
		}
	})
}

// decide adds values to the form on the bank's page, and returns the address that the form opens.
func (p *walker) decide(bank string, with url.Values) string {
	p.t.Helper()
	body := p.open(bank).body
	action := regexpOne(p.t, `action="([^"]*)"`, body)
	with.Set("state", regexpOne(p.t, `name="state" value="([^"]*)"`, body))
	if !with.Has("error") {
		with.Set("code", regexpOne(p.t, `name="code" value="([^"]*)"`, body))
	}
	return action + "?" + with.Encode()
}

// In a sandbox, the root page offers newcomers a first connection, unless the only application has
// registered redirect URIs.
func TestRootPageOffersAFirstConnectionInASandbox(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		p := newWalker(t, s)
		page := p.settled(p.send(p.click(p.open(p.Origin+"/webview"), "Try it"), "begin", "field.login", "one", "field.password", customers.Password))
		accounts, _ := page.offered()
		p.send(page, "share", "account", accounts[0]).shows(t, "Welcome back", "connection_id", "psl_cod_")
		s.OK(s.Call("PUT", "/clients/"+s.ClientID, s.ConfigToken, map[string]any{"redirect_uris": []string{returnURL}}))
		p.open(p.Origin+"/webview").lacks(t, "Try it")
	})
}
