package webview_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"passerelle/connector/sandbox"
	"passerelle/connector/sandbox/customers"
	"passerelle/internal/database"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// before returns a person with the present cookies in another browser. Later responses to p do not
// change these cookies, as if the responses were lost.
func (p *walker) before(at shown) *walker {
	p.t.Helper()
	other := *p
	other.browser = newBrowser(p.t)
	cookies := p.browser.Jar.Cookies(at.at)
	for _, one := range cookies {
		one.Path = "/webview"
	}
	other.browser.Jar.SetCookies(at.at, cookies)
	return &other
}

// credentials returns the address and the fields of the form for credentials, filled in for anna.
func (p *walker) credentials(page shown, password string) (string, url.Values) {
	p.t.Helper()
	action, form := p.form(page, "begin")
	form.Set("field.login", "anna")
	form.Set("field.password", password)
	return action, form
}

func (p *walker) count(rows string) int64 {
	p.t.Helper()
	n, err := database.One(p.t.Context(), p.DB.Rows(), database.ScanInt, `SELECT count(*) FROM `+rows)
	must(p.t, err)
	return n
}

// A form that is sent twice makes only one connection and only one user. Both requests lead to the
// same connection, even if the first read has ended, with or without success, and after a restart.
func TestCredentialsSentTwice(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		for name, c := range map[string]struct {
			anonymous, restart bool
			password, shows    string
		}{
			"known user":              {password: customers.Password, shows: "What do you want to share"},
			"known user, refused":     {password: "0000", shows: "did not accept these sign-in details"},
			"new user":                {anonymous: true, password: customers.Password, shows: "What do you want to share"},
			"new user, refused":       {anonymous: true, password: "0000", shows: "did not accept these sign-in details"},
			"new user, new process":   {anonymous: true, restart: true, password: customers.Password, shows: "What do you want to share"},
			"known user, new process": {restart: true, password: "0000", shows: "did not accept these sign-in details"},
		} {
			t.Run(name, func(t *testing.T) {
				p := newWalker(t, p.Instance)
				pairs := []string{"connector_uuids", sandbox.TestConnector}
				if c.anonymous {
					pairs = append(pairs, "code", "")
				}
				page := p.open(p.link("connect", pairs...))
				again, users, connections := p.before(page), p.count("end_user"), p.count("connection")
				action, form := p.credentials(page, c.password)
				first := p.settled(p.post(page, action, form)).shows(t, c.shows)
				if c.restart {
					p.Restart()
					page.at.Host = strings.TrimPrefix(p.Origin, "http://")
				}
				events := p.count("event")
				second := again.settled(again.post(page, action, form)).shows(t, c.shows)
				if one, other := first.at.Query().Get("connection"), second.at.Query().Get("connection"); one == "" || one != other {
					t.Errorf("the first form leads to connection %q, the second one to %q", one, other)
				}
				if made := p.count("connection") - connections; made != 1 {
					t.Errorf("%d connections were made", made)
				}
				want := int64(0)
				if c.anonymous {
					want = 1
				}
				if made := p.count("end_user") - users; made != want {
					t.Errorf("%d users were made, want %d", made, want)
				}
				if more := p.count("event") - events; more != 0 {
					t.Errorf("the second form caused %d events", more)
				}
			})
		}
	})
}

// atOnce sends a form several times at once, and returns the addresses to which the responses
// redirect.
func (p *walker) atOnce(s shown, action string, form url.Values) []string {
	p.t.Helper()
	to, err := s.at.Parse(action)
	must(p.t, err)
	addresses := make([]string, 6)
	var sending sync.WaitGroup
	for i := range addresses {
		sending.Go(func() {
			request, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, to.String(), strings.NewReader(form.Encode()))
			if err != nil {
				p.t.Error(err)
				return
			}
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			request.Header.Set("Sec-Fetch-Site", "same-origin")
			response, err := p.browser.Do(request)
			if err != nil {
				p.t.Error(err)
				return
			}
			defer response.Body.Close()
			body, _ := io.ReadAll(response.Body)
			if addresses[i] = response.Header.Get("Location"); addresses[i] == "" {
				p.t.Errorf("%d without a redirect: %s", response.StatusCode, body)
			}
		})
	}
	sending.Wait()
	return addresses
}

// Requests with the same form that arrive at the same time make one user and one connection.
func TestCredentialsSentAtOnce(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		for _, mechanism := range []string{"credentials", "webauth"} {
			for range 3 {
				p = newWalker(t, p.Instance)
				page := p.open(p.link("connect", "connector_uuids", sandbox.TestConnector, "code", ""))
				if mechanism == "webauth" {
					page = p.click(page, "own page instead")
				}
				action, form := p.form(page, "begin")
				if mechanism != "webauth" {
					form.Set("field.login", "anna")
					form.Set("field.password", customers.Password)
				}
				users, connections := p.count("end_user"), p.count("connection")
				addresses := p.atOnce(page, action, form)
				for _, one := range addresses {
					if one != addresses[0] {
						t.Errorf("%s: one request leads to %s, another one to %s", mechanism, addresses[0], one)
					}
				}
				if u, c := p.count("end_user")-users, p.count("connection")-connections; u != 1 || c != 1 {
					t.Errorf("%s: %d users and %d connections were made", mechanism, u, c)
				}
				if got := p.settled(p.open(p.Origin + addresses[0])); got.status != http.StatusOK {
					t.Errorf("%s: the page of the connection is %d %s", mechanism, got.status, got.body)
				}
			}
		}
	})
}

// A person may go back to a form that has made a connection, and send other values. A corrected
// password goes to the same connection. After a successful read, other values lead to a new form.
func TestCredentialsCorrected(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		page := p.open(p.link("connect", "connector_uuids", sandbox.TestConnector))
		action, form := p.form(page, "begin")
		send := func(login, password string) shown {
			form.Set("field.login", login)
			form.Set("field.password", password)
			return p.settled(p.post(page, action, form))
		}
		first := send("nobody", "0000").shows(t, "did not accept these sign-in details")
		send("nobody", "0000").shows(t, "did not accept these sign-in details")
		send("anna", "0001").shows(t, "did not accept these sign-in details")
		for range 2 {
			second := send("anna", customers.Password).shows(t, "What do you want to share")
			if one, other := first.at.Query().Get("connection"), second.at.Query().Get("connection"); one == "" || one != other {
				t.Errorf("the form leads to connection %q, and after the correction to %q", one, other)
			}
		}
		syncs := p.count("connection_log")
		again := send("one", customers.Password).shows(t, "Connect to Banque Exemple")
		if n, more := len(p.connections(p.token)), p.count("connection_log")-syncs; n != 1 || more != 0 {
			t.Errorf("%d connections were made, and %d reads for other values", n, more)
		}
		p.settled(p.send(again, "begin", "field.login", "one", "field.password", customers.Password)).shows(t, "What do you want to share")
		if n := len(p.connections(p.token)); n != 2 {
			t.Errorf("%d connections were made", n)
		}
	})
}

// A person may send a form again although the stored credentials of its connection are damaged. The
// credentials in the form go to the connection. After a successful read, the form leads to a new form.
func TestCredentialsSentAfterDamage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, address string) {
		p := newWalker(t, servicetest.Start(t, address, servicetest.Options{}))
		link := p.link("connect", "connector_uuids", sandbox.TestConnector)
		p.settled(p.send(p.open(link), "begin", "field.login", "one", "field.password", "0000"))
		page := p.open(link)
		action, form := p.credentials(page, "0000")
		damage := func() {
			t.Helper()
			storetest.Break(t, address, `UPDATE connection SET credentials = (SELECT x.credentials FROM connection x ORDER BY x.id LIMIT 1) WHERE id > 1`)
		}
		first := p.settled(p.post(page, action, form)).shows(t, "did not accept these sign-in details")
		damage()
		form.Set("field.password", customers.Password)
		second := p.settled(p.post(page, action, form)).shows(t, "What do you want to share")
		if one, other := first.at.Query().Get("connection"), second.at.Query().Get("connection"); one == "" || one != other {
			t.Errorf("the form leads to connection %q, and after the damage to %q", one, other)
		}
		damage()
		p.post(page, action, form).shows(t, "Connect to Banque Exemple")
	})
}

// A form whose connection was deleted leads to a new form. A new form makes a new connection.
func TestCredentialsSentAfterADeletion(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		page := p.open(p.link("connect", "connector_uuids", sandbox.TestConnector))
		action, form := p.credentials(page, customers.Password)
		p.settled(p.post(page, action, form)).shows(t, "What do you want to share")
		p.OK(p.Call("DELETE", "/users/me/connections/"+p.connections(p.token)[0].ID.String(), p.token, nil))
		again := p.post(page, action, form).shows(t, "Connect to Banque Exemple")
		if n := len(p.connections(p.token)); n != 0 {
			t.Errorf("%d connections were made", n)
		}
		p.settled(p.send(again, "begin", "field.login", "anna", "field.password", customers.Password)).shows(t, "What do you want to share")
		if n := len(p.connections(p.token)); n != 1 {
			t.Errorf("%d connections were made", n)
		}
	})
}

// During an upgrade, a person may send a form that a process of the previous version has made.
func TestCredentialsOfAnEarlierVersion(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		page := p.open(p.link("connect", "connector_uuids", sandbox.TestConnector))
		action, form := p.credentials(page, customers.Password)
		form.Del("once")
		p.settled(p.post(page, action, form)).shows(t, "What do you want to share")
		if n := len(p.connections(p.token)); n != 1 {
			t.Errorf("%d connections were made", n)
		}
	})
}

// The form that opens the institution's page asks the institution only once, even if several
// requests arrive at the same time. A new form asks again.
func TestPageOfTheInstitutionOpenedTwice(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		page := p.open(p.link("connect", "connector_uuids", sandbox.TestConnector))
		page = p.send(p.click(page, "own page instead"), "begin")
		_, bank, _ := strings.Cut(page.header.Get("Refresh"), "url=")
		refused := p.open(p.decide(bank, url.Values{"error": {"access_denied"}})).shows(t, "Access was refused.")
		action, form := p.form(refused, "bank")
		syncs := p.count("connection_log")
		p.atOnce(refused, action, form)
		again := p.post(refused, action, form).shows(t, "Continue at Banque Exemple")
		if calls := p.count("connection_log") - syncs; calls != 1 {
			t.Errorf("the institution was asked %d times", calls)
		}
		_, bank, _ = strings.Cut(again.header.Get("Refresh"), "url=")
		p.open(p.decide(bank, url.Values{"error": {"access_denied"}}))
		p.send(p.open(p.Origin+action), "bank").shows(t, "Continue at Banque Exemple")
		if calls := p.count("connection_log") - syncs; calls != 3 {
			t.Errorf("after a return and a new form, the institution was asked %d times", calls)
		}
	})
}

// Two flows lead to the institution of the same connection, one after the other. Each person comes
// back to their own flow.
func TestPageOfTheInstitutionFromTwoFlows(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		page := p.open(p.link("connect", "connector_uuids", sandbox.TestConnector))
		page = p.send(p.click(page, "own page instead"), "begin")
		_, bank, _ := strings.Cut(page.header.Get("Refresh"), "url=")
		laptop := p.open(p.decide(bank, url.Values{"error": {"access_denied"}})).shows(t, "Access was refused.")

		phone := *p
		phone.browser = newBrowser(t)
		there := phone.open(phone.link("reconnect", "connection_id", p.connections(p.token)[0].ID.String()))
		phone.send(there, "bank").shows(t, "Continue at Banque Exemple")

		action, form := p.form(laptop, "bank")
		for range 2 {
			page = p.post(laptop, action, form).shows(t, "Continue at Banque Exemple")
		}
		_, bank, _ = strings.Cut(page.header.Get("Refresh"), "url=")
		p.open(p.decide(bank, url.Values{"login": {"one"}})).shows(t, "What do you want to share")
	})
}

// A form that deletes a connection leads to the same page when the connection is already deleted.
func TestDeletionSentTwice(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		first := p.connection("anna")
		page := p.click(p.open(p.link("manage")), "Banque Exemple")
		question := p.click(page, "Remove this connection")
		again := p.before(question)
		p.send(question, "forget").shows(t, "Your connections", "The connection was removed")
		rest := again.send(question, "forget").shows(t, "Your connections", "The connection was removed")
		back := again.click(rest, "Done").back(t)
		if want := (url.Values{"connection_id": {first}, "connection_deleted": {"true"}, "state": {"a b&c=ü"}}); sprint(back) != sprint(want) {
			t.Errorf("back with %v, want %v", back, want)
		}

		second := p.connection("anna")
		question = p.click(p.open(p.link("manage", "connection_id", second)), "Remove this connection")
		again = p.before(question)
		p.send(question, "forget").back(t)
		back = again.send(question, "forget").back(t)
		if want := (url.Values{"connection_id": {second}, "connection_deleted": {"true"}, "state": {"a b&c=ü"}}); sprint(back) != sprint(want) {
			t.Errorf("back with %v, want %v", back, want)
		}
	})
}

// Nobody can delete the connection of another user, or delete through another flow.
func TestDeletionOfAnothersConnection(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		other := newWalker(t, p.Instance)
		foreign := other.connection("one")
		p.connection("anna")
		question := p.click(p.click(p.open(p.link("manage")), "Banque Exemple"), "Remove this connection")
		_, form := p.form(question, "forget")
		handle := question.at.Query().Get("session")
		for _, id := range []string{foreign, "999999"} {
			refused := p.post(question, question.at.Path+"?session="+handle+"&connection="+id, form)
			if refused.status != http.StatusNotFound {
				t.Errorf("connection %s: %d %s", id, refused.status, refused.body)
			}
			p.post(question, question.at.Path+"?session="+handle+"&connection="+id, url.Values{"csrf": form["csrf"], "step": {"forget"}})
		}
		if back := p.click(p.open(p.Origin+question.at.Path+"?session="+handle), "Done").back(t); back.Has("connection_deleted") || back.Has("connection_id") {
			t.Errorf("back with %v", back)
		}
		if mine, theirs := len(p.connections(p.token)), len(other.connections(other.token)); mine != 1 || theirs != 1 {
			t.Errorf("%d and %d connections are left", mine, theirs)
		}
		connect := p.connecting("one")
		_, form = p.form(connect, "share")
		form.Set("step", "forget")
		if got := p.post(connect, connect.at.RequestURI(), form); got.status != http.StatusBadRequest {
			t.Errorf("in the flow connect: %d", got.status)
		}
	})
}

// A person may go back during the first read and fill in a new form. The form leads to the
// connection that is being read. After the read, a new form makes another connection.
func TestNewFormDuringTheFirstRead(t *testing.T) {
	storetest.Each(t, func(t *testing.T, address string) {
		p := newWalker(t, servicetest.Start(t, address, servicetest.Options{}))
		link := p.link("connect", "connector_uuids", sandbox.TestConnector)
		page := p.open(link)
		first := p.settled(p.send(page, "begin", "field.login", "anna", "field.password", "0000")).shows(t, "did not accept these sign-in details")
		storetest.Break(t, address, `UPDATE connection SET state = 'validating', holder = 'somebody', lease_until = 4102444800000000`)
		during := p.send(p.open(page.at.String()), "begin", "field.login", "anna", "field.password", "0000")
		storetest.Break(t, address, `UPDATE connection SET state = 'wrongpass', lease_until = 0`)
		if one, other := first.at.Query().Get("connection"), during.at.Query().Get("connection"); one == "" || one != other {
			t.Errorf("the form during the read leads to connection %q, want %q", other, one)
		}
		p.settled(p.send(p.open(page.at.String()), "begin", "field.login", "anna", "field.password", "0000"))
		if n := len(p.connections(p.token)); n != 2 {
			t.Errorf("%d connections were made", n)
		}
	})
}
