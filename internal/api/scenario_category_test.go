package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func (s *fixture) ownCategory(t testing.TB, domainName string) string {
	t.Helper()
	var made struct{ ID json.Number }
	s.do(t, ask{domain: domainName, method: "POST", path: "/users/me/categories", token: "user", body: `{"name":"Pets","id_parent_category":20}`}).decode(t, &made)
	return made.ID.String()
}

func TestCategoryScenarios(t *testing.T) {
	by := func(method, path, body string) ask { return ask{method: method, path: path, token: "user", body: body} }
	const mine = "/users/me/categories"
	made := map[string]int64{"category": 1}
	play(t, "categories", []scenario{
		{name: "all", status: 200, ask: ask{method: "GET", path: "/categories"}},
		{name: "one of all", status: 200, ask: ask{method: "GET", path: "/categories/9998"}},
		{name: "none of all", status: 404, ask: ask{method: "GET", path: "/categories/{category}"}},
		{name: "those of an account", status: 200, ask: by("GET", "/users/me/accounts/{holding}/categories", "")},
		{name: "those of another's account", status: 404, ask: by("GET", "/accounts/{other:holding}/categories", "")},
		{name: "make", status: 200, rows: made, ask: by("POST", mine, `{"name":"Chat et chien","id_parent_category":20,"income":false,"refundable":true,"color":"a1B2c3"}`)},
		{name: "make with its name alone", status: 200, rows: made, ask: by("POST", mine+"/full", `{"name":"Rest"}`)},
		{name: "make below none there is", status: 400, ask: by("POST", mine, `{"name":"x","id_parent_category":999}`)},
		{name: "make below none", status: 200, rows: made, ask: by("POST", mine, `{"name":"x","id_parent_category":0}`)},
		{name: "make without name", status: 400, ask: by("POST", mine, `{"name":""}`)},
		{name: "make in a colour of seven characters", status: 400, ask: by("POST", mine, `{"name":"x","color":"#2E7D32"}`)},
		{name: "make in a short colour", status: 400, ask: by("POST", mine, `{"name":"x","color":"123"}`)},
		{name: "make in no colour", status: 400, ask: by("POST", mine, `{"name":"x","color":"red"}`)},
		{name: "make for another user", status: 404, ask: by("POST", "/users/"+noID+"/categories", `{"name":"x"}`)},
		{name: "read", status: 200, ask: by("GET", mine+"/{category}", "")},
		{name: "read one of all", status: 200, ask: by("GET", mine+"/full/22", "")},
		{name: "read none", status: 404, ask: by("GET", mine+"/"+noID, "")},
		{name: "read another domain's", status: 404, ask: by("GET", mine+"/{other:category}", "")},
		{name: "change", status: 200, ask: by("PUT", mine+"/{category}", `{"name":"Animals","id_parent_category":50,"color":""}`)},
		{name: "change nothing", status: 200, ask: by("POST", mine+"/{category}", `{}`)},
		{name: "change to no name", status: 400, ask: by("POST", mine+"/{category}", `{"name":""}`)},
		{name: "change one of all", status: 404, ask: by("POST", mine+"/22", `{"name":"x"}`)},
		{name: "change another domain's", status: 404, ask: by("POST", mine+"/{other:category}", `{"name":"x"}`)},
		{name: "delete", status: 204, rows: map[string]int64{"category": -1}, ask: by("DELETE", mine+"/{category}", "")},
		{name: "delete one of all", status: 404, ask: by("DELETE", mine+"/22", "")},
		{name: "delete another domain's", status: 404, ask: by("DELETE", mine+"/{other:category}", "")},

		{name: "give a transaction one", status: 200, ask: by("PUT", "/transactions/{transaction}", `{"id_category":51}`)},
		{name: "give it one of one's own", status: 200, ask: by("POST", "/transactions/{transaction}", `{"id_category":{category}}`)},
		{name: "see it", status: 200, ask: by("GET", "/transactions/{transaction}?expand=category,categories", "")},
		{name: "give it none", status: 200, ask: by("POST", "/transactions/{transaction}", `{"id_category":9998}`)},
		{name: "give it codes and a number", status: 200, ask: by("POST", "/transactions/{transaction}", `{"id_category":999,"categories":[{"code":"taxi","parent_code":"transport"}]}`)},
		{name: "give it a number that is none", status: 400, ask: by("POST", "/transactions/{transaction}", `{"id_category":999}`)},
		{name: "give it another domain's", status: 400, ask: by("POST", "/transactions/{transaction}", `{"id_category":{other:category}}`)},

		{name: "categorize", status: 200, ask: by("POST", "/categorize", `[{"wording":"CARTE CAFE","value":-2.50,"type":"card"},{"wording":"x","type":"withdrawal","value":"-20"},{"wording":"x","type":"card","more":1},{"wording":"Café","type":"cheque"},{"type":"card"}]`)},
		{name: "categorize in an object", status: 200, ask: by("POST", "/categorize", `{"transactions":[{"wording":"TAXI","type":"card"}]}`)},
		{name: "categorize leading zeros", status: 400, ask: by("POST", "/categorize", `[{"wording":"x","type":"card","value":"007"}]`)},
		{name: "categorize an exponent", status: 400, ask: by("POST", "/categorize", `[{"wording":"x","type":"card","value":1e2}]`)},
		{name: "categorize nothing", status: 400, ask: by("POST", "/categorize", `[]`)},
		{name: "categorize what is none", status: 400, ask: by("POST", "/categorize", `["CAFE"]`)},
		{name: "categorize too much", status: 400, ask: by("POST", "/categorize", "["+strings.Repeat(`{"wording":"a"},`, 1000)+`{"wording":"a"}]`)},
		{name: "categorize without token", status: 401, ask: ask{method: "POST", path: "/categorize", body: `[{"wording":"a"}]`}},
	})
}

// A user can create at most a hundred categories. When the service deletes the user, it also
// deletes these categories.
func TestOwnCategoriesAreBounded(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for i := range 100 {
			s.do(t, ask{method: "POST", path: "/users/me/categories", token: "user", body: fmt.Sprintf(`{"name":"n%d"}`, i)}).says(t, 200, "", "")
		}
		before := s.record()
		s.do(t, ask{method: "POST", path: "/users/me/categories", token: "user", body: `{"name":"one more"}`}).says(t, 409, "conflict", "100")
		s.untouched(t, before)
		var all struct{ Total int }
		s.do(t, ask{method: "GET", path: "/users/me/categories", token: "user"}).decode(t, &all)
		var supplied struct{ Total int }
		s.do(t, ask{method: "GET", path: "/categories"}).decode(t, &supplied)
		if all.Total != supplied.Total+100 {
			t.Errorf("%d categories, %d of which are of all", all.Total, supplied.Total)
		}
		s.do(t, ask{method: "DELETE", path: "/users/me", token: "user"}).says(t, 204, "", "")
		if left := s.record().rows["category"]; left != 0 {
			t.Errorf("%d categories are left", left)
		}
	})
}
