package webview_test

import (
	"strings"
	"testing"
	"time"

	"passerelle/connector/sandbox"
	"passerelle/connector/sandbox/customers"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// While the connection is being read, a choice has no effect, and the page shows the choice again.
// A second attempt after the read shares the chosen accounts.
func TestSharingDuringARead(t *testing.T) {
	storetest.Each(t, func(t *testing.T, address string) {
		s := servicetest.Start(t, address, servicetest.Options{LeaseTimeout: time.Millisecond})
		s.OK(s.Call("PUT", "/clients/"+s.ClientID, s.ConfigToken, map[string]any{"redirect_uris": []string{returnURL}}))
		p := newWalker(t, s)
		page := p.connecting("anna")
		accounts, subscriptions := page.offered()
		choice := []string{"account", accounts[1], "account", accounts[2], "subscription", subscriptions[0]}
		storetest.Break(t, address, `UPDATE connection SET holder = 'somebody', lease_until = 4102444800000000`)
		page = p.send(page, "share", choice...).shows(t, "is being updated")
		if n := strings.Count(page.body, " checked"); n != 3 {
			t.Errorf("%d items are ticked, want the 3 of the form: %s", n, page.body)
		}
		for i := 0; i < len(choice); i += 2 {
			if !strings.Contains(page.body, `name="`+choice[i]+`" value="`+choice[i+1]+`" checked`) {
				t.Errorf("%s %s is not ticked", choice[i], choice[i+1])
			}
		}
		if all := p.connections(p.token); len(all[0].Accounts) != 0 {
			t.Errorf("shared are %+v", all[0].Accounts)
		}
		storetest.Break(t, address, `UPDATE connection SET lease_until = 0`)
		p.send(page, "share", choice...).back(t)
		if all := p.connections(p.token); len(all[0].Accounts) != 2 {
			t.Errorf("shared are %+v", all[0].Accounts)
		}
	})
}

// TestSharingReadsNoDeletedAccounts: a bank that often replaces its accounts leaves many deleted ones.
// In this test, a page that reads the deleted account or contract fails.
func TestSharingReadsNoDeletedAccounts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, address string) {
		s := servicetest.Start(t, address, servicetest.Options{})
		s.OK(s.Call("PUT", "/clients/"+s.ClientID, s.ConfigToken, map[string]any{"redirect_uris": []string{returnURL}}))
		p := newWalker(t, s)
		page := p.connecting("anna")
		accounts, subscriptions := page.offered()
		storetest.Break(t, address, `UPDATE bank_account SET deleted = 1, details = 'damaged' WHERE id = `+accounts[0])
		storetest.Break(t, address, `UPDATE subscription SET deleted = 1, details = 'damaged' WHERE id = `+subscriptions[0])
		page = p.open(page.at.String())
		left, contracts := page.offered()
		if len(left) != len(accounts)-1 || len(contracts) != len(subscriptions)-1 {
			t.Fatalf("the page offers %q and %q: %s", left, contracts, page.body)
		}
		id := p.send(page, "share", "account", left[0]).back(t).Get("connection_id")
		if want := "you share 1 account."; !strings.Contains(p.acknowledged, want) {
			t.Errorf("the last page lacks %q: %s", want, p.acknowledged)
		}
		p.open(p.link("manage")).shows(t, "Your connections", "Banque Exemple")
		p.open(p.link("manage", "connection_id", id)).shows(t, `value="`+left[0]+`" checked`)
	})
}

// TestConsentNamesWhatIsShared checks that the pages promise balances and transactions only if the
// application asked for accounts.
func TestConsentNamesWhatIsShared(t *testing.T) {
	const (
		money      = "balances, transactions and documents."
		promise    = "Your accounts can be read"
		contracts  = "sees the contracts’ numbers, holders and documents."
		onlyPapers = "Your contracts and documents can be read"
	)
	eachWalker(t, func(t *testing.T, p *walker) {
		for _, c := range []struct {
			name, capabilities, promised, agreed string
			unsaid                               []string
		}{
			{"a bank", "", promise, money, []string{onlyPapers, contracts}},
			{"only the documents of a bank", "document", onlyPapers, contracts, []string{promise, money}},
		} {
			t.Run(c.name, func(t *testing.T) {
				p := newWalker(t, p.Instance)
				page := p.open(p.link("connect", "connector_uuids", sandbox.TestConnector, "connector_capabilities", c.capabilities)).shows(t, c.promised).lacks(t, c.unsaid...)
				page = p.settled(p.send(page, "begin", "field.login", "anna", "field.password", customers.Password))
				page.shows(t, "What do you want to share", c.agreed).lacks(t, c.unsaid...)
			})
		}
	})
}
