package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// belowAccount lists the calls that read what belongs to one account.
var belowAccount = []string{"sources", "logs", "categories", "investments", "marketorders", "pockets", "amortizations", "transactionsclusters"}

// TestBelowADisabledAccount checks that the calls below an account need all while the account is
// disabled, as the call that reads the account.
func TestBelowADisabledAccount(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		c, ids := s.discovered(t, "", "one")
		wants := func(query string, status int, code string) {
			t.Helper()
			for _, place := range []string{"/accounts/" + ids[0], fmt.Sprintf("/users/me/connections/%d/accounts/%s", c.ID, ids[0])} {
				for _, what := range belowAccount {
					s.do(t, ask{method: "GET", path: place + "/" + what + query, token: "user"}).says(t, status, code, "")
				}
			}
		}
		wants("", 404, "notFound")
		wants("?all", 200, "")
		s.do(t, ask{method: "PUT", path: "/accounts/" + ids[0] + "?all", token: "user", body: `{"disabled":false}`}).says(t, 200, "", "")
		wants("", 200, "")
	})
}

// TestDisabledClusters checks that a disabled series is left out and missing without all.
func TestDisabledClusters(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		const list = "/transactionsclusters"
		enabled, disabled := s.series(t, ""), s.series(t, "")
		change := func(query, body string) reply {
			return s.do(t, ask{method: "PUT", path: list + "/" + disabled + query, token: "user", body: body})
		}
		change("", `{"enabled":false}`).says(t, 200, "", "")
		for query, want := range map[string]string{"": enabled + " of 1", "?all": enabled + " " + disabled + " of 2", "?all&limit=1": enabled + " of 2"} {
			var out struct {
				Total    int
				Clusters []struct{ ID json.Number } `json:"transactionsclusters"`
			}
			s.do(t, ask{method: "GET", path: list + query, token: "user"}).decode(t, &out)
			var got []string
			for _, one := range out.Clusters {
				got = append(got, one.ID.String())
			}
			if listed := fmt.Sprint(strings.Join(got, " "), " of ", out.Total); listed != want {
				t.Errorf("%q lists %s, want %s", query, listed, want)
			}
		}
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			s.do(t, ask{method: method, path: list + "/" + disabled, token: "user"}).says(t, 404, "notFound", "")
		}
		s.do(t, ask{method: "GET", path: list + "/" + disabled + "?all", token: "user"}).says(t, 200, "", "")
		change("?all", `{"enabled":true}`).says(t, 200, "", "")
		s.do(t, ask{method: "DELETE", path: list + "/" + disabled, token: "user"}).says(t, 204, "", "")
	})
}
