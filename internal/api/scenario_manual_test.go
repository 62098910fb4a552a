package api_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

type manual struct {
	ID              int64
	IDAccount       int64  `json:"id_account"`
	OriginalWording string `json:"original_wording"`
	Wording         string
	Date, RDate     string
	Application     string `json:"application_date"`
	Value           float64
	Type            string
	Comment         *string
	Active          bool
	Coming          bool
	Categories      []struct{ Code string }
	IDCategory      int64 `json:"id_category"`
}

// The list of transactions also contains transactions that a client created, and users can change
// these transactions. When the service cannot store one of several transactions, it stores no
// transaction.
func TestManualTransactions(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		h := s.holdings(t, "")
		path := fmt.Sprintf("/users/me/accounts/%d/transactions", h.accounts["a"].ID)
		total := func() int64 {
			t.Helper()
			var list struct{ Total int64 }
			s.do(t, ask{method: "GET", path: path + "?limit=1", token: "user"}).decode(t, &list)
			return list.Total
		}
		before := total()
		var out struct {
			Transactions []manual
			Total        int
		}
		s.do(t, ask{method: "POST", path: path, token: "user", body: `[
			{"original_wording":"CARTE RESTAURANT","date":"2026-11-03","value":-20.50,"type":"card","rdate":"2026-11-01","comment":"lunch","active":false},
			{"wording":"Rent","date":"2026-11-04","value":"-700","coming":true,"application_date":"2026-12-01","categories":[{"code":"rent"}]}]`}).decode(t, &out)
		if out.Total != 2 || len(out.Transactions) != 2 {
			t.Fatalf("created %+v", out)
		}
		first, next := out.Transactions[0], out.Transactions[1]
		if first.OriginalWording != "CARTE RESTAURANT" || first.Date != "2026-11-03" || first.RDate != "2026-11-01" || first.Application != "2026-11-01" ||
			first.Value != -20.5 || first.Type != "card" || first.Comment == nil || *first.Comment != "lunch" || first.Active || first.Coming {
			t.Errorf("the first is %+v", first)
		}
		if next.OriginalWording != "Rent" || next.RDate != "2026-11-04" || next.Application != "2026-12-01" || next.Type != "unknown" || !next.Coming || !next.Active ||
			len(next.Categories) != 1 || next.Categories[0].Code != "rent" || next.IDCategory != 11 {
			t.Errorf("the second is %+v", next)
		}
		if n := total(); n != before+2 {
			t.Errorf("%d transactions are listed, %d were", n, before)
		}
		s.do(t, ask{method: "PUT", path: fmt.Sprintf("%s/%d", path, first.ID), token: "user", body: `{"wording":"Lunch"}`}).says(t, 200, "", "")
		s.do(t, ask{method: "POST", path: path, token: "user", body: `{"transactions":[{"wording":"One","date":"2026-11-04","value":1}]}`}).says(t, 200, "", "")

		then := s.record()
		for name, refused := range map[string]struct {
			body, about string
		}{
			"none":               {`[]`, "transactions"},
			"too many":           {"[" + strings.Repeat(`{"wording":"a","date":"2026-11-04","value":1},`, 100) + `{"wording":"a","date":"2026-11-04","value":1}]`, "transactions"},
			"no label":           {`[{"date":"2026-11-04","value":1}]`, "transactions[0].original_wording"},
			"no day":             {`[{"wording":"a","value":1}]`, "transactions[0].date"},
			"an empty day":       {`[{"wording":"a","date":"","value":1}]`, "transactions[0].date"},
			"a day before 1900":  {`[{"wording":"a","date":"1899-12-31","value":1}]`, "transactions[0].date"},
			"a day after 2099":   {`[{"wording":"a","date":"2026-11-04","vdate":"2100-01-01","value":1}]`, "transactions[0].vdate"},
			"no value":           {`[{"wording":"a","date":"2026-11-04"}]`, "transactions[0].value"},
			"no such day":        {`[{"wording":"a","date":"2026-11-31","value":1}]`, "transactions[0].date"},
			"a type of none":     {`[{"wording":"a","date":"2026-11-04","value":1,"type":"gift"}]`, "transactions[0].type"},
			"a long value":       {`[{"wording":"a","date":"2026-11-04","value":1e30}]`, "transactions[0].value"},
			"an exponent":        {`[{"wording":"a","date":"2026-11-04","value":1e2}]`, "transactions[0].value"},
			"the second one":     {`[{"wording":"a","date":"2026-11-04","value":1},{"wording":"a","date":"x","value":1}]`, "transactions[1].date"},
			"an unknown subject": {`[{"wording":"a","date":"2026-11-04","value":1,"id_category":77777}]`, "transactions[0].id_category"},
		} {
			r := s.do(t, ask{method: "POST", path: path, token: "user", body: refused.body})
			if _, reported := r.message(t); r.status != 400 || !strings.HasPrefix(reported, refused.about) {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
		s.do(t, ask{method: "POST", path: fmt.Sprintf("/users/me/accounts/%d/transactions", h.accounts["withheld"].ID), token: "user", body: `[{"wording":"a","date":"2026-11-04","value":1}]`}).says(t, 409, "conflict", "disabled")
		s.do(t, ask{method: "POST", path: fmt.Sprintf("/users/me/connections/%d%s", h.connections[1], strings.TrimPrefix(path, "/users/me")), token: "user", body: `[{"wording":"a","date":"2026-11-04","value":1}]`}).says(t, 404, "notFound", "")
		s.untouched(t, then)

		s.do(t, ask{method: "DELETE", path: path, token: "user"}).says(t, 204, "", "")
		if n := total(); n != before {
			t.Errorf("%d transactions are left, %d were the institution's", n, before)
		}
		s.do(t, ask{method: "DELETE", path: path, token: "user"}).says(t, 204, "", "")
	})
}

// The service stores a document from a client like other documents, with its file.
func TestManualDocuments(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		from, who := s.subscriber(t, ""), s.domainOf("")
		var made struct {
			ID         int64
			IDType     int64 `json:"id_type"`
			Name, Date string
			Total      float64 `json:"total_amount"`
			ReadOnly   bool
			URL        *string
		}
		before := len(s.papers(t, "/documents?"))
		const picture = "\x89PNG\r\n\x1a\nand more"
		content := base64.StdEncoding.EncodeToString([]byte(picture))
		body := `{"id_subscription":` + from["subscription"] + `,"name":"Warranty","date":"2026-10-01","total_amount":12.5,"readonly":true,"file":"` + content + `"}`
		s.do(t, ask{method: "POST", path: "/users/me/documents", token: "user", body: body}).decode(t, &made)
		if made.IDType != 10 || made.Name != "Warranty" || made.Date != "2026-10-01" || made.Total != 12.5 || !made.ReadOnly || made.URL == nil {
			t.Errorf("created %+v", made)
		}
		file := s.do(t, ask{method: "GET", path: fmt.Sprintf("/users/me/documents/%d/file", made.ID), token: "user"})
		if string(file.body) != picture || file.status != 200 {
			t.Errorf("its file: %d, %d bytes", file.status, len(file.body))
		}
		s.do(t, ask{method: "PUT", path: fmt.Sprintf("/users/me/documents/%d", made.ID), token: "user", body: `{"name":"n"}`}).says(t, 409, "conflict", "read-only")
		s.do(t, ask{method: "POST", path: "/subscriptions/" + from["subscription"] + "/documents", token: "user", body: `{"name":"Bare","id_type":4,"date":"2026-10-02"}`}).says(t, 200, "", "")
		if n := len(s.papers(t, "/documents?")); n != before+2 {
			t.Errorf("%d documents are listed", n)
		}
		_, err := s.Aggregation.RunDue(t.Context(), who.domain)
		must(t, err)
		s.do(t, ask{method: "POST", path: "/connections/" + from["subscribing"], token: "user", body: `{}`}).says(t, 200, "", "")
		if n := len(s.papers(t, "/documents?")); n != before+2 {
			t.Errorf("%d documents are listed after a visit", n)
		}
		then := s.record()
		for body, about := range map[string]string{
			`{"name":"n"}`:                        "id_subscription",
			`{"name":"n","id_subscription":9999}`: "id_subscription",

			`{"name":"n","id_subscription":` + from["withheld"] + `}`:                        "id_subscription",
			`{"id_subscription":` + from["subscription"] + `}`:                               "name",
			`{"name":"","id_subscription":` + from["subscription"] + `}`:                     "name",
			`{"name":"n","id_type":99,"id_subscription":` + from["subscription"] + `}`:       "id_type",
			`{"name":"n","date":"today","id_subscription":` + from["subscription"] + `}`:     "date",
			`{"name":"n","total_amount":"x","id_subscription":` + from["subscription"] + `}`: "total_amount",
		} {
			r := s.do(t, ask{method: "POST", path: "/users/me/documents", token: "user", body: body})
			if _, reported := r.message(t); r.status != 400 || !strings.HasPrefix(reported, about) {
				t.Errorf("%s: %d %s", body, r.status, r.body)
			}
		}
		s.do(t, ask{method: "POST", path: "/subscriptions/" + from["withheld"] + "/documents", token: "user", body: `{"name":"n"}`}).says(t, 404, "notFound", "")
		s.do(t, ask{method: "POST", path: "/subscriptions/" + from["subscription"] + "/documents", token: "user", body: `{"name":"n","id_subscription":` + from["withheld"] + `}`}).says(t, 400, "invalidValue", "path")
		s.untouched(t, then)
	})
}

// The list of a user's syncs contains the syncs of all the user's connections, newest first.
func TestLogsOfAUser(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		from, who := s.subscriber(t, ""), s.domainOf("")
		another := s.subscribe(t, who, who.user)
		first, all := s.listed(t, "/users/me/logs")
		if want := fmt.Sprint(another); first["id_connection"] != want {
			t.Errorf("the newest visit is of %s, want %s", first["id_connection"], want)
		}
		_, one := s.listed(t, "/users/me/connections/"+from["subscribing"]+"/logs")
		_, other := s.listed(t, fmt.Sprintf("/users/me/connections/%d/logs", another))
		if len(strings.Split(all, ",")) != len(strings.Split(one, ","))+len(strings.Split(other, ",")) {
			t.Errorf("visits %s, of the connections %s and %s", all, one, other)
		}
		s.do(t, ask{method: "DELETE", path: fmt.Sprintf("/users/me/connections/%d", another), token: "user"}).says(t, 204, "", "")
		if _, left := s.listed(t, "/users/me/logs"); left != one {
			t.Errorf("visits %s, of the connection that is left %s", left, one)
		}
	})
}
