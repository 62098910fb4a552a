package api_test

import (
	"fmt"
	"testing"
	"time"

	exact "github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

func exactly2(text string) *exact.Decimal {
	d := exact.MustParse(text)
	return &d
}

// assets creates positions, a pocket, an order and a line of a loan. The institution no longer
// lists the second position.
func (s *fixture) assets(t testing.TB, domainName string) map[string]string {
	t.Helper()
	h, who := s.balanced(t, domainName), s.domainOf(domainName)
	if who.assets[who.user] != nil {
		return who.assets[who.user]
	}
	day := passerelle.DateOf(opening, time.UTC)
	s.hand(t, who, h.accounts["a"], 1, share("x", "10", "8.00", "9", day.AddDays(-1)), share("y", "2.5", "1", "4.10", day),
		bankstore.NewAsset{Kind: bankstore.Pockets, Key: "p", Investment: "x", Details: passerelle.PocketDetails{Key: "p", Label: "Later", Investment: "x", Quantity: exactly2("4"), Value: exactly2("36.00"), Condition: "date", Available: day.AddDays(400)}},
		bankstore.NewAsset{Kind: bankstore.MarketOrders, Key: "o", Date: day, Details: passerelle.MarketOrderDetails{Key: "o", Label: "Fund x", Code: "FR0000120271", Direction: "buy", Type: "limit", State: "En cours", Quantity: exactly2("1"), OrderValue: exactly2("7.5"), Date: day}},
		bankstore.NewAsset{Kind: bankstore.Amortizations, Key: "1", Date: day, Details: passerelle.AmortizationDetails{Key: "1", Date: day, Amount: exactly2("100.00"), Capital: exactly2("90.00"), Interest: exactly2("10.00"), RemainingCapital: exactly2("910.00")}})
	s.hand(t, who, h.accounts["c"], 1, share("z", "1", "1", "1", day))
	s.hand(t, who, h.accounts["withheld"], 1, share("w", "1", "1", "1", day))
	ids := map[string]string{}
	for what, kind := range map[string]bankstore.AssetKind{"position": bankstore.Investments, "pocket": bankstore.Pockets, "order": bankstore.MarketOrders} {
		found, err := bankstore.ReadAssets[any](t.Context(), bankstore.From(s.DB), bankstore.AssetFilter{Domain: who.domain.ID, User: who.user, Kind: kind}, store.Window{Limit: 9})
		if err != nil {
			t.Fatal(err)
		}
		ids[what] = fmt.Sprint(int64(found[0].ID))
		if kind == bankstore.Investments {
			s.write(t, func(tx *store.Tx) error {
				return bankstore.In(tx).UpdateAsset(who.domain.ID, h.accounts["a"], found[0].ID, share("x", "10", "8.00", "9.50", day), opening, 2)
			})
			s.write(t, func(tx *store.Tx) error {
				bankstore.In(tx).LoseAsset(who.domain.ID, h.accounts["a"], found[1].ID, opening, 2)
				return nil
			})
		}
	}
	if who.assets == nil {
		who.assets = map[passerelle.UserID]map[string]string{}
	}
	who.assets[who.user] = ids
	return ids
}

func (s *fixture) hand(t testing.TB, who *testDomain, a bankstore.StoredAccount, sync int64, list ...bankstore.NewAsset) {
	t.Helper()
	for _, n := range list {
		s.write(t, func(tx *store.Tx) error { return bankstore.In(tx).CreateAsset(who.domain.ID, a, n, opening, sync) })
	}
}

func share(key, quantity, price, value string, day passerelle.Date) bankstore.NewAsset {
	d := passerelle.InvestmentDetails{
		Key: key, Label: "Fund " + key, Code: "FR000012027" + key, CodeType: "ISIN", Quantity: exactly2(quantity), UnitPrice: exactly2(price), UnitValue: exactly2(value), ValueDate: day,
		OriginalCurrency: "USD", OriginalUnitValue: exactly2(value), AssetCategory: "equity", Risk: 6, RecommendedPeriod: "5 years",
	}
	return bankstore.NewAsset{Kind: bankstore.Investments, Key: key, Date: day, Details: d, Value: &passerelle.UnitValue{Value: *d.UnitValue, OriginalCurrency: "USD", OriginalValue: d.UnitValue}}
}

func TestInvestmentScenarios(t *testing.T) {
	get := func(path string) ask { return ask{method: "GET", path: path, token: "user"} }
	play(t, "investments", []scenario{
		{name: "list", status: 200, ask: get("/users/me/investments?of={position}")},
		{name: "list of an account, with all", status: 200, ask: get("/accounts/{holding}/investments?all&expand=details,pockets")},
		{name: "list a page of a connection", status: 200, ask: get("/connections/{holder}/investments?all&limit=1")},
		{name: "list of none", status: 404, ask: get("/accounts/" + noID + "/investments")},
		{name: "list of another domain's", status: 404, ask: get("/connections/{other:holder}/investments")},
		{name: "read", status: 200, ask: get("/investments/{position}?expand=details")},
		{name: "read at its account", status: 200, ask: get("/users/me/connections/{holder}/accounts/{holding}/investments/{position}?expand=pockets")},
		{name: "read none", status: 404, ask: get("/investments/" + noID)},
		{name: "read a pocket as an investment", status: 404, ask: get("/investments/{pocket}")},
		{name: "read another domain's", status: 404, ask: get("/investments/{other:position}")},
		{name: "read another user's", status: 404, ask: get("/users/" + noID + "/investments/{position}")},
		{name: "history", status: 200, ask: get("/investments/{position}/history")},
		{name: "a page of history", status: 200, ask: get("/users/me/accounts/{holding}/investments/{position}/history?limit=1")},
		{name: "history of none", status: 404, ask: get("/investments/" + noID + "/history")},
		{name: "market orders", status: 200, ask: get("/marketorders?of={order}")},
		{name: "market orders by their other name", status: 200, ask: get("/users/me/market_orders?all")},
		{name: "read a market order", status: 200, ask: get("/connections/{holder}/marketorders/{order}")},
		{name: "read another domain's market order", status: 404, ask: get("/marketorders/{other:order}")},
		{name: "pockets", status: 200, ask: get("/pockets?of={pocket}")},
		{name: "pockets of an investment", status: 200, ask: get("/users/me/investments/{position}/pockets")},
		{name: "pockets of no investment", status: 404, ask: get("/investments/" + noID + "/pockets")},
		{name: "pockets of another domain's investment", status: 404, ask: get("/investments/{other:position}/pockets")},
		{name: "read a pocket", status: 200, ask: get("/pockets/{pocket}")},
		{name: "how loans are paid back", status: 200, ask: get("/accounts/{holding}/amortizations?of={order}")},
		{name: "indicators", status: 200, ask: get("/users/me/indicators")},
		{name: "indicators of another user", status: 404, ask: get("/users/" + noID + "/indicators")},
	})
}

// Pages of investments and of pockets, selected by offset, add up to the complete list.
func TestPagesOfInvestments(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.assets(t, "")
		for _, path := range []string{"/investments?all", "/investments?", "/connections/{holder}/pockets?all"} {
			whole, pages := s.labels(t, path+"&limit=100"), []string(nil)
			for offset := range len(whole) {
				pages = append(pages, s.labels(t, fmt.Sprint(path, "&limit=1&offset=", offset))...)
			}
			if len(whole) == 0 || fmt.Sprint(pages) != fmt.Sprint(whole) {
				t.Errorf("%s: %v, in pages %v", path, whole, pages)
			}
		}
	})
}

func (s *fixture) labels(t *testing.T, path string) (labels []string) {
	t.Helper()
	type item struct{ Label string }
	var out struct{ Investments, Pockets []item }
	s.do(t, s.fill(t, ask{method: "GET", path: path, token: "user"})).decode(t, &out)
	for _, one := range append(out.Investments, out.Pockets...) {
		labels = append(labels, one.Label)
	}
	return labels
}

// An account embeds all its positions and their pockets, however many the user has in other accounts.
func TestPocketsBesideManyAreEmbedded(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		who, h := s.domainOf(""), s.holdings(t, "")
		full, beside := s.account(t, who, h.connections[0], "full"), s.account(t, who, h.connections[0], "beside")
		pocket := func(key string) bankstore.NewAsset {
			return bankstore.NewAsset{Kind: bankstore.Pockets, Key: key, Investment: "0", Details: passerelle.PocketDetails{Key: key, Investment: "0"}}
		}
		s.write(t, func(tx *store.Tx) error {
			for i := range 10_000 {
				if err := bankstore.In(tx).CreateAsset(who.domain.ID, full, pocket(fmt.Sprint(i)), opening, 1); err != nil {
					return err
				}
			}
			return nil
		})
		s.hand(t, who, beside, 1, bankstore.NewAsset{Kind: bankstore.Investments, Key: "0", Details: passerelle.InvestmentDetails{Key: "0"}}, pocket("0"))
		var shown struct{ Investments []struct{ Pockets []any } }
		s.do(t, ask{method: "GET", token: "user", path: fmt.Sprintf("/accounts/%d?expand=investments[pockets]", beside.ID)}).decode(t, &shown)
		if len(shown.Investments) != 1 || len(shown.Investments[0].Pockets) != 1 {
			t.Errorf("embedded %+v, want a position with a pocket", shown)
		}
	})
}
