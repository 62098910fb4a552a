package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func (s *fixture) noted(t testing.TB, domainName string) string {
	t.Helper()
	path := "/transactions/" + s.held(t, domainName, "transaction") + "/informations"
	var out struct {
		All []struct{ ID json.Number } `json:"transactioninformations"`
	}
	s.do(t, ask{domain: domainName, method: "PUT", path: path, token: "user", body: `{"noted":"before"}`}).decode(t, &out)
	return out.All[0].ID.String()
}

func TestInformationScenarios(t *testing.T) {
	by := func(method, path, body string) ask { return ask{method: method, path: path, token: "user", body: body} }
	const of = "/users/me/transactions/{transaction}/informations"
	rows := func(n int64) map[string]int64 { return map[string]int64{"transaction_information": n} }
	play(t, "informations", []scenario{
		{name: "none", status: 200, ask: by("GET", of, "")},
		{name: "note", status: 200, rows: rows(2), ask: by("POST", of, `{"invoice":"F-12","Projet é":"Nord"}`)},
		{name: "note one", status: 200, rows: rows(1), ask: by("PUT", "/connections/{holder}/accounts/{holding}/transactions/{transaction}/informations", `{"key":"ledger","value":"606"}`)},
		{name: "note another value", status: 200, ask: by("POST", "/transactions/{transaction}/informations", `{"ledger":""}`)},
		{name: "note in a form", status: 200, ask: ask{method: "POST", path: of, token: "user", contentType: "application/x-www-form-urlencoded", body: "ledger=607"}},
		{name: "note nothing", status: 200, ask: by("POST", of, `{}`)},
		{name: "list", status: 200, ask: by("GET", "/accounts/{holding}/transactions/{transaction}/informations", "")},
		{name: "see them", status: 200, ask: by("GET", "/transactions/{transaction}?expand=informations", "")},
		{name: "do not see them", status: 200, ask: by("GET", "/transactions/{transaction}", "")},
		{name: "read", status: 200, rows: nil, ask: by("GET", of+"/{information}", "")},
		{name: "read none", status: 404, ask: by("GET", of+"/"+noID, "")},
		{name: "read another domain's", status: 404, ask: by("GET", of+"/{other:information}", "")},
		{name: "list another domain's", status: 404, ask: by("GET", "/transactions/{other:transaction}/informations", "")},
		{name: "note about another domain's", status: 404, ask: by("POST", "/transactions/{other:transaction}/informations", `{"a":"b"}`)},
		{name: "note about none", status: 404, ask: by("POST", "/transactions/"+noID+"/informations", `{"a":"b"}`)},
		{name: "note a long key", status: 400, ask: by("POST", of, `{"`+strings.Repeat("é", 101)+`":"b"}`)},
		{name: "note a long value", status: 400, ask: by("POST", of, `{"a":"`+strings.Repeat("é", 1001)+`"}`)},
		{name: "note a number", status: 400, ask: by("POST", of, `{"a":1}`)},
		{name: "forget one", status: 204, rows: rows(-1), ask: by("DELETE", of+"/{information}", "")},
		{name: "forget one that is none", status: 404, ask: by("DELETE", of+"/"+noID, "")},
		{name: "forget another domain's", status: 404, ask: by("DELETE", "/transactions/{other:transaction}/informations", "")},
		{name: "forget all", status: 204, rows: rows(-3), ask: by("DELETE", of, "")},
		{name: "forget nothing", status: 204, ask: by("DELETE", of, "")},

		{name: "who a connection belongs to", status: 200, ask: by("GET", "/connections/{holder}/owner_identity", "")},
		{name: "who another domain's belongs to", status: 404, ask: by("GET", "/users/me/connections/{other:holder}/informations", "")},
	})
}

// The service stores at most a hundred values for a transaction. It erases the values when the user
// stops sharing the account.
func TestInformationsAreBounded(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		path := "/transactions/" + s.held(t, "", "transaction") + "/informations"
		values := map[string]string{}
		for i := range 100 {
			values[fmt.Sprint("k", i)] = "v"
		}
		s.do(t, ask{method: "PUT", path: path, token: "user", body: encoded(t, values)}).says(t, 200, "", "")
		before := s.record()
		s.do(t, ask{method: "PUT", path: path, token: "user", body: `{"k1":"w","one more":"v"}`}).says(t, 409, "conflict", "100")
		for _, long := range []string{strings.Repeat("é", 101), strings.Repeat("é", 256)} {
			for _, body := range []string{encoded(t, map[string]string{long: "v"}), encoded(t, map[string]string{"key": long, "value": "v"})} {
				r := s.do(t, ask{method: "PUT", path: path, token: "user", body: body})
				r.says(t, 400, "invalidValue", "longer than 100 characters")
			}
		}
		s.do(t, ask{method: "PUT", path: path, token: "user", body: `{"":"v"}`}).says(t, 400, "invalidValue", "must not be empty")
		values["one more"] = "v"
		s.do(t, ask{method: "PUT", path: path, token: "user", body: encoded(t, values)}).says(t, 400, "invalidValue", "100")
		s.untouched(t, before)
		s.do(t, ask{method: "PUT", path: "/accounts/" + s.held(t, "", "holding"), token: "user", body: `{"disabled":true}`}).says(t, 200, "", "")
		s.do(t, ask{method: "GET", path: path, token: "user"}).says(t, 404, "notFound", "")
		if err := s.Aggregation.EraseWithdrawn(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := s.record().rows["transaction_information"]; left != 0 {
			t.Errorf("%d values are left", left)
		}
	})
}

// The service knows the owner of a connection as soon as the user shares an account that has a
// holder.
func TestOwnerIdentity(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		c, ids := s.discovered(t, "", "one")
		var out struct {
			Name   *string `json:"full_name"`
			Source *int64  `json:"id_source"`
		}
		path := fmt.Sprint("/users/me/connections/", int64(c.ID), "/owner_identity")
		s.do(t, ask{method: "GET", path: path, token: "user"}).decode(t, &out)
		if out.Name != nil || out.Source != nil {
			t.Errorf("before anything was shared: %+v", out)
		}
		s.do(t, ask{method: "PUT", path: "/accounts/" + ids[0] + "?all", token: "user", body: `{"disabled":false}`}).says(t, 200, "", "")
		s.do(t, ask{method: "GET", path: path, token: "user"}).decode(t, &out)
		if out.Name == nil || *out.Name != "Jeanne Martin" || out.Source == nil {
			t.Errorf("%+v", out)
		}
	})
}
