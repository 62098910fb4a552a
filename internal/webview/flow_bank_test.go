package webview_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/connector/sandbox/customers"
	"passerelle/internal/aggregation"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// sendFlow sends the form of a page about a connection, and returns the response after redirects.
func (s *stack) sendFlow(t *testing.T, a answer, pairs ...string) answer {
	t.Helper()
	form := url.Values{"csrf": {regexpOne(t, `name="csrf" value="([^"]*)"`, a.body)}, "step": {regexpOne(t, `name="step" value="(begin|fill|share)"`, a.body)}}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return s.walk(t, s.post(t, regexpOne(t, `method="post" action="([^"]*)"`, a.body), "same-origin", form))
}

// holding makes an institution report a number of accounts. Each read reports other accounts.
func holding(i institutionConnector, n int) institutionConnector {
	reads := 0
	i.read = func(_ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
		reads++
		accounts := make([]passerelle.AccountDetails, n)
		for k := range accounts {
			accounts[k] = passerelle.AccountDetails{Key: fmt.Sprint(reads, "-", k), Name: fmt.Sprint("Account ", k), Type: "checking", Currency: "EUR"}
		}
		return connector.Outcome{}, out.Accounts(accounts)
	}
	return i
}

// Accounts that the institution no longer reports do not count towards a limit of the page. The
// person can share all accounts that the institution reports.
func TestSharingAfterManyDeletedAccounts(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		const many = 600
		s.offer(t, holding(newInstitutionConnector(1, "Banque du Lac", "FR"), many))
		page := s.sendFlow(t, s.openFlow(t))
		users, err := s.DB.Users(t.Context(), s.domain.ID, store.UserWindow{Limit: 1})
		must(t, err)
		id, err := strconv.ParseInt(regexpOne(t, `connection=(\d+)`, page.body), 10, 64)
		must(t, err)
		_, err = s.data.Resume(t.Context(), s.domain, users[0].ID, passerelle.ConnectionID(id), aggregation.Request{})
		must(t, err)
		page = s.sendFlow(t, page, "paged", "1", "next", "150", "all", "1")
		if want := fmt.Sprintf("Banque du Lac: you share %d accounts.", many); !strings.Contains(page.body, want) {
			t.Errorf("the page does not say %q: %s", want, page.body)
		}
	})
}

// The pages offer to change the bank only if there is another one.
func TestOtherBanks(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		one := newInstitutionConnector(1, "Banque du Lac", "FR")
		one.profile.Data.Fields = []connector.Field{{Name: "login", Label: "Login", Type: "text", Required: true}}
		one.read = func(connector.DataRequest, connector.Sink) (connector.Outcome, error) {
			return connector.Outcome{State: passerelle.WebsiteUnavailable}, nil
		}
		for n, all := range [][]connector.Connector{{one}, {one, newInstitutionConnector(2, "Island Bank", "GB")}} {
			s.offer(t, all...)
			page := s.openFlow(t)
			if n > 0 {
				page = s.get(t, regexpOne(t, `href="([^"]*bank=`+one.profile.UUID+`[^"]*)"`, page.body))
			}
			missing := s.sendFlow(t, page)
			if missing.status != http.StatusUnprocessableEntity || strings.Contains(missing.body, ">Change bank</a>") != (n > 0) {
				t.Errorf("with %d other banks, the page without a login is %d: %s", n, missing.status, missing.body)
			}
			failed := s.sendFlow(t, missing, "field.login", "anna")
			if !strings.Contains(failed.body, "cannot be reached") || strings.Contains(failed.body, ">Choose another bank</a>") != (n > 0) {
				t.Errorf("with %d other banks, the page of the failed connection is %s", n, failed.body)
			}
		}
	})
}

// Credentials that cannot be decrypted must not hide a person's connections.
func TestCredentialsThatCannotBeDecrypted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, address string) {
		s := servicetest.Start(t, address, servicetest.Options{})
		s.OK(s.Call("PUT", "/clients/"+s.ClientID, s.ConfigToken, map[string]any{"redirect_uris": []string{returnURL}}))
		p := newWalker(t, s)
		damaged, intact := p.connection("anna"), p.connection("berta")
		page := p.open(p.link("connect", "connector_uuids", sandbox.TestConnector))
		page = p.settled(p.send(page, "begin", "field.login", "carla", "field.password", "0000")).shows(t, `value="carla"`)
		storetest.Break(t, address, fmt.Sprintf(`UPDATE connection SET credentials = (SELECT x.credentials FROM connection x WHERE x.id = %[1]s) WHERE id <> %[1]s`, intact))
		p.open(page.at.String()).shows(t, "did not accept these sign-in details").lacks(t, "carla", customers.Password)
		list := p.open(p.link("manage")).shows(t, "Your connections", "Login be…").lacks(t, "Login an…")
		if !strings.Contains(list.body, "connection="+damaged) || !strings.Contains(list.body, "connection="+intact) {
			t.Errorf("the list is not complete: %s", list.body)
		}
	})
}
