package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
	"passerelle/testbank/bank"
)

// steps makes a customer follow the bank's requests until the connection is healthy or the customer
// has refused.
func (c *customer) steps(bank, decision string) (states []string) {
	c.t.Helper()
	as := "anna"
	for len(states) < 12 {
		one := c.connection()
		if one.State == nil {
			return states
		}
		states = append(states, *one.State)
		path := "/users/me/connections/" + itoa(one.ID)
		switch *one.State {
		case "webauthRequired":
			page := c.begin(url.Values{"id_connection": {itoa(one.ID)}})
			c.decideAs(page, decision, as)
			as = "bert"
		case "decoupled":
			var waiting struct{ Authorisations []struct{ ID string } }
			c.banks.steer("GET", bank+"/authorisations", nil, &waiting)
			for _, one := range waiting.Authorisations {
				c.banks.steer("POST", bank+"/authorisations/"+one.ID, map[string]any{"decision": decision}, nil)
			}
			c.OK(c.Call("POST", path, c.token, map[string]any{"resume": true}))
		case "additionalInformationNeeded":
			c.OK(c.Call("POST", path, c.token, c.answers(one, decision)))
		case "SCARequired":
			c.sync("true")
		}
		if decision == "refuse" && *one.State != "additionalInformationNeeded" && *one.State != "SCARequired" {
			return states
		}
		if state := c.connection().State; decision == "refuse" && state != nil && *state == "SCARequired" {
			return states
		}
	}
	c.t.Fatalf("the bank asks and asks: %v", states)
	return nil
}

func (c *customer) answers(one seenConnection, decision string) map[string]any {
	c.t.Helper()
	values := map[string]any{}
	for _, field := range one.Fields {
		switch field.Name {
		case "psu_id":
			values["psu_id"] = "bert" // Anna has already identified herself
		case "password":
			values["password"] = "1234"
		case "additional_password":
			values["additional_password"] = "5678"
		case "method":
			values["method"], c.method = "photo", "photo"
		case "code":
			if shown := strings.HasPrefix(field.Image, "data:image/png;base64,"); shown != (c.method == "photo") {
				c.t.Errorf("for a code of the method %q, a picture is shown: %v", c.method, shown)
			}
			values["code"] = map[string]string{"approve": "123456", "refuse": "000000"}[decision]
			if decision == "approve" {
				c.codes++
				c.method = bank.Methods()[c.codes%len(bank.Methods())].ID // the bank chooses the next method in this way
			}
		}
	}
	if len(values) == 0 || len(values) != len(one.Fields) {
		c.t.Fatalf("the bank asks for %+v", one.Fields)
	}
	return values
}

// TestConsentsByEveryApproach: at each bank, the connection has the right state after approval,
// after refusal and without a decision.
func TestConsentsByEveryApproach(t *testing.T) {
	banks := newBanks(t, "")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder}, func(t *testing.T, s *servicetest.Instance) {
		for _, p := range bank.Profiles() {
			for _, decision := range []string{"approve", "refuse", "never"} {
				t.Run(p.Name+" "+decision, func(t *testing.T) { consent(t, s, banks, p, decision) })
			}
		}
	})
}

func consent(t *testing.T, s *servicetest.Instance, banks *banksOf, p bank.Profile, decision string) {
	c := newCustomer(t, s, banks)
	body := map[string]any{"connector_uuid": banks.uuid(p.Name)}
	if p.SCA[0] == bank.Decoupled || p.SCA[0] == bank.Embedded || p.WantsPSU {
		body["psu_id"] = "anna"
	}
	c.OK(c.Call("POST", "/users/me/connections", c.token, body))
	if decision == "never" {
		before := *c.connection().State
		banks.steer("POST", p.Name+"/clock", map[string]any{"advance": "25h"}, nil)
		c.sync("true")
		if state := c.connection().State; state == nil || *state != before || len(c.accounts()) > 0 {
			t.Errorf("after nothing was done the state is %v, before it was %s", state, before)
		}
		decision = "approve"
	}
	states := c.steps(p.Name, decision)
	state, accounts := c.connection().State, c.accounts()
	switch {
	case decision == "approve" && (state != nil || len(accounts) < 2):
		t.Errorf("after %v the state is %s, and there are %d accounts\n%s", states, *state, len(accounts), s.Logs)
	case decision == "refuse" && (state == nil || *state != "webauthRequired" && *state != "SCARequired" || len(accounts) > 0):
		t.Errorf("after %v the state is %v, and there are %d accounts", states, state, len(accounts))
	}
	if p.SCA[0] == bank.Embedded && decision == "approve" && c.codes < p.Codes {
		t.Errorf("the bank asked for %d codes", c.codes)
	}
	if p.Codes > 1 && decision == "approve" && strings.Count(strings.Join(states, " "), "additionalInformationNeeded") != 2+p.Codes {
		t.Errorf("the steps are %v", states)
	}
}

// TestTokensAreRenewed: when a token expires before its consent, the service gets a new token
// without the customer.
func TestTokensAreRenewed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database string) {
		banks := newBanks(t, "oauth") // the test advances their clocks
		s := servicetest.Start(t, database, servicetest.Options{Banks: banks.Folder})
		c := newCustomer(t, s, banks)
		c.decide(c.begin(url.Values{"connector_uuid": {banks.uuid("oauth")}}), "approve")
		c.share(c.accounts()[:1]) // shared accounts are also read without the customer
		for range 2 {
			banks.steer("POST", "oauth/clock", map[string]any{"advance": "36h"}, nil)
			c.sync("false")
			if state := c.connection().State; state != nil {
				t.Fatalf("the connection is in the state %s\n%s", *state, s.Logs)
			}
		}
	})
}

// TestWrongUserName: when the bank does not know the user name, no connection is stored.
func TestWrongUserName(t *testing.T) {
	banks := newBanks(t, "decoupled")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder}, func(t *testing.T, s *servicetest.Instance) {
		c := newCustomer(t, s, banks)
		a := c.Call("POST", "/users/me/connections", c.token, map[string]any{"connector_uuid": banks.uuid("decoupled"), "psu_id": "nobody"})
		if a.Status != 400 || !strings.Contains(string(a.Body), "wrongpass") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		var out struct{ Connections []seenConnection }
		c.JSON(c.OK(c.Call("GET", "/users/me/connections?all", c.token, nil)), &out)
		if len(out.Connections) != 0 {
			t.Errorf("%d connections are left", len(out.Connections))
		}
	})
}

// TestLineBreaksInUserNames: the service refuses a user name with a line break, for a connection
// and for a payment. After the refusals, the payment succeeds with the right name.
func TestLineBreaksInUserNames(t *testing.T) {
	banks := newBanks(t, "decoupled")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		s := newShopper(t, i, banks, "decoupled")
		p := s.pay(order(line("Shop", nil)))
		c := newCustomer(t, i, banks) // replaces the client's redirect addresses
		for range 6 {
			connection := c.Call("POST", "/users/me/connections", c.token, map[string]any{"connector_uuid": banks.uuid("decoupled"), "psu_id": "an\nna"})
			answer := s.Call("POST", fmt.Sprint("/payments/", p.ID), s.token, map[string]any{"fields": map[string]any{"psu_id": "an\nna"}})
			if connection.Status != 400 || answer.Status != 400 || strings.Contains(string(answer.Body), "nna") {
				t.Fatalf("%d %s, %d %s", connection.Status, connection.Body, answer.Status, answer.Body)
			}
		}
		if p = s.settle(s.act(s.payment(p.ID), "approve")); p.State != "done" {
			t.Errorf("with the right name: %s\n%s", inWords(p), s.Logs)
		}
	})
}

// TestABankNotifiesOfConsents: after a notification, the service checks the consent, even if the
// customer does not return.
func TestABankNotifiesOfConsents(t *testing.T) {
	banks := newBanks(t, "redirect")
	banks.with("redirect", "[profile]", "[profile]\nnotifications = true")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, s *servicetest.Instance) {
		c := newCustomer(t, s, banks)
		page := c.begin(url.Values{"connector_uuid": {banks.uuid("redirect")}})
		if state := c.afterNotification("webauthRequired", 2); state != "webauthRequired" {
			t.Fatalf("before the person decides the state is %q", state)
		}
		back := c.browse(page, url.Values{"decision": {"approve"}, "customer": {"anna"}}) // the customer does not return yet
		if state := c.afterNotification("webauthRequired", 15); state != "" {
			t.Errorf("after the bank has reported a consent the state is %q\n%s", state, s.Logs)
		}
		if to := c.browse(back, nil); !strings.HasPrefix(to, landing) || strings.Contains(to, "error") || len(c.accounts()) != 3 {
			t.Errorf("the person came to %s, and there are %d accounts", to, len(c.accounts()))
		}
		c.share(c.accounts())
		var out struct{ Consents []struct{ ID, Status string } }
		banks.steer("GET", "redirect/consents", nil, &out)
		for _, consent := range out.Consents {
			banks.steer("POST", "redirect/consents/"+consent.ID+"/revoke", nil, nil)
		}
		if state := c.afterNotification("", 15); state != "webauthRequired" {
			t.Errorf("after the bank has reported the end of the consent the state is %q\n%s", state, s.Logs)
		}
	})
}

func (c *customer) afterNotification(before string, times int) string {
	c.t.Helper()
	state := before
	for ; state == before && times > 0; times-- {
		<-time.After(100 * time.Millisecond) // the bank's notification needs some time to arrive
		c.OK(c.Call("POST", "/sandbox/clock", c.ConfigToken, map[string]any{"advance": "61s"}))
		c.OK(c.Call("POST", "/sandbox/run", c.ConfigToken, nil))
		state = ""
		if reported := c.connection().State; reported != nil {
			state = *reported
		}
	}
	return state
}

// TestConsentsOfEveryKind: the kind of a consent decides which data is read.
func TestConsentsOfEveryKind(t *testing.T) {
	banks := newBanks(t, "redirect")
	path := filepath.Join(banks.Folder, "redirect.toml")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	iban := banks.books("redirect")[0].Number
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder}, func(t *testing.T, s *servicetest.Instance) {
		for kind, want := range map[string]struct {
			accounts     int
			transactions bool
		}{"global": {3, true}, "all-psd2": {3, true}, "detailed": {1, true}, "available-accounts": {3, false}} {
			changed := regexp.MustCompile(`(?m)^consents = .*`).ReplaceAll(whole, []byte(`consents = ["`+kind+`"]`))
			if err := os.WriteFile(path, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			s.ReloadBanks(t.Context())
			c := newCustomer(t, s, banks)
			body := map[string]any{"connector_uuid": banks.uuid("redirect")}
			if kind == "detailed" {
				body["iban"] = iban
			}
			c.OK(c.Call("POST", "/users/me/connections", c.token, body))
			c.decide(c.begin(url.Values{"id_connection": {itoa(c.connection().ID)}}), "approve")
			c.share(c.accounts())
			state, accounts, transactions := c.connection().State, c.accounts(), c.transactions()
			if state != nil || len(accounts) != want.accounts || (len(transactions) > 0) != want.transactions || kind == "detailed" && accounts[0].Number != iban {
				t.Errorf("%s: the state is %v, %d accounts, %d transactions\n%s", kind, state, len(accounts), len(transactions), s.Logs)
			}
		}
	})
}

// TestConsentsAreRenewed: after 180 days the service asks the customer for a new consent.
func TestConsentsAreRenewed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database string) {
		banks := newBanks(t, "redirect") // the test advances their clocks
		s := servicetest.Start(t, database, servicetest.Options{Banks: banks.Folder, Quiet: true})
		c := newCustomer(t, s, banks)
		c.connect(banks.uuid("redirect"))
		accounts, transactions := c.accounts(), c.transactions()
		later := func(after string) {
			banks.steer("POST", "redirect/clock", map[string]any{"advance": after}, nil)
			c.OK(c.Call("POST", "/sandbox/clock", c.ConfigToken, map[string]any{"advance": after}))
			c.sync("false")
		}
		if later("4272h"); c.connection().State != nil { // 178 days
			t.Errorf("before the consent ends the state is %s", *c.connection().State)
		}
		if later("96h"); c.connection().State == nil || *c.connection().State != "webauthRequired" {
			t.Errorf("after 182 days the state is %v", c.connection().State)
		}
		c.decide(c.begin(url.Values{"id_connection": {itoa(c.connection().ID)}}), "approve")
		if state := c.connection().State; state != nil || !slices.Equal(c.accounts(), accounts) || !slices.Equal(c.transactions(), transactions) {
			t.Errorf("with a new consent the state is %v, and %v is now %v", state, transactions, c.transactions())
		}
	})
}
