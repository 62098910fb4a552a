package wire

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
)

// Worth is the value and the gains of investments.
type Worth struct {
	Calculated      []string     `json:"calculated" doc:"members that the service calculated, because the institution did not report them"`
	Diff            *json.Number `json:"diff" doc:"gain since the purchase"`
	DiffPercent     *json.Number `json:"diff_percent" doc:"as a fraction"`
	PrevDiff        *json.Number `json:"prev_diff" doc:"gain since the previous value"`
	PrevDiffPercent *json.Number `json:"prev_diff_percent" doc:"as a fraction"`
	Valuation       *json.Number `json:"valuation"`
}

// NewWorth renders the value of investments.
func NewWorth(w passerelle.Worth) Worth {
	return Worth{
		Calculated: append([]string{}, w.Calculated...), Diff: Amount(w.Diff), DiffPercent: Amount(w.DiffPercent), PrevDiff: Amount(w.PrevDiff),
		PrevDiffPercent: Amount(w.PrevDiffPercent), Valuation: Amount(w.Valuation),
	}
}

// newAccountWorth renders the value of an account's investments. The value is unknown until a sync
// has read the investments.
func newAccountWorth(w *passerelle.Worth) *Worth {
	if w == nil {
		w = &passerelle.Worth{}
	}
	worth := NewWorth(*w)
	return &worth
}

// Investment is a position of an account. Details and Pockets are expansions, which are absent
// unless the client requests them.
type Investment struct {
	ID          int64        `json:"id"`
	IDAccount   int64        `json:"id_account"`
	IDSecurity  *int64       `json:"id_security" doc:"always null"`
	Label       string       `json:"label"`
	Code        string       `json:"code" doc:"empty when unknown"`
	CodeType    *string      `json:"code_type" doc:"ISIN or AMF"`
	Source      string       `json:"source" doc:"where the code comes from: website or notFound"`
	Description *string      `json:"description"`
	StockSymbol *string      `json:"stock_symbol"`
	StockMarket *string      `json:"stock_market"`
	Quantity    *json.Number `json:"quantity"`
	UnitPrice   *json.Number `json:"unitprice" doc:"average purchase price of a unit"`
	UnitValue   *json.Number `json:"unitvalue" doc:"present value of a unit"`
	VDate       *string      `json:"vdate" doc:"day of the valuation"`
	PrevVDate   *string      `json:"prev_vdate" doc:"day of the previous valuation"`
	Share       *json.Number `json:"portfolio_share" doc:"share of the account, as a fraction"`
	Currency    *Currency    `json:"original_currency"`
	OrigDiff    *json.Number `json:"original_diff"`
	OrigPrice   *json.Number `json:"original_unitprice"`
	OrigValue   *json.Number `json:"original_unitvalue"`
	OrigWorth   *json.Number `json:"original_valuation"`
	Deleted     *string      `json:"deleted"`
	LastUpdate  string       `json:"last_update"`
	Worth
	Details *InvestmentDetails `json:"details,omitempty" expand:"true" doc:"with expand=details"`
	Pockets *[]Pocket          `json:"pockets,omitempty" expand:"true" doc:"with expand=pockets"`
}

// InvestmentDetails describes the kind of fund of an investment.
type InvestmentDetails struct {
	AssetCategory     *string `json:"asset_category"`
	RecommendedPeriod *string `json:"recommended_period"`
	SRRI              *int    `json:"srri" doc:"risk from 1 to 7"`
}

// NewInvestment renders a position of an account. When the institution does not report the
// position's share, NewInvestment calculates the share from the account's balance.
func NewInvestment(a passerelle.Asset[passerelle.InvestmentDetails], of passerelle.BankAccount, zone *time.Location) Investment {
	d, worth := a.Details, NewWorth(passerelle.WorthOf(a))
	out := Investment{
		ID: int64(a.ID), IDAccount: int64(a.Account), Label: d.Label, Code: d.Code, CodeType: optional(d.CodeType), Source: "website", Description: optional(d.Description),
		StockSymbol: optional(d.StockSymbol), StockMarket: optional(d.StockMarket), Quantity: Amount(d.Quantity), UnitPrice: Amount(d.UnitPrice), UnitValue: Amount(d.UnitValue),
		VDate: date(d.ValueDate), Share: Amount(d.PortfolioShare), Currency: currency(d.OriginalCurrency), OrigDiff: Amount(d.OriginalDiff), OrigPrice: Amount(d.OriginalUnitPrice),
		OrigValue: Amount(d.OriginalUnitValue), OrigWorth: Amount(d.OriginalValuation), Deleted: Moment(a.Deleted, zone), LastUpdate: passerelle.FormatDateTime(a.LastUpdate, zone),
		Worth: worth,
	}
	if d.Code == "" {
		out.Source = "notFound"
	}
	if a.Previous != nil {
		out.PrevVDate = date(a.Previous.ValueDate)
	}
	if share := passerelle.Share(passerelle.WorthOf(a).Valuation, of.Balance); d.PortfolioShare == nil && share != nil {
		out.Share, out.Calculated = Amount(share), append(out.Calculated, "portfolio_share")
	}
	return out
}

// NewInvestmentDetails renders the kind of fund of an investment.
func NewInvestmentDetails(d passerelle.InvestmentDetails) *InvestmentDetails {
	return &InvestmentDetails{AssetCategory: optional(d.AssetCategory), RecommendedPeriod: optional(d.RecommendedPeriod), SRRI: optional(d.Risk)}
}

// InvestmentValue is the value of one unit of an investment on a day.
type InvestmentValue struct {
	ID                int64        `json:"id"`
	IDInvestment      int64        `json:"id_investment"`
	VDate             string       `json:"vdate"`
	UnitValue         json.Number  `json:"unitvalue"`
	OriginalCurrency  *Currency    `json:"original_currency"`
	OriginalUnitValue *json.Number `json:"original_unitvalue"`
}

// MarketOrder is an order to buy or sell in an account.
type MarketOrder struct {
	ID            int64        `json:"id"`
	IDAccount     int64        `json:"id_account"`
	Number        *string      `json:"number" doc:"the institution's order number"`
	Label         string       `json:"label"`
	Code          *string      `json:"code" doc:"ISIN"`
	WebID         string       `json:"webid" doc:"the institution's identifier"`
	Direction     *Named       `json:"order_direction" doc:"BUY or SALE"`
	Type          Named        `json:"order_type" doc:"MARKET, LIMIT, TRIGGER or UNKNOWN"`
	State         *string      `json:"state" doc:"as the institution reports it"`
	PaymentMethod string       `json:"payment_method" doc:"CASH, DEFERRED or UNKNOWN"`
	StockMarket   *string      `json:"stock_market"`
	StockSymbol   *string      `json:"stock_symbol"`
	Quantity      *json.Number `json:"quantity"`
	Amount        *json.Number `json:"amount"`
	OrderValue    *json.Number `json:"ordervalue" doc:"limit or trigger price"`
	UnitPrice     *json.Number `json:"unitprice" doc:"value of a unit when the order was placed"`
	UnitValue     *json.Number `json:"unitvalue" doc:"present value of a unit"`
	Date          *string      `json:"date" doc:"start of the day"`
	ValidityDate  *string      `json:"validity_date" doc:"start of the day"`
	ExecutionDate *string      `json:"execution_date" doc:"start of the day"`
	Created       string       `json:"created" doc:"when it was first read"`
	LastUpdate    string       `json:"last_update"`
	Deleted       *string      `json:"deleted"`
}

// Named is one value of a fixed list, with its number.
type Named struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// These maps translate the values that connectors report about market orders.
var (
	directions     = map[string]Named{"buy": {1, "BUY"}, "sell": {2, "SALE"}}
	orderTypes     = map[string]Named{"market": {1, "MARKET"}, "limit": {2, "LIMIT"}, "trigger": {3, "TRIGGER"}, "": {4, "UNKNOWN"}}
	paymentMethods = map[string]string{"cash": "CASH", "deferred": "DEFERRED"}
)

// NewMarketOrder renders an order with times in the zone.
func NewMarketOrder(a passerelle.Asset[passerelle.MarketOrderDetails], zone *time.Location) MarketOrder {
	d := a.Details
	out := MarketOrder{
		ID: int64(a.ID), IDAccount: int64(a.Account), Number: optional(d.Number), Label: d.Label, Code: optional(d.Code), WebID: d.Key,
		State: optional(d.State), PaymentMethod: cmp.Or(paymentMethods[d.PaymentMethod], "UNKNOWN"), StockMarket: optional(d.StockMarket), StockSymbol: optional(d.StockSymbol),
		Quantity: Amount(d.Quantity), Amount: Amount(d.Amount), OrderValue: Amount(d.OrderValue), UnitPrice: Amount(d.UnitPrice), UnitValue: Amount(d.UnitValue),
		Type: orderTypes[""], Date: dayStart(d.Date, zone), ValidityDate: dayStart(d.Validity, zone), ExecutionDate: dayStart(d.Executed, zone),
		Created: passerelle.FormatDateTime(a.Created, zone), LastUpdate: passerelle.FormatDateTime(a.LastUpdate, zone), Deleted: Moment(a.Deleted, zone),
	}
	if direction, known := directions[d.Direction]; known {
		out.Direction = &direction
	}
	if kind, known := orderTypes[d.Type]; known {
		out.Type = kind
	}
	return out
}

// dayStart returns the first instant of a day in the zone, as text.
func dayStart(d passerelle.Date, zone *time.Location) *string {
	if d.IsZero() {
		return nil
	}
	return optional(passerelle.FormatDateTime(d.In(zone), zone))
}

// Pocket is a part of a position that becomes available under a condition.
type Pocket struct {
	ID               int64        `json:"id"`
	IDInvestment     *int64       `json:"id_investment"`
	IDAccount        int64        `json:"id_account"`
	Label            *string      `json:"label"`
	Quantity         *json.Number `json:"quantity"`
	Value            json.Number  `json:"value" doc:"zero when the value of a unit is unknown"`
	Condition        string       `json:"condition" doc:"available, date, retirement or unknown"`
	AvailabilityDate *string      `json:"availability_date"`
	LastUpdate       string       `json:"last_update"`
	Deleted          *string      `json:"deleted"`
}

// NewPocket renders a pocket with times in the zone.
func NewPocket(a passerelle.Asset[passerelle.PocketDetails], zone *time.Location) Pocket {
	d := a.Details
	out := Pocket{
		ID: int64(a.ID), IDInvestment: optional(int64(a.Investment)), IDAccount: int64(a.Account), Label: optional(d.Label), Quantity: Amount(d.Quantity), Value: "0",
		Condition: d.Condition, AvailabilityDate: date(d.Available), LastUpdate: passerelle.FormatDateTime(a.LastUpdate, zone), Deleted: Moment(a.Deleted, zone),
	}
	if d.Value != nil {
		out.Value = *Amount(d.Value)
	}
	if d.Condition == "" {
		out.Condition = "unknown"
	}
	return out
}

// Amortization is one line of a loan's repayment plan.
type Amortization struct {
	ID                 int64           `json:"id"`
	IDAccount          int64           `json:"id_account"`
	PaymentDate        *string         `json:"payment_date"`
	Period             *int            `json:"period" doc:"position of the payment in the schedule, from 1"`
	AmortizationAmount *CurrencyAmount `json:"amortization_amount" doc:"repaid capital"`
	InterestAmount     *CurrencyAmount `json:"interest_amount"`
	InsuranceAmount    *CurrencyAmount `json:"insurance_amount"`
	TotalPaymentAmount *CurrencyAmount `json:"total_payment_amount"`
	RemainingCapital   *CurrencyAmount `json:"remaining_capital" doc:"capital that remains after the payment"`
	Calculated         []string        `json:"calculated" doc:"members that the service calculated, because the institution did not report them"`
	LastUpdate         string          `json:"last_update"`
	Deleted            *string         `json:"deleted"`
}

// CurrencyAmount is an amount with its currency.
type CurrencyAmount struct {
	Currency *passerelle.Currency `json:"currency" doc:"ISO 4217 code"`
	Value    json.Number          `json:"value"`
}

// NewAmortization renders a line of a loan's repayment plan, with times in the zone.
func NewAmortization(a passerelle.Asset[passerelle.AmortizationDetails], zone *time.Location) Amortization {
	d := a.Details
	in := func(amount *decimal.Decimal) *CurrencyAmount {
		if amount == nil {
			return nil
		}
		return &CurrencyAmount{Currency: optional(d.Currency), Value: *Amount(amount)}
	}
	out := Amortization{
		ID: int64(a.ID), IDAccount: int64(a.Account), PaymentDate: date(d.Date), Period: optional(d.Period), AmortizationAmount: in(d.Capital), InterestAmount: in(d.Interest),
		InsuranceAmount: in(d.Insurance), TotalPaymentAmount: in(d.Amount), RemainingCapital: in(d.RemainingCapital), Calculated: []string{},
		LastUpdate: passerelle.FormatDateTime(a.LastUpdate, zone), Deleted: Moment(a.Deleted, zone),
	}
	if out.TotalPaymentAmount == nil && d.Capital != nil && d.Interest != nil {
		total := passerelle.SumAmounts(d.Capital, d.Interest)
		if d.Insurance != nil {
			total = passerelle.SumAmounts(total, d.Insurance)
		}
		out.TotalPaymentAmount, out.Calculated = in(total), append(out.Calculated, "total_payment_amount")
	}
	return out
}

// NewInvestmentValue renders the value of one unit of an investment.
func NewInvestmentValue(v passerelle.InvestmentValue) InvestmentValue {
	return InvestmentValue{
		ID: v.ID, IDInvestment: int64(v.Investment), VDate: v.Date.String(), UnitValue: json.Number(v.Value.String()), OriginalCurrency: currency(v.OriginalCurrency),
		OriginalUnitValue: Amount(v.OriginalValue),
	}
}

// Indicators are figures about the finances of a user.
type Indicators struct {
	IDUser     int64           `json:"id_user"`
	Indicators *map[string]any `json:"indicators" doc:"always null: the service computes none"`
}
