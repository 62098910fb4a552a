package api_test

import (
	"fmt"
	"testing"

	exact "github.com/govalues/decimal"

	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

func (s *fixture) balanced(t testing.TB, domainName string) *holdings {
	t.Helper()
	h := s.holdings(t, domainName)
	for key, present := range map[string]string{"a": "1000.00", "b": "-5", "c": "0.01", "withheld": "7"} {
		a := h.accounts[key]
		balance := exact.MustParse(present)
		a.Balance = &balance
		s.write(t, func(tx *store.Tx) error { return bankstore.In(tx).UpdateAccount(s.domainOf(domainName).domain.ID, &a) })
	}
	return h
}

func TestBalanceScenarios(t *testing.T) {
	get := func(path string) ask { return ask{method: "GET", path: path, token: "user"} }
	onEachFixture(t, func(t *testing.T, s *fixture) {
		h := s.balanced(t, "")
		account := func(key string) string { return fmt.Sprint("/accounts/", int64(h.accounts[key].ID)) }
		bodies := readGolden(t, "balances")
		for _, sc := range []scenario{
			{name: "of an account, this month", status: 200, ask: get(account("a") + "/balances")},
			{name: "of a connection, by weeks", status: 200, ask: get("/connections/{holder}/balances?min_date=2026-11-01&max_date=2026-11-08&period=1week")},
			{name: "of an account of a connection", status: 200, ask: get("/users/me/connections/{holder}/accounts/{holding}/balances?min_date=2026-10-31&max_date=2026-11-02")},
			{name: "of several currencies", status: 200, ask: get("/users/me/balances?min_date=2026-11-10&max_date=2026-11-11")},
			{name: "of a month to come", status: 200, ask: get(account("b") + "/balances?min_date=2027-02")},
			{name: "until a day", status: 200, ask: get(account("b") + "/balances?max_date=2025-12-31&period=15days")},
			{name: "of nothing", status: 200, ask: ask{domain: "live", method: "GET", path: "/balances?min_date=2026-11-19&max_date=2026-11-19", token: "user"}},
			{name: "of one that is withheld", status: 404, ask: get(account("withheld") + "/balances")},
			{name: "of another connection's", status: 404, ask: get("/connections/" + fmt.Sprint(int64(h.connections[1])) + "/accounts/{holding}/balances")},
			{name: "of another domain's", status: 404, ask: get("/accounts/{other:holding}/balances")},
			{name: "of another user", status: 404, ask: get("/users/" + noID + "/balances")},
			{name: "of too long a time", status: 400, ask: get("/balances?min_date=2020-01-01&max_date=2026-01-02")},
			{name: "since a day long ago", status: 400, ask: get("/balances?min_date=2020-01-01")},
			{name: "from the end to the beginning", status: 400, ask: get("/balances?min_date=2026-11-02&max_date=2026-11-01")},
			{name: "by no time at all", status: 400, ask: get("/balances?period=0days")},
			{name: "by a word", status: 400, ask: get("/balances?period=monthly")},
			{name: "from no day", status: 400, ask: get("/balances?min_date=2026-13")},
		} {
			t.Run(sc.name, func(t *testing.T) { s.run(t, sc, bodies) })
		}
		bodies.close(t)
	})
}

// The delta of a period is the change of the balance. It equals the sum of the period's income and
// expenses.
func TestDeltasOfAnAccount(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		account := fmt.Sprint("/accounts/", int64(s.balanced(t, "").accounts["a"].ID))
		type group struct {
			Min                               string `json:"min_date"`
			Max                               string `json:"max_date"`
			Delta, Balance, Expenses, Incomes exact.Decimal
		}
		var deltas struct {
			Deltas []group
			Min    string `json:"result_min_date"`
			Max    string `json:"result_max_date"`
			Total  int
		}
		var balances struct{ Balances []group }
		const time = "?min_date=2026-10-25&max_date=2026-11-14&period=1week"
		s.do(t, ask{method: "GET", path: account + "/delta" + time, token: "user"}).decode(t, &deltas)
		s.do(t, ask{method: "GET", path: account + "/balances" + time, token: "user"}).decode(t, &balances)
		if len(deltas.Deltas) != 3 || deltas.Total != 3 || len(balances.Balances) != 3 || deltas.Min != "2026-10-25" || deltas.Max != "2026-11-14" {
			t.Fatalf("deltas %+v, balances %+v", deltas, balances)
		}
		plus := func(a, b exact.Decimal) exact.Decimal {
			t.Helper()
			sum, err := a.Add(b)
			must(t, err)
			return sum
		}
		moved := false
		for i, d := range deltas.Deltas {
			b := balances.Balances[i]
			if d.Min != b.Min || d.Max != b.Max || d.Balance.Cmp(b.Balance) != 0 || d.Expenses.Cmp(b.Expenses) != 0 || d.Incomes.Cmp(b.Incomes) != 0 {
				t.Errorf("%+v, balances have %+v", d, b)
			}
			if sum := plus(d.Incomes, d.Expenses); d.Delta.Cmp(sum) != 0 {
				t.Errorf("%+v comes to %s", d, sum)
			}
			if i > 0 && plus(deltas.Deltas[i-1].Balance, d.Delta).Cmp(d.Balance) != 0 {
				t.Errorf("%+v does not follow %+v", d, deltas.Deltas[i-1])
			}
			moved = moved || !d.Delta.IsZero()
		}
		if !moved {
			t.Errorf("nothing changed: %+v", deltas)
		}
		s.do(t, ask{method: "GET", path: account + "/delta?period=monthly", token: "user"}).says(t, 400, "invalidValue", "period")
	})
}

// The balances of a leap year have one group for each month, and contain each of the 366 days once.
func TestBalancesOfAYear(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.balanced(t, "")
		var out struct {
			Balances []struct {
				Min   string                  `json:"min_date"`
				Max   string                  `json:"max_date"`
				Daily []struct{ Date string } `json:"daily_balances"`
			}
			Total int
		}
		s.do(t, ask{method: "GET", path: "/balances?min_date=2024&max_date=2024", token: "user"}).decode(t, &out)
		days := map[string]bool{}
		for _, group := range out.Balances {
			for _, day := range group.Daily {
				if day.Date < group.Min || day.Date > group.Max || days[day.Date] {
					t.Errorf("%s in the group from %s to %s", day.Date, group.Min, group.Max)
				}
				days[day.Date] = true
			}
		}
		if out.Total != 12 || len(out.Balances) != 12 || len(days) != 366 || out.Balances[1].Max != "2024-02-29" {
			t.Errorf("%d groups with %d days: %+v", out.Total, len(days), out.Balances[1])
		}
	})
}

// One call covers a long period, and several years with the usual end.
func TestBalancesOfSeveralYears(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.balanced(t, "")
		for query, want := range map[string]struct{ groups, days int }{
			"min_date=2025-05-01&max_date=2026-10-31&period=1year6months": {1, 549},
			"min_date=2024-01-01":                      {35, 1055}, // it is the 20th of November 2026
			"min_date=2022&max_date=2026&period=1year": {5, 1785},
		} {
			var out struct {
				Balances []struct {
					Daily []struct{ Date string } `json:"daily_balances"`
				}
			}
			s.do(t, ask{method: "GET", path: "/balances?" + query, token: "user"}).decode(t, &out)
			days := map[string]bool{}
			for _, group := range out.Balances {
				for _, day := range group.Daily {
					days[day.Date] = true
				}
			}
			if len(out.Balances) != want.groups || len(days) != want.days {
				t.Errorf("%s: %d groups with %d days", query, len(out.Balances), len(days))
			}
		}
	})
}

// A call with extreme dates returns at most 1830 groups, or is refused, in each time zone.
func TestBalancesOfExtremeDates(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.balanced(t, "")
		for _, zone := range []string{"UTC", "America/New_York", "Pacific/Kiritimati"} {
			s.do(t, ask{method: "POST", path: "/config", token: "config", body: `{"api.timezone":"` + zone + `"}`}).says(t, 200, "", "")
			for query, groups := range map[string]int{
				"min_date=0001-01-01":                                     0,
				"max_date=0001-01-01":                                     1,
				"min_date=0001-01-01&max_date=0001-01-01":                 1,
				"min_date=0001&max_date=0001&period=1day":                 365,
				"min_date=0001&max_date=0002":                             24,
				"min_date=0001&max_date=0005&period=1day":                 1826,
				"min_date=0001&max_date=0006":                             0,
				"min_date=0001&max_date=9999&period=1day":                 0,
				"min_date=0001-01-01&max_date=0002-01-01&period=1day":     366,
				"min_date=9999-12-31":                                     1,
				"max_date=9999-12-31":                                     0,
				"min_date=9999&max_date=9999&period=1day":                 365,
				"min_date=9999-12-31&max_date=9999-12-31&period=833years": 1,
				"min_date=0000-01-01":                                     0,
				"min_date=10000-01-01":                                    0,
				"min_date=-0001-01-01":                                    0,
			} {
				for _, path := range []string{"/balances?", "/accounts/{holding}/delta?"} {
					a := s.fill(t, ask{method: "GET", path: path + query, token: "user"})
					if groups == 0 {
						s.do(t, a).says(t, 400, "invalidValue", "_date: must be")
						continue
					}
					var out struct{ Total int }
					if s.do(t, a).decode(t, &out); out.Total != groups {
						t.Errorf("%s: %s: %d groups, want %d", zone, a.path, out.Total, groups)
					}
				}
			}
		}
	})
}
