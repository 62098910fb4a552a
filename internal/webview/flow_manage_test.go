package webview_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"passerelle/connector/sandbox"
	"passerelle/connector/sandbox/customers"
	"passerelle/internal/servicetest"
)

func TestManage(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		first, second := p.connection("anna"), p.connection("one")
		page := p.open(p.link("manage")).shows(t, "Your connections", "Updated on")
		if n := strings.Count(page.body, "connection="); n < 2 {
			t.Errorf("%d connections are listed: %s", n, page.body)
		}
		one := p.click(page, "Banque Exemple").shows(t, "Compte courant", "Remove this connection")
		accounts, _ := one.offered()
		one = p.send(one, "share", "account", accounts[0], "account", accounts[1]).shows(t, "Saved. test application sees 2 accounts of Banque Exemple.", " checked")
		if all := p.connections(p.token); len(all[0].Accounts) != 2 {
			t.Errorf("shared are %+v", all[0].Accounts)
		}
		p.quiet()
		one = p.send(one, "share", "account", accounts[1]).shows(t, "Saved. test application sees 1 account of Banque Exemple.")
		if all := p.connections(p.token); len(all[0].Accounts) != 1 {
			t.Errorf("shared are %+v", all[0].Accounts)
		}
		p.quiet()
		one = p.send(one, "share").shows(t, "no longer sees anything of Banque Exemple")
		if all := p.connections(p.token); len(all[0].Accounts) != 0 {
			t.Errorf("nothing is ticked, and shared are %+v", all[0].Accounts)
		}
		question := p.click(one, "Remove this connection").shows(t, "Remove the connection to Banque Exemple?", "erased")
		p.click(question, "No, keep it").shows(t, "Compte courant")
		rest := p.send(question, "forget").shows(t, "Your connections", "The connection was removed")
		if all := p.connections(p.token); len(all) != 1 || all[0].ID.String() != second {
			t.Errorf("left are %+v", all)
		}
		p.open(one.at.String()).shows(t, "Your connections") // the page of a deleted connection redirects to the list
		back := p.click(rest, "Done").back(t)
		if want := (url.Values{"connection_id": {first}, "connection_deleted": {"true"}, "state": {"a b&c=ü"}}); sprint(back) != sprint(want) {
			t.Errorf("back with %v, want %v", back, want)
		}
	})
}

// A person who manages connections adds a connection. After adding the connection or leaving, the
// person returns to the list.
func TestManageAddsAConnection(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		p.connection("anna")
		list := p.open(p.link("manage")).shows(t, "Your connections")
		form := p.send(list, "add").shows(t, "Banque Exemple")
		p.click(form, "All connections").shows(t, "Your connections")
		form = p.send(list, "add")
		page := p.settled(p.send(form, "begin", "field.login", "one", "field.password", customers.Password)).shows(t, "Share")
		accounts, _ := page.offered()
		p.send(page, "share", "account", accounts[0]).shows(t, "Your connections", "The new connection is ready.")
		if all := p.connections(p.token); len(all) != 2 || len(all[1].Accounts) != 1 {
			t.Errorf("there are %+v", all)
		}
		if a := p.post(form, form.at.Path+"?session=x", url.Values{"step": {"add"}}); a.status < 400 {
			t.Errorf("without a flow: %d", a.status)
		}
	})
}

// quiet waits until no sync reads a connection.
func (p *walker) quiet() {
	p.t.Helper()
	p.OK(p.Call("POST", "/sandbox/run", p.ConfigToken, nil))
}

// A link about one connection shows only that connection. The flow ends when the person removes
// this connection.
func TestManageOneConnection(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		id := p.connection("anna")
		p.connection("one")
		page := p.open(p.link("manage", "connection_id", id, "redirect_uri", "")).shows(t, "Compte courant").lacks(t, "All connections")
		p.send(p.click(page, "Remove this connection"), "forget").shows(t, "All done")
		if all := p.connections(p.token); len(all) != 1 {
			t.Errorf("%d connections are left", len(all))
		}
	})
}

// Parameters of the link select the connections and accounts that the person manages.
func TestManageSome(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		id := p.connection("anna")
		p.open(p.link("manage", "connector_capabilities", "profile")).shows(t, "You have no connections", "Connect a bank")
		p.open(p.link("manage", "account_types", "perco")).shows(t, "You have no connections", "Connect a bank")
		p.open(p.link("manage", "connection_id", id, "account_types", "card")).shows(t, "Card").lacks(t, "Compte courant")
	})
}

// The confirmation counts everything that the application sees, not only what this link offers.
func TestSavedCountsEverything(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		id := p.connection("anna")
		page := p.open(p.link("manage", "connection_id", id, "connector_capabilities", "bank"))
		accounts, _ := page.offered()
		p.send(page, "share", "account", accounts[0], "account", accounts[1])
		p.quiet()
		page = p.open(p.link("manage", "connection_id", id, "connector_capabilities", "document"))
		if accounts, _ := page.offered(); len(accounts) != 0 {
			t.Fatalf("the link offers the accounts %v", accounts)
		}
		page = p.send(page, "share").shows(t, "Saved. test application sees 2 accounts of Banque Exemple.").lacks(t, "no longer sees anything")
		if all := p.connections(p.token); len(all[0].Accounts) != 2 || len(all[0].Subscriptions) != 0 {
			t.Errorf("shared are %+v: %s", all[0], page.body)
		}
	})
}

// A change is also confirmed while the service cannot read the connection. After the repair, an old
// form without a password marks none of the lists to share.
func TestSavedOnABrokenConnection(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		id := p.connection("anna")
		page := p.open(p.link("reconnect", "connection_id", id, "reset_credentials", "true"))
		p.settled(p.send(page, "fill", "field.login", "anna", "field.password", "0000")).shows(t, "did not accept these sign-in details")
		page = p.open(p.link("manage", "connection_id", id)).shows(t, "did not accept these sign-in details")
		accounts, _ := page.offered()
		p.send(page, "share", "account", accounts[0]).shows(t, "Saved. test application sees 1 account of Banque Exemple.", "did not accept these sign-in details")
		p.settled(p.send(page, "fill", "field.login", "anna", "field.password", customers.Password)).shows(t, "works again")
		p.send(page, "fill", "field.login", "anna").shows(t, "Something is missing", "<fieldset>").lacks(t, "<fieldset aria-invalid")
	})
}

// When a connection needs an action of the person, the person can repair it. Both the list of
// connections and a link to this connection lead to the repair.
func TestReconnect(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		id := p.connection("anna")
		want := url.Values{"connection_id": {id}, "state": {"a b&c=ü"}}
		if back := p.open(p.link("reconnect", "connection_id", id)).back(t); sprint(back) != sprint(want) {
			t.Errorf("what works is back with %v, want %v", back, want)
		}
		id = p.waiting("otp")
		page := p.open(p.link("reconnect", "connection_id", id)).shows(t, "needs more information")
		back := p.settled(p.send(page, "fill", "field.otp", "123456")).back(t)
		if want.Set("connection_id", id); sprint(back) != sprint(want) {
			t.Errorf("back with %v, want %v", back, want)
		}
		left := p.waiting("app")
		page = p.open(p.link("reconnect", "connection_id", left)).shows(t, "Confirm in the Banque Exemple app")
		back = p.click(page, "Leave without connecting").back(t)
		if back.Get("error") != "access_denied" || back.Get("connection_id") != left || back.Get("state") == "" {
			t.Errorf("left with %v", back)
		}
		list := p.open(p.link("manage")).shows(t, "Needs your attention: open it to repair it")
		one := p.open(list.at.String()+"&connection="+left).shows(t, "Confirm in the Banque Exemple app", "Remove this connection").lacks(t, "nothing to share")
		p.open(p.Origin+polledNext(one.body)).shows(t, "Confirm in the Banque Exemple app", "Remove this connection")
		p.settled(p.send(one, "resume")).shows(t, "Updated on", "works again", "Compte courant").lacks(t, "Confirm in the Banque Exemple app")
	})
}

// The script of a waiting page polls the address of the page. When a poll finds the end of the flow,
// the browser can still open this address, and the flow ends then.
func TestAPollDoesNotEndAFlow(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		id := p.waiting("otp")
		page := p.open(p.link("reconnect", "connection_id", id)).shows(t, "needs more information")
		p.OK(p.Call("POST", "/connections/"+id, p.token, map[string]any{"otp": "123456"}))
		poll, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page.at.String(), nil)
		must(t, err)
		poll.Header.Set("Passerelle-Part", "all")
		for range 2 {
			if got := p.once(poll); got.status != http.StatusSeeOther || !strings.HasPrefix(got.location, returnURL) || len(got.header["Set-Cookie"]) > 0 {
				t.Errorf("the poll finds %d %q with %v", got.status, got.location, got.header)
			}
		}
		if back := p.open(page.at.String()).back(t); back.Get("connection_id") != id || back.Get("error") != "" {
			t.Errorf("back with %v", back)
		}
	})
}

// waiting creates a connection that waits for its user, and returns its id.
func (p *walker) waiting(login string) string {
	p.t.Helper()
	p.OK(p.Call("POST", "/connections?source=directaccess", p.token, map[string]any{"connector_uuid": sandbox.TestConnector, "login": login, "password": customers.Password}))
	all := p.connections(p.token)
	return all[len(all)-1].ID.String()
}

// The page asks the person for new credentials when the application requests them.
func TestReconnectWithNewCredentials(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		id := p.connection("anna")
		page := p.open(p.link("reconnect", "connection_id", id, "reset_credentials", "true")).shows(t, "New sign-in details for Banque Exemple")
		page = p.settled(p.send(page, "fill", "field.login", "anna", "field.password", "0000")).shows(t, "did not accept these sign-in details")
		p.settled(p.send(page, "fill", "field.login", "anna", "field.password", customers.Password)).back(t)
		if all := p.connections(p.token); all[0].State != nil {
			t.Errorf("connection %+v", all[0])
		}
		p.open(p.link("reconnect", "connection_id", id, "reset_credentials", "false")).back(t)
	})
}

// A read during the flow does not count as new credentials. A person who signed in on the
// institution's page need not enter credentials.
func TestNewCredentialsAreOnlyEntered(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		id := p.connection("anna")
		page := p.open(p.link("reconnect", "connection_id", id, "reset_credentials", "true")).shows(t, "New sign-in details for Banque Exemple")
		p.OK(p.Call("PUT", "/users/me/connections/"+id, p.token, map[string]any{}))
		page = p.open(page.at.String()).shows(t, "New sign-in details for Banque Exemple")
		p.settled(p.send(page, "fill", "field.login", "anna", "field.password", customers.Password)).back(t)

		page = p.click(p.open(p.link("connect", "connector_uuids", sandbox.TestConnector)), "own page instead")
		_, bank, _ := strings.Cut(p.send(page, "begin").header.Get("Refresh"), "url=")
		page = p.open(p.decide(bank, url.Values{"login": {"one"}}))
		accounts, _ := page.offered()
		id = p.send(page, "share", "account", accounts[0]).back(t).Get("connection_id")
		p.quiet()
		page = p.open(p.link("reconnect", "connection_id", id, "reset_credentials", "true")).shows(t, "New sign-in details for Banque Exemple", "Particuliers")
		if back := p.settled(p.send(page, "fill")).back(t); back.Get("connection_id") != id || back.Has("error") {
			t.Errorf("back with %v", back)
		}
	})
}

// The answer to a question of the institution does not count as new credentials.
func TestAnswersAreNoNewCredentials(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		p.connecting("otp")
		id := p.connections(p.token)[0].ID.String()
		page := p.open(p.link("reconnect", "connection_id", id, "reset_credentials", "true"))
		page = p.settled(p.send(page, "fill", "field.otp", "123456")).shows(t, "New sign-in details for Banque Exemple")
		p.settled(p.send(page, "fill", "field.login", "otp", "field.password", customers.Password)).back(t)
	})
}

// The person needs to do nothing when the link names only sources that the connection does not use.
func TestReconnectOfSources(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		id := p.waiting("otp")
		for _, parameter := range []string{"sources", "connection_sources"} {
			p.open(p.link("reconnect", "connection_id", id, parameter, "openapi,fallback")).back(t)
			p.open(p.link("reconnect", "connection_id", id, parameter, "openapi,directaccess")).shows(t, "needs more information")
		}
	})
}

// Older programs put the code into the fragment of the address. A form then sends the code.
func TestCodeByForm(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		id := p.connection("anna")
		page := p.open(p.link("manage", "code", "")).shows(t, "The link is incomplete", "ends with a # and a code")
		p.click(page, "Go back to").back(t)
		page = p.open(p.link("manage", "code", ""))
		if got := p.send(page, "code", "code", "psl_cod_x"); got.status != http.StatusUnauthorized {
			t.Errorf("an invented code: %d", got.status)
		}
		p.send(page, "code", "code", " #"+p.code()).shows(t, "Your connections", "Banque Exemple")
		page = p.open(p.link("reconnect", "code", "", "connection_id", id))
		p.send(page, "code", "code", p.code()).back(t)
		stranger := newWalker(t, p.Instance)
		page = p.open(p.link("reconnect", "code", "", "connection_id", id))
		if got := p.send(page, "code", "code", stranger.code()).shows(t, "connection_id: must be the number"); got.status != http.StatusBadRequest {
			t.Errorf("another's connection: %d", got.status)
		}
		// A code on a connect page selects an existing user, so the service creates no new user.
		page = p.open(p.link("connect", "code", ""))
		_, form := p.form(page, "begin")
		form.Set("step", "code")
		form.Set("code", p.code())
		page = p.post(page, page.at.String(), form)
		page = p.settled(p.send(page, "begin", "field.login", "one", "field.password", customers.Password))
		accounts, _ := page.offered()
		if back := p.send(page, "share", "account", accounts[0]).back(t); back.Has("code") || len(p.connections(p.token)) != 2 {
			t.Errorf("back with %v", back)
		}
	})
}

func TestConnectSeveral(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		page := p.connecting("one", "max_connections", "2")
		accounts, _ := page.offered()
		page = p.send(page, "share", "account", accounts[0]).shows(t, "You are connected", "Banque Exemple")
		page = p.click(page, "Connect another bank")
		page = p.settled(p.send(page, "begin", "field.login", "one-2", "field.password", customers.Password))
		accounts, _ = page.offered()
		page = p.send(page, "share", "account", accounts[0])
		back := page.back(t)
		all := p.connections(p.token)
		if len(all) != 2 || back.Get("connection_ids") != all[0].ID.String()+","+all[1].ID.String() || back.Get("connection_id") != all[0].ID.String() {
			t.Errorf("back with %v, connections %+v", back, all)
		}
	})
}

// A person stops sharing elsewhere, and then comes back to the page that says what they share.
func TestNothingSharedBetweenTwoConnections(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		page := p.connecting("one", "max_connections", "2")
		accounts, _ := page.offered()
		page = p.send(page, "share", "account", accounts[0]).shows(t, "Banque Exemple: you share 1 account.")
		p.OK(p.Call("PUT", "/users/me/accounts/"+accounts[0], p.token, map[string]any{"disabled": true}))
		p.open(page.at.String()).shows(t, "Connect another bank").lacks(t, "you share", "acknowledged")
	})
}

// A person who leaves or takes too long while making a second connection keeps the first.
func TestLeavingTheSecondConnection(t *testing.T) {
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	servicetest.Each(t, servicetest.Options{Now: now}, func(t *testing.T, s *servicetest.Instance) {
		s.OK(s.Call("PUT", "/clients/"+s.ClientID, s.ConfigToken, map[string]any{"redirect_uris": []string{returnURL}}))
		for name, end := range map[string]func(p *walker, page shown) shown{
			"before": func(p *walker, page shown) shown { return p.click(page, "Leave without connecting") },
			"after": func(p *walker, page shown) shown {
				page = p.settled(p.send(page, "begin", "field.login", "one-2", "field.password", customers.Password))
				return p.click(page, "Leave without connecting")
			},
			"late": func(p *walker, page shown) shown {
				ahead.Store(int64(2 * time.Hour))
				return p.open(page.at.String())
			},
		} {
			p := newWalker(t, s)
			page := p.connecting("one", "max_connections", "2")
			accounts, _ := page.offered()
			page = p.click(p.send(page, "share", "account", accounts[0]), "Connect another bank")
			back := end(p, page).back(t)
			ahead.Store(0)
			if first := p.connections(p.token)[0].ID.String(); back.Has("error") || back.Get("connection_id") != first || back.Get("connection_ids") != first {
				t.Errorf("%s: back with %v, want connection %s", name, back, first)
			}
		}
	})
}

// When a new user expires before the second connection, the application gets an error and no code.
func TestUsersExpireAtTheSecondConnection(t *testing.T) {
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	servicetest.Each(t, servicetest.Options{Now: now}, func(t *testing.T, s *servicetest.Instance) {
		ahead.Store(0)
		s.OK(s.Call("PUT", "/clients/"+s.ClientID, s.ConfigToken, map[string]any{"redirect_uris": []string{returnURL}}))
		p := newWalker(t, s)
		page := p.connecting("one", "code", "", "max_connections", "2")
		accounts, _ := page.offered()
		page = p.click(p.send(page, "share", "account", accounts[0]), "Connect another bank")
		ahead.Store(int64(2 * time.Hour))
		back := p.open(page.at.String()).back(t)
		if back.Get("error") != "session_expired" || !strings.Contains(back.Get("error_description"), "no longer exists") || back.Has("code") || back.Has("connection_id") {
			t.Errorf("back with %v", back)
		}
	})
}

// A person who leaves returns to the application with the reason. Failures that the person did not
// cause have the code server_error.
func TestLeaving(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		for login, want := range map[string]string{"": "access_denied", "otp": "access_denied", "down": "server_error", "unsupported": "server_error"} {
			page := p.open(p.link("connect"))
			if login != "" {
				page = p.connecting(login)
			}
			back := p.click(page, "Leave without connecting").back(t)
			if back.Get("error") != want || back.Get("error_description") == "" || back.Get("state") != "a b&c=ü" || back.Has("connection_id") {
				t.Errorf("%q is back with %v", login, back)
			}
		}
	})
}

// The page offers only the data that the application requests.
func TestSharingSome(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		page := p.connecting("anna")
		accounts, subscriptions := page.offered()
		if len(accounts) != 4 || len(subscriptions) == 0 {
			t.Fatalf("offered are %v and %v", accounts, subscriptions)
		}
		for _, c := range []struct {
			parameter, value string
			accounts         int
			subscriptions    bool
		}{
			{"connector_capabilities", "bank", 4, false},
			{"connector_capabilities", "document", 0, true},
			{"connector_capabilities", "bank,document", 4, true},
			{"account_types", "checking,card", 2, true},
			{"account_usages", "PRIV", 4, true},
			{"account_ibans", "FR7600000000000000000000000", 0, true},
		} {
			page := p.connecting("anna", c.parameter, c.value)
			accounts, subscriptions := page.offered()
			if len(accounts) != c.accounts || (len(subscriptions) > 0) != c.subscriptions {
				t.Errorf("%s=%s: offered are %v and %v", c.parameter, c.value, accounts, subscriptions)
			}
			if c.accounts == 0 && slices.Contains([]string{"document"}, c.value) {
				p.send(page, "share", "account", "1").shows(t, "Select at least one account")
			}
		}
	})
}

// One button shares all accounts of a connection.
func TestSharingAll(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		p.send(p.connecting("many"), "share", "all", "1").back(t)
		if all := p.connections(p.token); len(all[0].Accounts) != 200 {
			t.Errorf("%d accounts are shared", len(all[0].Accounts))
		}
	})
}

// A flow ends after two hours. The flow of a new user ends no later than the user's expiry.
func TestFlowsTakeTooLong(t *testing.T) {
	for _, c := range []struct {
		code  bool
		after time.Duration
	}{{true, 2 * time.Hour}, {false, 31 * time.Minute}} {
		var ahead atomic.Int64
		now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		servicetest.Each(t, servicetest.Options{Now: now}, func(t *testing.T, s *servicetest.Instance) {
			s.OK(s.Call("PUT", "/clients/"+s.ClientID, s.ConfigToken, map[string]any{"redirect_uris": []string{returnURL}}))
			p := newWalker(t, s)
			pairs := []string{}
			if !c.code {
				pairs = []string{"code", ""}
			}
			page := p.connecting("one", pairs...).shows(t, "What do you want to share")
			ahead.Store(int64(c.after))
			accounts, _ := page.offered()
			back := p.send(page, "share", "account", accounts[0]).back(t)
			if back.Get("error") != "session_expired" || back.Has("code") || back.Has("connection_id") {
				t.Errorf("after %s back with %v", c.after, back)
			}
			ahead.Store(0)
		})
	}
}

// A flow ends when its user is deleted.
func TestFlowsEnd(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		page := p.open(p.link("connect"))
		p.OK(p.Call("DELETE", "/users/me", p.token, nil))
		back := p.open(page.at.String()).back(t)
		if back.Get("error") != "session_expired" || back.Get("state") != "a b&c=ü" || !strings.Contains(back.Get("error_description"), "no longer exists") {
			t.Errorf("back with %v", back)
		}
		p = newWalker(t, p.Instance)
		page = p.open(p.link("manage", "redirect_uri", ""))
		p.OK(p.Call("DELETE", "/users/me", p.token, nil))
		if got := p.open(page.at.String()).shows(t, "This is no longer available"); got.status != http.StatusUnauthorized {
			t.Errorf("answered %d", got.status)
		}
		p.remembers(0)
	})
}

// remembers checks how many flows the browser stores.
func (p *walker) remembers(want int) {
	p.t.Helper()
	at, err := url.Parse(p.Origin + "/webview/en/connect")
	must(p.t, err)
	if all := p.browser.Jar.Cookies(at); len(all) != want {
		p.t.Errorf("the browser keeps %d cookies, want %d: %v", len(all), want, all)
	}
}

// After a person ends a flow, the browser keeps no data of the flow. The address of the flow's page
// then gives no access.
func TestEndedFlowsAreForgotten(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		sharing := func(pairs ...string) shown { return p.connecting("one", pairs...) }
		share := func(page shown) shown {
			accounts, _ := page.offered()
			return p.send(page, "share", "account", accounts[0])
		}
		for name, end := range map[string]func() shown{
			"done":               func() shown { page := sharing(); share(page); return page },
			"done as a new user": func() shown { page := sharing("code", ""); share(page); return page },
			"given up": func() shown {
				page := p.open(p.link("connect"))
				p.open(page.at.String() + "&step=leave").back(t)
				return page
			},
			"managed": func() shown { page := p.open(p.link("manage")); p.click(page, "Done"); return page },
			"managed, with a connection begun": func() shown {
				page := p.open(p.link("manage"))
				begun := p.send(page, "add")
				p.click(page, "Done")
				return begun
			},
			"from nowhere": func() shown {
				page := p.open(p.link("manage", "redirect_uri", ""))
				p.click(page, "Done").shows(t, "You can go back")
				return page
			},
		} {
			page := end()
			p.remembers(0)
			if got := p.open(page.at.String()); got.status != http.StatusUnauthorized {
				t.Errorf("%s: the next person gets %d at %s", name, got.status, page.at)
			}
		}
	})
}

// When many flows begin in a browser and do not end, the browser keeps only the latest flows.
func TestUnfinishedFlowsAreLimited(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		var pages []shown
		for range 12 {
			pages = append(pages, p.open(p.link("connect", "account_ibans", strings.Repeat("FR7630006000011234567890189,", 40))))
		}
		p.remembers(8)
		p.open(pages[4].at.String()).shows(t, "Connect to")
		if got := p.open(pages[3].at.String()); got.status != http.StatusUnauthorized {
			t.Errorf("the first flows go on: %d", got.status)
		}
	})
}

// The list names accounts of each connection, also for a person with more than 1,000 accounts.
func TestManageNamesManyAccounts(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		const connections = 6 // of 200 accounts
		for range connections {
			p.connection("many")
		}
		page := p.open(p.link("manage")).shows(t, "Your connections")
		if n := strings.Count(page.body, "197 more"); n != connections {
			t.Errorf("the list names accounts of %d connections: %s", n, page.body)
		}
	})
}
