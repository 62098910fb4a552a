package wire

import (
	"encoding/json"
	"slices"

	"github.com/govalues/decimal"

	"passerelle"
)

// Moved contains the balance, the expenses and the income of all accounts in one currency, for a
// period.
type Moved struct {
	Balance  *json.Number `json:"balance" doc:"at the end of the period"`
	Expenses *json.Number `json:"expenses" doc:"sum of outgoing transactions, zero or less"`
	Incomes  *json.Number `json:"incomes"`
	Remains  *json.Number `json:"remains" doc:"sum of incomes and expenses"`
}

// BalanceGroup contains the balances and movements of accounts in a period. A sum of amounts in
// different currencies is null.
type BalanceGroup struct {
	MinDate    string            `json:"min_date"`
	MaxDate    string            `json:"max_date"`
	Currencies []CurrencyBalance `json:"currencies"`
	NOverdraft int               `json:"n_overdraft" doc:"number of days that ended with a negative balance, in any currency"`
	Moved
	DailyBalances []DailyBalance `json:"daily_balances" doc:"one for each day until today"`
}

// CurrencyBalance is the part of a group that is in one currency.
type CurrencyBalance struct {
	ID     string `json:"id"`
	Symbol string `json:"symbol"`
	Moved
}

// DailyBalance is one day of a group.
type DailyBalance struct {
	Date string `json:"date"`
	Moved
}

// CurrencyBalances contains the balances of the accounts in one currency for each day, and their
// current balance.
type CurrencyBalances struct {
	Currency passerelle.Currency
	Present  *decimal.Decimal
	Days     []passerelle.Balance
}

// sum returns the last balance and the movements of all days. A period without days has no
// movements, and its balance is the current balance.
func (b CurrencyBalances) sum() passerelle.Balance {
	if len(b.Days) == 0 {
		return passerelle.Balance{End: b.Present, In: &decimal.Zero, Out: &decimal.Zero, Net: &decimal.Zero}
	}
	return passerelle.SumBalances(b.Days)
}

// NewBalanceGroup renders the days from first to last. All currencies must have the same days.
func NewBalanceGroup(first, last passerelle.Date, all []CurrencyBalances) BalanceGroup {
	out := BalanceGroup{MinDate: first.String(), MaxDate: last.String(), Currencies: []CurrencyBalance{}, DailyBalances: []DailyBalance{}}
	sums := make([]passerelle.Balance, len(all))
	for i, one := range all {
		sums[i] = one.sum()
		out.Currencies = append(out.Currencies, CurrencyBalance{ID: string(one.Currency), Symbol: one.Currency.Details().Symbol, Moved: moved(sums[i])})
	}
	out.Moved = movedAlone(sums)
	if len(all) == 0 {
		return out
	}
	for i := range all[0].Days {
		out.day(i, all)
	}
	return out
}

// day adds a day to the group. If a balance of the day ends below zero, it also counts the day in
// NOverdraft.
func (g *BalanceGroup) day(i int, all []CurrencyBalances) {
	day := make([]passerelle.Balance, len(all))
	for c, one := range all {
		day[c] = one.Days[i]
	}
	if slices.ContainsFunc(day, func(b passerelle.Balance) bool { return b.End != nil && b.End.IsNeg() }) {
		g.NOverdraft++
	}
	g.DailyBalances = append(g.DailyBalances, DailyBalance{Date: day[0].Last.String(), Moved: movedAlone(day)})
}

func moved(b passerelle.Balance) Moved {
	return Moved{Balance: Amount(b.End), Expenses: Amount(b.Out), Incomes: Amount(b.In), Remains: Amount(b.Net)}
}

// movedAlone returns the amounts when there is exactly one currency. Without a currency the amounts
// are zero. With several currencies they are null.
func movedAlone(all []passerelle.Balance) Moved {
	switch len(all) {
	case 0:
		return moved(CurrencyBalances{Present: &decimal.Zero}.sum())
	case 1:
		return moved(all[0])
	}
	return Moved{}
}
