package passerelle

import (
	"slices"
	"time"

	"github.com/govalues/decimal"
)

// Assets holds what the institution reports about the positions, market orders and pockets of an
// account, and about the repayments of a loan.
type Assets struct {
	Investments   []InvestmentDetails
	MarketOrders  []MarketOrderDetails
	Pockets       []PocketDetails
	Amortizations []AmortizationDetails
}

// InvestmentDetails holds what an institution reports about a position. Amounts are in the
// account's currency, except for the fields whose names begin with Original. These are in the
// investment's currency. Nil means that the institution reports no value.
type InvestmentDetails struct {
	// Key is the institution's own key for the position within its account.
	Key, Label string
	// Code identifies the investment. CodeType is the scheme of Code: ISIN or AMF.
	Code, CodeType           string
	Description              string
	StockSymbol, StockMarket string
	Quantity                 *decimal.Decimal
	// UnitPrice is the average purchase price of a unit. UnitValue is the value of a unit on the
	// day ValueDate.
	UnitPrice, UnitValue *decimal.Decimal
	ValueDate            Date
	// Diff is the gain since the purchase. DiffPercent and PortfolioShare are fractions: 1 means
	// 100 percent.
	Valuation, Diff, DiffPercent *decimal.Decimal
	PortfolioShare               *decimal.Decimal
	OriginalCurrency             Currency
	OriginalUnitPrice            *decimal.Decimal
	OriginalUnitValue            *decimal.Decimal
	OriginalValuation            *decimal.Decimal
	OriginalDiff                 *decimal.Decimal
	// AssetCategory, Risk and RecommendedPeriod describe a fund. Risk is from 1 to 7.
	AssetCategory     string
	Risk              int
	RecommendedPeriod string
}

// MarketOrderDetails is an order to buy or sell as the institution describes it.
type MarketOrderDetails struct {
	Key, Number, Label, Code string
	// Direction is buy or sell. Type is market, limit or trigger. PaymentMethod is cash or
	// deferred. Each is empty when unknown. State is the institution's own text.
	Direction, Type, State, PaymentMethod, StockMarket, StockSymbol string
	Quantity, Amount                                                *decimal.Decimal
	// OrderValue is the limit or the trigger. UnitPrice is the value of a unit at the time of the
	// order. UnitValue is its value now.
	OrderValue, UnitPrice, UnitValue *decimal.Decimal
	Date, Validity, Executed         Date
}

// PocketDetails is a part of a position that becomes available under its own condition.
type PocketDetails struct {
	Key, Label string
	// Investment is the key of the position.
	Investment      string
	Quantity, Value *decimal.Decimal
	// Condition is available, date, retirement or unknown.
	Condition string
	Available Date
}

// AmortizationDetails is a line of the repayment plan of a loan.
type AmortizationDetails struct {
	Key  string
	Date Date
	// Currency is the currency of the account.
	Currency Currency
	// Period is the number of the payment in the plan, from 1. It is zero when unknown.
	Period int
	// Amount is the whole payment.
	Amount, Capital, Interest, Insurance, RemainingCapital *decimal.Decimal
}

// Complete fills in the currency of a loan's plan. It also calculates the value of each pocket for
// which the institution reports only the number of units. This needs the unit value of the pocket's
// position in the same Assets.
func (w *Assets) Complete(currency Currency) {
	units := map[string]*decimal.Decimal{}
	for _, position := range w.Investments {
		units[position.Key] = position.UnitValue
	}
	w.Pockets, w.Amortizations = slices.Clone(w.Pockets), slices.Clone(w.Amortizations)
	for i := range w.Pockets {
		if p := &w.Pockets[i]; p.Value == nil {
			p.Value = product(p.Quantity, units[p.Investment])
		}
	}
	for i := range w.Amortizations {
		w.Amortizations[i].Currency = currency
	}
}

// Asset is a stored asset of an account. D is the type of the institution's details.
type Asset[D any] struct {
	ID      AssetID
	Account AccountID
	// Investment is the position that a pocket belongs to.
	Investment AssetID
	Details    D
	// Previous contains the details as of an earlier day, nil when there are none.
	Previous            *D
	Created, LastUpdate time.Time
	// Deleted is the time at which the institution stopped listing the asset.
	Deleted *time.Time
}

// UnitValue is the value of one unit of an investment.
type UnitValue struct {
	Value            decimal.Decimal
	OriginalCurrency Currency
	OriginalValue    *decimal.Decimal
}

// InvestmentValue is the value of one unit of an investment on a day.
type InvestmentValue struct {
	ID         int64
	Investment AssetID
	Date       Date
	UnitValue
}

// Worth is the value of investments, with the gain since the purchase and since the previous value.
// DiffPercent and PrevDiffPercent are fractions: 1 means 100 percent.
type Worth struct {
	Valuation, Diff, DiffPercent, PrevDiff, PrevDiffPercent *decimal.Decimal
	// Calculated lists the calculated members, by their names in the API.
	Calculated []string
}

// calculate sets a missing value to the calculated value, if any, and adds its name to Calculated.
func (w *Worth) calculate(name string, missing **decimal.Decimal, value *decimal.Decimal) {
	if *missing == nil && value != nil {
		*missing, w.Calculated = value, append(w.Calculated, name)
	}
}

// complete fills in the percentages.
func (w *Worth) complete() {
	w.calculate("diff_percent", &w.DiffPercent, gain(w.Valuation, w.Diff))
	w.calculate("prev_diff_percent", &w.PrevDiffPercent, gain(w.Valuation, w.PrevDiff))
}

// WorthOf returns the value of a position.
func WorthOf(a Asset[InvestmentDetails]) Worth {
	d := a.Details
	w := Worth{Valuation: d.Valuation, Diff: d.Diff, DiffPercent: d.DiffPercent}
	w.calculate("valuation", &w.Valuation, product(d.Quantity, d.UnitValue))
	w.calculate("diff", &w.Diff, difference(w.Valuation, product(d.Quantity, d.UnitPrice)))
	if a.Previous != nil {
		before := WorthOf(Asset[InvestmentDetails]{Details: *a.Previous})
		w.calculate("prev_diff", &w.PrevDiff, difference(w.Valuation, before.Valuation))
	}
	w.complete()
	return w
}

// TotalWorth returns the value of all positions of one currency. Valuation and Diff are nil when a
// position lacks the value. PrevDiff is the sum for the positions with a previous value, and nil
// without such a position. A sum with too many digits is nil.
func TotalWorth(all []Asset[InvestmentDetails]) Worth {
	var w Worth
	valuation, diff := &decimal.Zero, &decimal.Zero
	since, changed := &decimal.Zero, false
	for _, one := range all {
		part := WorthOf(one)
		valuation, diff = SumAmounts(valuation, part.Valuation), SumAmounts(diff, part.Diff)
		if part.PrevDiff != nil {
			since, changed = SumAmounts(since, part.PrevDiff), true
		}
	}
	if !changed {
		since = nil
	}
	w.calculate("valuation", &w.Valuation, valuation)
	w.calculate("diff", &w.Diff, diff)
	w.calculate("prev_diff", &w.PrevDiff, since)
	w.complete()
	return w
}

// Share returns a part divided by the whole, with at most four decimals. It returns nil when one of
// them is unknown or the whole is zero.
func Share(part, whole *decimal.Decimal) *decimal.Decimal {
	if part == nil || whole == nil || whole.IsZero() {
		return nil
	}
	share, err := part.Quo(*whole)
	if err != nil {
		return nil
	}
	share = share.Round(fractionDigits)
	return &share
}

// Equal reports whether two values have the same digits and the same Calculated. 1.0 differs from
// 1.00.
func (w Worth) Equal(other Worth) bool {
	amounts := func(w Worth) []string {
		var texts []string
		for _, d := range []*decimal.Decimal{w.Valuation, w.Diff, w.DiffPercent, w.PrevDiff, w.PrevDiffPercent} {
			text := ""
			if d != nil {
				text = d.String()
			}
			texts = append(texts, text)
		}
		return append(texts, w.Calculated...)
	}
	return slices.Equal(amounts(w), amounts(other))
}

const (
	// fractionDigits is the number of decimals in calculated fractions. centDigits is the number of
	// decimals in calculated amounts.
	fractionDigits = 4
	centDigits     = 2
)

// gain returns the gain as a fraction of the value before the gain.
func gain(valuation, diff *decimal.Decimal) *decimal.Decimal {
	return Share(diff, difference(valuation, diff))
}

func difference(a, b *decimal.Decimal) *decimal.Decimal {
	if b == nil {
		return nil
	}
	opposite := b.Neg()
	return SumAmounts(a, &opposite)
}

func product(quantity, price *decimal.Decimal) *decimal.Decimal {
	if quantity == nil || price == nil {
		return nil
	}
	amount, err := quantity.Mul(*price)
	if err != nil {
		return nil
	}
	amount = amount.Round(centDigits)
	return &amount
}
