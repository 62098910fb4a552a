package api_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func (s *fixture) series(t testing.TB, domainName string) string {
	t.Helper()
	var out struct{ ID json.Number }
	body := `{"id_account":` + s.held(t, domainName, "holding") + `,"wording":"Rent","mean_amount":-780}`
	s.do(t, ask{domain: domainName, method: "POST", path: "/transactionsclusters", token: "user", body: body}).decode(t, &out)
	return out.ID.String()
}

func TestClusterScenarios(t *testing.T) {
	by := func(method, path, body string) ask { return ask{method: method, path: path, token: "user", body: body} }
	const all = "/users/me/transactionsclusters"
	made := map[string]int64{"transaction_cluster": 1}
	play(t, "clusters", []scenario{
		{name: "none", status: 200, ask: by("GET", all, "")},
		{name: "make", status: 200, rows: made, ask: by("POST", all, `{"id_account":{holding},"wording":"Café","mean_amount":"-2.50","median_increment":7,"next_date":"2026-12-01","id_category":22,"enabled":false}`)},
		{name: "make with the least", status: 200, rows: made, ask: by("POST", "/accounts/{holding}/transactionsclusters", `{"wording":"x","mean_amount":3}`)},
		{name: "make without account", status: 400, ask: by("POST", all, `{"wording":"x","mean_amount":3}`)},
		{name: "make without amount", status: 400, ask: by("POST", all, `{"id_account":{holding},"wording":"x"}`)},
		{name: "make without label", status: 400, ask: by("POST", all, `{"id_account":{holding},"mean_amount":3}`)},
		{name: "make of a category that is none", status: 400, ask: by("POST", all, `{"id_account":{holding},"wording":"x","mean_amount":3,"id_category":999}`)},
		{name: "make of an amount that is none", status: 400, ask: by("POST", all, `{"id_account":{holding},"wording":"x","mean_amount":"3e2"}`)},
		{name: "make of a day that is none", status: 400, ask: by("POST", all, `{"id_account":{holding},"wording":"x","mean_amount":3,"next_date":"2026-02-30"}`)},
		{name: "make of no account", status: 404, ask: by("POST", all, `{"id_account":`+noID+`,"wording":"x","mean_amount":3}`)},
		{name: "make of another domain's", status: 404, ask: by("POST", all, `{"id_account":{other:holding},"wording":"x","mean_amount":3}`)},
		{name: "list", status: 200, ask: by("GET", "/connections/{holder}/transactionsclusters", "")},
		{name: "list with the disabled ones", status: 200, ask: by("GET", "/connections/{holder}/transactionsclusters?all", "")},
		{name: "list a page", status: 200, ask: by("GET", "/accounts/{holding}/transactionsclusters?all&limit=1", "")},
		{name: "list another domain's", status: 404, ask: by("GET", "/connections/{other:holder}/transactionsclusters", "")},
		{name: "read", status: 200, ask: by("GET", "/transactionsclusters/{series}", "")},
		{name: "read none", status: 404, ask: by("GET", all+"/"+noID, "")},
		{name: "read another domain's", status: 404, ask: by("GET", all+"/{other:series}", "")},
		{name: "change", status: 200, ask: by("PUT", all+"/{series}", `{"wording":"Loyer","mean_amount":-790.5,"median_increment":30,"next_date":"2027-01-05","enabled":false,"id_category":{category}}`)},
		{name: "change nothing", status: 200, ask: by("POST", "/accounts/{holding}/transactionsclusters/{series}?all", `{}`)},
		{name: "change to no label", status: 400, ask: by("POST", all+"/{series}?all", `{"wording":""}`)},
		{name: "change to a long label", status: 400, ask: by("POST", all+"/{series}?all", `{"wording":"`+strings.Repeat("é", 2049)+`"}`)},
		{name: "change to another domain's category", status: 400, ask: by("POST", all+"/{series}?all", `{"id_category":{other:category}}`)},
		{name: "change another domain's", status: 404, ask: by("POST", all+"/{other:series}", `{}`)},
		{name: "delete", status: 204, rows: map[string]int64{"transaction_cluster": -1}, ask: by("DELETE", all+"/{series}?all", "")},
		{name: "delete another domain's", status: 404, ask: by("DELETE", all+"/{other:series}", "")},
	})
}

func TestDeletedClusters(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		path := "/transactionsclusters/" + s.series(t, "")
		s.do(t, ask{method: "DELETE", path: path, token: "user"}).says(t, 204, "", "")
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			s.do(t, ask{method: method, path: path, token: "user"}).says(t, 404, "notFound", "")
		}
		var out struct{ Total int }
		s.do(t, ask{method: "GET", path: "/transactionsclusters", token: "user"}).decode(t, &out)
		if out.Total != 0 {
			t.Errorf("%d clusters", out.Total)
		}
	})
}
