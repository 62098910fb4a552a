package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"passerelle"
	"passerelle/internal/bankstore"
)

func (s *fixture) discovered(t testing.TB, domainName, login string) (bankstore.Connection, []string) {
	t.Helper()
	c := s.connected(t, domainName, login)
	found, err := bankstore.From(s.DB).AccountsOf(t.Context(), c.Domain, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(found))
	for i, a := range found {
		ids[i] = fmt.Sprint(a.ID)
	}
	return c, ids
}

func (s *fixture) owned(t testing.TB, domainName string) (connection, account string) {
	t.Helper()
	s.token(t, domainName, "user", 0)
	who := s.domainOf(domainName)
	if who.owned == nil {
		who.owned = map[passerelle.UserID][2]string{}
	}
	if _, made := who.owned[who.user]; !made {
		c, ids := s.discovered(t, domainName, "one")
		who.owned[who.user] = [2]string{fmt.Sprint(c.ID), ids[0]}
	}
	return who.owned[who.user][0], who.owned[who.user][1]
}

func TestAccountScenarios(t *testing.T) {
	by := func(method, path, body string) ask { return ask{method: method, path: path, token: "user", body: body} }
	consent := map[string]int64{"consent": 1, "event": 1}
	enabled := func(from int, n int) []string {
		return versions(from, slices.Repeat([]string{"ACCOUNT_ENABLED"}, n)...)
	}
	play(t, "accounts", []scenario{
		{name: "nothing is read by itself", status: 200, rows: map[string]int64{"setting": 1, "setting_change": 1}, ask: ask{method: "POST", path: "/config?search=autosync.enabled", token: "config", body: `{"autosync.enabled":"0"}`}},
		{name: "list none", status: 200, ask: by("GET", "/users/me/accounts", "")},
		{name: "share", status: 200, rows: consent, events: enabled(7, 1), ask: by("PUT", "/accounts/{fresh}?all", `{"disabled":false}`)},
		{name: "share several", status: 200, rows: with(consent, consent), events: enabled(10, 2), ask: by("PUT", "/users/me/accounts/{several}?all", `{"disabled":false}`)},
		{name: "list", status: 200, ask: by("GET", "/accounts", "")},
		{name: "list a page with all", status: 200, ask: by("GET", "/accounts?all&limit=1", "")},
		{name: "list those of a connection", status: 200, ask: by("GET", "/connections/{connection}/accounts?all", "")},
		{name: "list those of none", status: 404, ask: by("GET", "/connections/"+noID+"/accounts", "")},
		{name: "list those of another domain's", status: 404, ask: by("GET", "/connections/{other:connection}/accounts?all", "")},
		{name: "share without all", status: 404, ask: by("PUT", "/accounts/{fresh}", `{"disabled":false}`)},
		{name: "share several of which one is not there", status: 404, ask: by("PUT", "/accounts/{several},"+noID+"?all", `{"disabled":false}`)},
		{name: "share another domain's", status: 404, ask: by("PUT", "/accounts/{other:fresh}?all", `{"disabled":false}`)},
		{name: "share through another connection", status: 404, ask: by("PUT", "/connections/{connection}/accounts/{fresh}?all", `{"disabled":false}`)},
		{name: "change all of another domain's", status: 404, ask: by("PUT", "/connections/{other:connection}/accounts?all", `{"bookmarked":true}`)},
		{name: "bookmark all that are shared", status: 200, ask: by("PUT", "/users/me/accounts", `{"bookmarked":true}`)},
		{name: "bookmark all of a connection", status: 200, ask: by("PUT", "/connections/{connection}/accounts?all", `{"bookmarked":false}`)},
		{name: "withhold what is withheld", status: 200, ask: by("POST", "/accounts/{fresh}?all", `{"disabled":true}`)},
		{name: "change how it is shown", status: 200, ask: by("POST", "/accounts/{fresh}?all", `{"name":"Mine","bookmarked":1,"display":false,"usage":"ORGA"}`)},
		{name: "change it in a form", status: 200, ask: ask{method: "POST", path: "/accounts/{fresh}?all=true", token: "user", contentType: "application/x-www-form-urlencoded", body: "bookmarked=true&name="}},
		{name: "change it with booleans", status: 200, ask: by("POST", "/accounts/{fresh}?all", `{"bookmarked":false}`)},
		{name: "change nothing", status: 200, ask: by("POST", "/accounts/{fresh}?all", ``)},
		{name: "a bookmark that is none", status: 400, ask: by("POST", "/accounts/{fresh}?all", `{"bookmarked":2}`)},
		{name: "a usage that is none", status: 400, ask: by("POST", "/accounts/{fresh}?all", `{"usage":"PRO"}`)},
		{name: "a name that is too long", status: 400, ask: by("POST", "/accounts/{fresh}?all", `{"name":"`+strings.Repeat("é", 256)+`"}`)},
		{name: "read", status: 200, ask: by("GET", "/users/me/accounts/{fresh}?all", "")},
		{name: "read without all", status: 404, ask: by("GET", "/accounts/{fresh}", "")},
		{name: "read through another connection", status: 404, ask: by("GET", "/connections/{connection}/accounts/{fresh}?all", "")},
		{name: "read none", status: 404, ask: by("GET", "/accounts/"+noID+"?all", "")},
		{name: "read another domain's", status: 404, ask: by("GET", "/accounts/{other:fresh}?all", "")},
		{name: "a type, under the user", status: 200, ask: by("GET", "/users/me/account_types/2", "")},
		{name: "no type, under the user", status: 404, ask: by("GET", "/users/me/account_types/999", "")},
		{name: "sources of an account", status: 200, ask: by("GET", "/accounts/{fresh}/sources?all", "")},
		{name: "sources of another's account", status: 404, ask: by("GET", "/accounts/{other:fresh}/sources", "")},
		{name: "logs of an account", status: 200, ask: by("GET", "/users/me/accounts/{fresh}/logs?limit=1&all", "")},
		{name: "logs of another's account", status: 404, ask: by("GET", "/accounts/{other:fresh}/logs", "")},
		{name: "list with connections", status: 200, ask: by("GET", "/accounts?expand=connection[connector[countries],sources]", "")},
		{name: "read with its connection", status: 200, ask: by("GET", "/accounts/{fresh}?all&expand=connection,unknown", "")},
		{name: "change with its connection", status: 200, ask: by("POST", "/accounts/{fresh}?all&expand=connection", `{"display":true}`)},
		{name: "delete one that is withheld", status: 404, ask: by("DELETE", "/accounts/{fresh}", "")},
		{name: "delete one that is withheld, with all", status: 204, ask: by("DELETE", "/accounts/{fresh}?all", "")},
		{name: "delete one through another connection", status: 404, ask: by("DELETE", "/connections/{connection}/accounts/{fresh}?all", "")},
		{name: "delete another domain's", status: 404, ask: by("DELETE", "/accounts/{other:fresh}?all", "")},
		{name: "delete those of none", status: 404, ask: by("DELETE", "/connections/"+noID+"/accounts", "")},
		{name: "delete another user's", status: 404, ask: by("DELETE", "/users/"+noID+"/accounts", "")},
		{name: "what was agreed to", status: 200, ask: by("GET", "/users/me/consents?limit=2", "")},
		{name: "what another agreed to", status: 404, ask: by("GET", "/users/"+noID+"/consents", "")},
		{name: "what a user agreed to, for who may see all", status: 200, ask: ask{method: "GET", path: "/users/{user}/consents?offset=2", token: "users"}},
		{name: "what none agreed to", status: 404, ask: ask{method: "GET", path: "/users/" + noID + "/consents", token: "users"}},
		{name: "holders", status: 200, ask: by("GET", "/account_ownerships", "")},
		{name: "types", status: 200, ask: ask{method: "GET", path: "/account_types"}},
		{name: "a type", status: 200, ask: ask{method: "GET", path: "/account_types/29"}},
		{name: "a type that is none", status: 404, ask: ask{method: "GET", path: "/account_types/99"}},
	})
}

// The next sync reads a shared account. The account is hidden immediately when the user stops
// sharing it.
func TestSharingAndWithholding(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.do(t, ask{method: "POST", path: "/config", token: "config", body: `{"autosync.enabled":"0"}`}).says(t, 200, "", "")
		c, ids := s.discovered(t, "", "one")
		account, connection := "/accounts/"+ids[0], fmt.Sprint("/connections/", c.ID)
		s.do(t, ask{method: "PUT", path: connection + account + "?all", token: "user", body: `{"disabled":false}`}).says(t, 200, "", "")
		s.do(t, ask{method: "PUT", path: connection, token: "user"}).says(t, 200, "", "")
		if n := s.record().rows["bank_transaction"]; n < 100 {
			t.Errorf("%d transactions were read", n)
		}
		before := s.record()
		s.do(t, ask{method: "PUT", path: account, token: "user", body: `{"disabled":true}`}).says(t, 200, "", "")
		s.do(t, ask{method: "GET", path: account, token: "user"}).says(t, 404, "notFound", "")
		s.do(t, ask{method: "GET", path: account + "?all", token: "user"}).says(t, 200, "", "")
		if _, events := before.since(s.record()); !slices.Equal(events, versions(13, "ACCOUNT_DISABLED")) {
			t.Errorf("events %v", events)
		}
		s.do(t, ask{method: "GET", path: "/transactions?limit=1", token: "user"}).says(t, 409, "noAccount", "")
		if err := s.Service.Aggregation.EraseWithdrawn(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := s.record().rows["bank_transaction"]; n != 0 {
			t.Errorf("%d transactions are left", n)
		}
	})
}

// After the deletion of an account, the user no longer shares the account, and the consent has
// ended.
func TestDeletingAccounts(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.do(t, ask{method: "POST", path: "/config", token: "config", body: `{"autosync.enabled":"0"}`}).says(t, 200, "", "")
		c, ids := s.discovered(t, "", "anna")
		connection := fmt.Sprint("/connections/", c.ID)
		listed := func(query string) string {
			t.Helper()
			var out struct{ Total int }
			s.do(t, ask{method: "GET", path: "/accounts" + query, token: "user"}).decode(t, &out)
			return fmt.Sprint(out.Total)
		}
		for _, test := range []struct {
			path string
			left string
			gone int
		}{
			{"/accounts/" + ids[0], "2", 1},
			{"/users/me/accounts/" + ids[0] + "," + ids[1], "1", 2},
			{connection + "/accounts/" + ids[2], "2", 1},
			{connection + "/accounts", "0", 3},
			{"/accounts", "0", 3},
		} {
			s.do(t, ask{method: "PUT", path: "/accounts/" + ids[0] + "," + ids[1] + "," + ids[2] + "?all", token: "user", body: `{"disabled":false}`}).says(t, 200, "", "")
			before := s.record()
			s.do(t, ask{method: "DELETE", path: test.path, token: "user"}).says(t, 204, "", "")
			if _, events := before.since(s.record()); len(events) != test.gone || strings.Count(strings.Join(events, " "), "ACCOUNT_DISABLED") != test.gone {
				t.Errorf("DELETE %s: events %v", test.path, events)
			}
			if got := listed("") + " of " + listed("?all"); got != test.left+" of 4" {
				t.Errorf("DELETE %s: %s accounts are left", test.path, got)
			}
			s.eraseWithdrawn(t)
		}
		s.agreed(t, 10)
	})
}

func (s *fixture) agreed(t *testing.T, want int) {
	t.Helper()
	n := 0
	for path := "/users/me/consents?limit=3"; path != ""; {
		var out struct {
			Consents []struct {
				ID, IDAccount int64
				Granted       string `json:"given"`
				Withdrawn     string
			}
			Total int
			Links struct{ Next *struct{ Href string } } `json:"_links"`
		}
		s.do(t, ask{method: "GET", path: path, token: "user"}).decode(t, &out)
		for _, one := range out.Consents {
			if one.Withdrawn == "" || one.Granted == "" {
				t.Errorf("consent %+v", one)
			}
		}
		n += len(out.Consents)
		if out.Total != want {
			t.Errorf("%d consents in all, want %d", out.Total, want)
		}
		if path = ""; out.Links.Next != nil {
			path = strings.TrimPrefix(out.Links.Next.Href, s.Origin+version)
		}
	}
	if n != want {
		t.Errorf("%d consents, want %d", n, want)
	}
}

// The list of currencies contains EUR and BTC, but not FRF, which the euro replaced.
func TestCurrencies(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		var out struct {
			Currencies []struct{ ID, Name, Symbol string }
			Total      int
		}
		s.do(t, ask{method: "GET", path: "/currencies"}).decode(t, &out)
		ids := map[string]string{}
		for _, c := range out.Currencies {
			ids[c.ID] = c.Symbol
		}
		if out.Total != len(out.Currencies) || len(ids) != out.Total || ids["EUR"] != "€" || ids["BTC"] == "" || ids["FRF"] != "" {
			t.Errorf("%d currencies, of which %v", out.Total, ids)
		}
	})
}
