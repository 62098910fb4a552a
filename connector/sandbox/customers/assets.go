package customers

import (
	"fmt"
	"strconv"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/connector"
)

// position is an investment in the records of the institution. The value of a position rises and
// falls from day to day.
type position struct {
	key, label, code, symbol string
	// quantity is in ten-thousandths. bought is the price at which a unit was bought, in
	// hundredths.
	quantity, bought int64
	category         string
	risk             int
	// silent means that the institution does not report values that can be computed from others.
	silent bool
	// pockets are the parts of the position. Their quantities are in ten-thousandths. A pocket
	// becomes available on retirement, or a number of years after the first day with data. Zero
	// years mean immediately.
	pockets []pocket
	// fleeting means that the position exists only every other day.
	fleeting bool
}

type pocket struct {
	key, label      string
	quantity        int64
	years           int
	untilRetirement bool
}

// invested returns the accounts of a customer with investments.
func invested() []holding {
	securities := []position{
		{key: "s1", label: "Solaris Énergie", code: "FR0000120271", symbol: "SOLE", quantity: 420_000, bought: 4_812, silent: true},
		{key: "s2", label: "Port-Royal Industries", code: "FR0000121972", symbol: "PRI", quantity: 150_000, bought: 13_240},
		{key: "s3", label: "Baltic Shipping", code: "DE0007164600", symbol: "BSH", quantity: 70_000, bought: 11_055, fleeting: true},
	}
	plan := []position{
		{key: "p1", label: "Fonds Actions Europe", code: "FR0010315770", quantity: 1_234_567, bought: 2_345, category: "equity", risk: 6},
		{key: "p2", label: "Liquidités", quantity: 250_000, bought: 100, category: "cash", risk: 1, silent: true},
	}
	life := []position{
		{key: "l1", label: "Fonds en euros", quantity: 120_000_000, bought: 100, category: "euro_fund", risk: 1, silent: true},
		{key: "l2", label: "Fonds Immobilier", code: "FR0010148981", quantity: 318_000, bought: 15_920, category: "real_estate", risk: 4},
	}
	company := []position{{
		key: "c1", label: "Actionnariat salarié", code: "990000102299", quantity: 900_000, bought: 3_110, category: "employee_shares", risk: 7,
		pockets: []pocket{{key: "c1-now", label: "Disponible", quantity: 300_000}, {key: "c1-date", label: "Versement 2024", quantity: 400_000, years: 5}, {key: "c1-end", label: "Retraite", quantity: 200_000, untilRetirement: true}},
	}}
	return []holding{
		usual()[0],
		{key: "securities", name: "Compte-titres", kind: "market", currency: "EUR", opening: 125_000, positions: securities},
		{key: "pea", name: "PEA", kind: "pea", currency: "EUR", opening: 10_050, positions: plan},
		{key: "life", name: "Assurance vie", kind: "lifeinsurance", currency: "EUR", positions: life},
		{key: "company", name: "Plan d'épargne entreprise", kind: "pee", currency: "EUR", positions: company},
		usual()[3],
	}
}

// price returns the value of a unit on a day, in hundredths. The value rises slowly. On each day,
// it differs from this trend by up to three percent of the purchase price.
func (c customer) price(p position, day passerelle.Date) int64 {
	since := day.In(time.UTC).Sub(beginning.In(time.UTC)) / (24 * time.Hour)
	d := c.dice("price", p.key, day.String())
	return p.bought * (1_000 + int64(since)/20 + int64(d.roll(61)) - 30) / 1_000
}

func shares(n int64) *decimal.Decimal {
	d := decimal.MustNew(n, 4)
	return &d
}

// held returns the positions of an account today.
func (c customer) held(h holding) []passerelle.InvestmentDetails {
	var all []passerelle.InvestmentDetails
	for _, p := range h.positions {
		if p.fleeting && c.odd() {
			continue
		}
		d := passerelle.InvestmentDetails{
			Key: p.key, Label: p.label, Code: p.code, StockSymbol: p.symbol, Quantity: shares(p.quantity), UnitPrice: money(p.bought),
			UnitValue: money(c.price(p, c.today)), ValueDate: c.today, AssetCategory: p.category, Risk: p.risk,
		}
		switch {
		case p.symbol != "":
			d.CodeType, d.StockMarket = "ISIN", "XPAR"
		case len(p.code) == 12 && p.code[0] == '9':
			d.CodeType = "AMF"
		case p.code != "":
			d.CodeType = "ISIN"
		}
		if p.category != "" {
			d.RecommendedPeriod = fmt.Sprintf("%d years", p.risk+2)
		}
		if !p.silent {
			worth := passerelle.WorthOf(passerelle.Asset[passerelle.InvestmentDetails]{Details: d})
			d.Valuation, d.Diff = worth.Valuation, worth.Diff
		}
		all = append(all, d)
	}
	return all
}

// worth returns the value of an account's positions today.
func (c customer) worth(h holding) *decimal.Decimal {
	sum := &decimal.Zero
	for _, d := range c.held(h) {
		sum = passerelle.SumAmounts(sum, passerelle.WorthOf(passerelle.Asset[passerelle.InvestmentDetails]{Details: d}).Valuation)
	}
	return sum
}

// pockets returns the pockets of an account's positions.
func pockets(h holding) []passerelle.PocketDetails {
	var all []passerelle.PocketDetails
	for _, p := range h.positions {
		for _, k := range p.pockets {
			d := passerelle.PocketDetails{Key: k.key, Label: k.label, Investment: p.key, Quantity: shares(k.quantity), Condition: "available"}
			switch {
			case k.untilRetirement:
				d.Condition = "retirement"
			case k.years > 0:
				d.Condition, d.Available = "date", beginning.AddMonths(12*k.years)
			}
			all = append(all, d)
		}
	}
	return all
}

// orders returns the orders of a securities account: one for each of the last three months and,
// on every other day, one more that waits for execution. Other accounts have no orders.
func (c customer) orders(h holding) []passerelle.MarketOrderDetails {
	if h.kind != "market" {
		return nil
	}
	var all []passerelle.MarketOrderDetails
	for n := range 3 {
		day, p := c.today.FirstOfMonth().AddMonths(-n-1).AddDays(14), h.positions[n%2]
		all = append(all, passerelle.MarketOrderDetails{
			Key: "o-" + day.String(), Number: strconv.Itoa(7001 + n), Label: p.label, Code: p.code, Direction: "buy", Type: "market", State: "Exécuté", PaymentMethod: "cash", StockMarket: "XPAR", StockSymbol: p.symbol,
			Quantity: shares(20_000), UnitPrice: money(c.price(p, day)), Amount: money(2 * c.price(p, day)), Date: day, Executed: day.AddDays(1),
		})
	}
	if p := h.positions[0]; !c.odd() {
		all = append(all, passerelle.MarketOrderDetails{
			Key: "waiting", Number: "7100", Label: p.label, Code: p.code, Direction: "sell", Type: "limit", State: "En cours", PaymentMethod: "cash", StockMarket: "XPAR", StockSymbol: p.symbol,
			Quantity: shares(50_000), OrderValue: money(2 * p.bought), UnitValue: money(c.price(p, c.today)), Date: c.today.FirstOfMonth(), Validity: c.today.FirstOfMonth().AddMonths(2),
		})
	}
	return all
}

// repayments returns the repayment plan of a loan. Each payment covers the interest first.
func repayments(h holding) []passerelle.AmortizationDetails {
	l := h.loan
	if l == nil || l.Months == nil {
		return nil
	}
	left, rate, monthly, insurance := hundredths(*l.Total), hundredths(*l.Rate), hundredths(*l.NextAmount), hundredths(*l.InsuranceAmount)
	var all []passerelle.AmortizationDetails
	for n := range *l.Months {
		interest := left * rate / 120_000
		capital := min(monthly-interest, left)
		left -= capital
		day := l.RepaymentStarts.AddMonths(n).AddDays(6)
		all = append(all, passerelle.AmortizationDetails{
			Key: fmt.Sprintf("%03d", n+1), Date: day, Period: n + 1, Amount: money(capital + interest + insurance), Capital: money(capital), Interest: money(interest),
			Insurance: money(insurance), RemainingCapital: money(left),
		})
	}
	return all
}

// showAssets passes on the assets of an account.
func (c customer) showAssets(h holding, out connector.Sink) error {
	page := passerelle.Assets{Investments: c.held(h), MarketOrders: c.orders(h), Pockets: pockets(h), Amortizations: repayments(h)}
	if len(page.Investments)+len(page.MarketOrders)+len(page.Pockets)+len(page.Amortizations) == 0 {
		return nil
	}
	return out.Assets(h.key, page)
}
