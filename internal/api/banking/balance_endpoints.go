package banking

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

func (s *Service) balanceRoutes() []httpapi.Route {
	pattern, aliases := everywhere("/balances")
	const account = "/accounts/{accountId}/delta"
	const within = "/connections/{connectionId}" + account
	return []httpapi.Route{{
		Method: http.MethodGet, Pattern: "/users/{userId}" + account, Aliases: []string{account, "/users/{userId}" + within, within}, Needs: ofUser, Endpoint: httpapi.Handle(s.deltas),
		Summary: "Read how an account's balance changed",
		Doc:     "Returns the change of the balance in each period, computed as in /balances. The default range is the current month.",
	}, {
		Method: http.MethodGet, Pattern: pattern, Aliases: aliases, Needs: ofUser, Endpoint: httpapi.Handle(s.balances),
		Summary: "List balances by day",
		Doc:     "Computes balances from the present balances of the enabled accounts and the booking dates of their transactions, excluding pending ones. The default range is the current month. Groups begin at min_date, each as long as period, and cover every day of the range. Future days have no daily balance.",
	}}
}

type balancesInput struct {
	anyPlace
	httpapi.DateRange
	Period string `query:"period" default:"1month" max:"50" doc:"length of a group: a number of days, weeks, months or years" example:"1year6months"`
}

type balancesOutput struct {
	Balances      []wire.BalanceGroup `json:"balances"`
	FirstDate     string              `json:"first_date" doc:"of all stored transactions"`
	LastDate      string              `json:"last_date" doc:"of all stored transactions"`
	ResultMinDate string              `json:"result_min_date"`
	ResultMaxDate string              `json:"result_max_date"`
	Total         int                 `json:"total" doc:"number of groups"`
}

type deltasOutput struct {
	Deltas        []delta `json:"deltas"`
	ResultMinDate string  `json:"result_min_date"`
	ResultMaxDate string  `json:"result_max_date"`
	Total         int     `json:"total"`
}

type delta struct {
	MinDate  string       `json:"min_date"`
	MaxDate  string       `json:"max_date"`
	Delta    *json.Number `json:"delta" doc:"change of the balance"`
	Balance  *json.Number `json:"balance" doc:"at the end of the period"`
	Expenses *json.Number `json:"expenses" doc:"sum of outgoing transactions, zero or less"`
	Incomes  *json.Number `json:"incomes"`
}

func (s *Service) deltas(ctx context.Context, c *httpapi.Caller, in balancesInput) (deltasOutput, error) {
	found, err := s.balances(ctx, c, in)
	out := deltasOutput{Deltas: make([]delta, len(found.Balances)), ResultMinDate: found.ResultMinDate, ResultMaxDate: found.ResultMaxDate, Total: found.Total}
	for i, b := range found.Balances {
		out.Deltas[i] = delta{b.MinDate, b.MaxDate, b.Remains, b.Balance, b.Expenses, b.Incomes}
	}
	return out, err
}

const (
	// maxBalanceDays is the largest number of days for which one call computes balances: five years.
	maxBalanceDays = 5 * 366
	// maxBalanced is the largest number of accounts in one call. The call adds up the balances of
	// these accounts, or searches the accounts for a holder.
	maxBalanced = 1000
)

func (s *Service) balances(ctx context.Context, c *httpapi.Caller, in balancesInput) (balancesOutput, error) {
	today := passerelle.DateOf(c.Domain.Clock.Now(s.Now()), c.Location)
	first, last, err := in.days(c, today)
	if err != nil {
		return balancesOutput{}, err
	}
	period, err := passerelle.ParseSpan("period", in.Period)
	if err != nil {
		return balancesOutput{}, err
	}
	at, err := s.settle(ctx, c, in.place())
	if err != nil {
		return balancesOutput{}, err
	}
	all, err := s.balancesOf(ctx, at.accounts(c, false), first, earlier(last, today))
	if err != nil {
		return balancesOutput{}, err
	}
	out := balancesOutput{Balances: []wire.BalanceGroup{}, ResultMinDate: first.String(), ResultMaxDate: last.String()}
	for n := 0; period.After(first, n).Compare(last) <= 0; n++ {
		from, until := period.After(first, n), earlier(period.After(first, n+1).AddDays(-1), last)
		out.Balances = append(out.Balances, wire.NewBalanceGroup(from, until, within(all, from, until)))
	}
	out.Total = len(out.Balances)
	filter := at.filter(c)
	filter.ByDate = true
	span, err := bankstore.From(s.DB).TransactionSpan(ctx, filter)
	out.FirstDate, out.LastDate = or(span.First, first).String(), or(span.Last, last).String()
	return out, err
}

// days returns the first and the last day of the requested period. The first day defaults to the
// beginning of the current month, or of the last day's month when that month is earlier. The last
// day defaults to the end of the current month, or of the first day's month when that month is
// later.
func (in balancesInput) days(c *httpapi.Caller, today passerelle.Date) (passerelle.Date, passerelle.Date, error) {
	var (
		first passerelle.Date
		last  passerelle.Date
	)
	if in.MinDate != "" { // in UTC, the first instant of the year 1 is the zero time
		first = passerelle.DateOf(in.From(), c.Location)
	}
	if !in.Until().IsZero() {
		last = passerelle.DateOf(in.Until(), c.Location).AddDays(-1)
	}
	if first.IsZero() {
		first = earlier(or(last, today), today).FirstOfMonth()
	}
	if last.IsZero() {
		last = first.FirstOfMonth().AddMonths(1).AddDays(-1)
		if month := today.FirstOfMonth().AddMonths(1).AddDays(-1); month.Compare(last) > 0 {
			last = month
		}
	}
	switch {
	case last.Compare(first) < 0:
		return first, last, passerelle.InvalidField("max_date", "must not be before min_date, %s", first)
	case first.AddDays(maxBalanceDays).Compare(last) <= 0 && in.MaxDate == "":
		return first, last, passerelle.InvalidField("min_date", "must be less than %d days before max_date, which is %s by default", maxBalanceDays, last)
	case first.AddDays(maxBalanceDays).Compare(last) <= 0:
		return first, last, passerelle.InvalidField("max_date", "must be less than %d days after min_date: %s to %s is longer", maxBalanceDays, first, last)
	}
	return first, last, nil
}

func earlier(a, b passerelle.Date) passerelle.Date {
	if a.Compare(b) < 0 {
		return a
	}
	return b
}

// balancesOf returns the balances of accounts by currency. It makes one query for the accounts, and
// one for each currency. It omits accounts without a currency or a balance.
func (s *Service) balancesOf(ctx context.Context, f bankstore.AccountFilter, first, last passerelle.Date) ([]wire.CurrencyBalances, error) {
	accounts, err := bankstore.From(s.DB).BankAccounts(ctx, f, store.Window{Limit: maxBalanced + 1})
	if err != nil {
		return nil, fmt.Errorf("list the accounts of user %d: %w", f.User, err)
	}
	if len(f.IDs) > 0 && len(accounts) == 0 {
		return nil, passerelle.Missing()
	}
	if len(accounts) > maxBalanced {
		return nil, &passerelle.Error{Kind: passerelle.Invalid, Code: "invalidValue", Message: fmt.Sprintf("More than %d accounts are not added up; ask for the balances of a connection or of an account.", maxBalanced)}
	}
	var present sums
	of := map[passerelle.Currency][]bankstore.StoredAccount{}
	for _, a := range accounts {
		if a.Currency != "" && a.Balance != nil {
			present.add(a.Currency, a.Balance)
			of[a.Currency] = append(of[a.Currency], a)
		}
	}
	var all []wire.CurrencyBalances
	for _, currency := range slices.Sorted(maps.Keys(of)) {
		movements, err := bankstore.From(s.DB).Movements(ctx, of[currency], first, last)
		if err != nil {
			return nil, fmt.Errorf("add up the transactions of user %d: %w", f.User, err)
		}
		all = append(all, currencyBalances(currency, present.of[currency], movements, first, last))
	}
	return all, nil
}

func currencyBalances(c passerelle.Currency, present *decimal.Decimal, movements []passerelle.Movement, first, last passerelle.Date) wire.CurrencyBalances {
	return wire.CurrencyBalances{Currency: c, Present: present, Days: passerelle.DailyBalances(present, movements, first, last)}
}

// within returns the balances from one day to another, both days included.
func within(all []wire.CurrencyBalances, from, until passerelle.Date) []wire.CurrencyBalances {
	part := slices.Clone(all)
	place := func(days []passerelle.Balance, day passerelle.Date) int {
		at, _ := slices.BinarySearchFunc(days, day, func(b passerelle.Balance, day passerelle.Date) int { return b.First.Compare(day) })
		return at
	}
	for i, currency := range all {
		part[i].Days = currency.Days[place(currency.Days, from):place(currency.Days, until.AddDays(1))]
	}
	return part
}
