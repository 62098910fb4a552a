package banking

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

func (s *Service) accountRoutes() []httpapi.Route {
	const (
		all, of  = "/users/{userId}/accounts", "/users/{userId}/connections/{connectionId}/accounts"
		onlyAll  = "Add all to include a disabled or deleted account."
		shareDoc = "With disabled false, records the end user's consent, and the service reads the account soon afterwards. With disabled true, ends the consent and removes the transactions at once. " + onlyAll + " Several ids, separated by commas, return a list. The accounts of one connection change together or not at all."
	)
	const everyDoc = "Changes all accounts and returns the list. Disabled accounts are included only with all, so add all to share them again. Fails with conflict for more than 1,000 accounts."
	changing := []string{"conflict", "connectionLocked"}
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: all, Aliases: []string{"/accounts"}, Needs: ofUser, Endpoint: httpapi.Handle(s.listAccounts),
			Summary: "List bank accounts", Doc: "Lists the accounts that the end user shares. With all, also lists disabled and deleted accounts. The sums cover the accounts on this page that are neither disabled nor deleted.",
		},
		{
			Method: http.MethodGet, Pattern: of, Aliases: []string{"/connections/{connectionId}/accounts"}, Needs: ofUser, Endpoint: httpapi.Handle(s.listAccountsOf),
			Summary: "List the bank accounts of a connection",
		},
		{
			Method: http.MethodGet, Pattern: all + "/{accountId}", Aliases: []string{"/accounts/{accountId}"}, Needs: ofUser, Endpoint: httpapi.Handle(s.oneAccount),
			Summary: "Read a bank account", Doc: onlyAll,
		},
		{
			Method: http.MethodGet, Pattern: of + "/{accountId}", Aliases: []string{"/connections/{connectionId}/accounts/{accountId}"}, Needs: ofUser, Endpoint: httpapi.Handle(s.oneAccountOf),
			Summary: "Read a bank account of a connection", Doc: onlyAll,
		},
		{
			Method: httpapi.Update, Pattern: all + "/{accountId}", Aliases: []string{"/accounts/{accountId}"}, Needs: ofUser, Endpoint: httpapi.Handle(s.changeAccounts),
			Summary: "Share or stop sharing a bank account, or change how it is shown", Errors: changing, Doc: shareDoc,
		},
		{
			Method: httpapi.Update, Pattern: of + "/{accountId}", Aliases: []string{"/connections/{connectionId}/accounts/{accountId}"}, Needs: ofUser, Endpoint: httpapi.Handle(s.changeAccountsOf),
			Summary: "Share or stop sharing a bank account of a connection, or change how it is shown", Errors: changing, Doc: shareDoc,
		},
		{
			Method: httpapi.Update, Pattern: all, Aliases: []string{"/accounts"}, Needs: ofUser, Endpoint: httpapi.Handle(s.changeAllAccounts),
			Summary: "Share or stop sharing all bank accounts, or change how they are shown", Errors: changing, Doc: everyDoc,
		},
		{
			Method: httpapi.Update, Pattern: of, Aliases: []string{"/connections/{connectionId}/accounts"}, Needs: ofUser, Endpoint: httpapi.Handle(s.changeAllAccountsOf),
			Summary: "Share or stop sharing all bank accounts of a connection, or change how they are shown", Errors: changing, Doc: everyDoc,
		},
	}
}

// accountDetailRoutes returns the routes for holders, account types, currencies, and the sources,
// logs and categories of an account.
func (s *Service) accountDetailRoutes() []httpapi.Route {
	const onlyAll = "Add all for a disabled or deleted account."
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/account_ownerships", Aliases: []string{"/account_ownerships"}, Needs: ofUser, Endpoint: httpapi.Handle(s.listOwnerships),
			Summary: "List the holders of the bank accounts", Doc: "Returns the holders of the accounts that the end user shares.",
		},
		{
			Method: http.MethodGet, Pattern: "/account_types", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.listAccountTypes), Summary: "List account types",
		},
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/account_types", Needs: ofUser, Endpoint: httpapi.Handle(s.listAccountTypesFor),
			Summary: "List account types, under a user's path", Doc: "The response is the same for all users.",
		},
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/account_types/{typeId}", Needs: ofUser, Endpoint: httpapi.Handle(s.oneAccountTypeFor),
			Summary: "Read an account type, under a user's path", Doc: "The response is the same for all users.",
		},
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/accounts/{accountId}/sources", Aliases: []string{"/accounts/{accountId}/sources", "/users/{userId}/connections/{connectionId}/accounts/{accountId}/sources", "/connections/{connectionId}/accounts/{accountId}/sources"},
			Needs: ofUser, Endpoint: httpapi.Handle(s.accountSources), Summary: "List the sources of an account", Doc: "Returns the sources of the account's connection. " + onlyAll,
		},
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/accounts/{accountId}/logs", Aliases: []string{"/accounts/{accountId}/logs", "/users/{userId}/connections/{connectionId}/accounts/{accountId}/logs", "/connections/{connectionId}/accounts/{accountId}/logs"},
			Needs: ofUser, Endpoint: httpapi.Handle(s.accountLogs), Summary: "List the synchronisations of an account", Doc: "Returns the same list as for the account's connection. " + onlyAll,
		},
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/accounts/{accountId}/categories", Aliases: []string{"/accounts/{accountId}/categories", "/users/{userId}/connections/{connectionId}/accounts/{accountId}/categories", "/connections/{connectionId}/accounts/{accountId}/categories"},
			Needs: ofUser, Endpoint: httpapi.Handle(s.accountCategories), Summary: "List the categories for an account", Doc: "Returns the categories of the account's user. Accounts have no categories of their own. " + onlyAll,
		},
		{
			Method: http.MethodGet, Pattern: "/account_types/{typeId}", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.oneAccountType), Summary: "Read an account type",
		},
		{
			Method: http.MethodGet, Pattern: "/currencies", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.listCurrencies), Summary: "List currencies", Doc: "Lists all currencies that an account can have.",
		},
	}
}

func (s *Service) withholdingRoutes() []httpapi.Route {
	const (
		all, of = "/users/{userId}/accounts", "/users/{userId}/connections/{connectionId}/accounts"
		onlyAll = "Add all to include a disabled or deleted account."
		goneDoc = "Ends the consent and erases the data, as setting disabled to true does. The account stays in the list, disabled, as long as its institution lists it. The service reads it again only after a new consent."
	)
	changing := []string{"conflict", "connectionLocked"}
	return []httpapi.Route{
		{
			Method: http.MethodDelete, Pattern: all, Aliases: []string{"/accounts"}, Needs: ofUser, Endpoint: httpapi.Handle(s.deleteAllAccounts),
			Summary: "Stop sharing all bank accounts", Errors: changing, Doc: goneDoc,
		},
		{
			Method: http.MethodDelete, Pattern: of, Aliases: []string{"/connections/{connectionId}/accounts"}, Needs: ofUser, Endpoint: httpapi.Handle(s.deleteAllAccountsOf),
			Summary: "Stop sharing all bank accounts of a connection", Errors: changing, Doc: goneDoc,
		},
		{
			Method: http.MethodDelete, Pattern: all + "/{accountId}", Aliases: []string{"/accounts/{accountId}"}, Needs: ofUser, Endpoint: httpapi.Handle(s.deleteAccounts),
			Summary: "Stop sharing a bank account", Errors: changing, Doc: goneDoc + " " + onlyAll,
		},
		{
			Method: http.MethodDelete, Pattern: of + "/{accountId}", Aliases: []string{"/connections/{connectionId}/accounts/{accountId}"}, Needs: ofUser, Endpoint: httpapi.Handle(s.deleteAccountsOf),
			Summary: "Stop sharing a bank account of a connection", Errors: changing, Doc: goneDoc + " " + onlyAll,
		},
	}
}

type listAccountsInput struct {
	oneUserInput
	httpapi.All
	httpapi.Paging
	httpapi.Expand[wire.BankAccount]
}

type listAccountsOfInput struct {
	oneConnectionInput
	httpapi.All
	httpapi.Paging
	httpapi.Expand[wire.BankAccount]
}

// summedAccounts contains accounts, and sums of balances over the accounts that are neither
// disabled nor deleted.
type summedAccounts struct {
	Accounts       []wire.BankAccount                   `json:"accounts"`
	Balance        *json.Number                         `json:"balance" doc:"sum of the balances, when all accounts have the same currency"`
	Balances       map[passerelle.Currency]*json.Number `json:"balances" doc:"sums of the balances, by currency"`
	ComingBalances map[passerelle.Currency]*json.Number `json:"coming_balances" doc:"sums of the balances after all pending transactions are booked, by currency"`
}

type listAccountsOutput struct {
	summedAccounts
	httpapi.Listing
}

func (s *Service) listAccounts(ctx context.Context, c *httpapi.Caller, in listAccountsInput) (listAccountsOutput, error) {
	user, err := in.theirs(c)
	if err != nil {
		return listAccountsOutput{}, err
	}
	return s.accountPage(ctx, c, bankstore.AccountFilter{Domain: c.Domain.ID, User: user, All: in.WithDisabled}, in.Paging, in.Expansion())
}

func (s *Service) listAccountsOf(ctx context.Context, c *httpapi.Caller, in listAccountsOfInput) (listAccountsOutput, error) {
	one, err := s.connection(ctx, c, in.oneConnectionInput)
	if err != nil {
		return listAccountsOutput{}, err
	}
	return s.accountPage(ctx, c, bankstore.AccountFilter{Domain: c.Domain.ID, User: one.User, Connection: one.ID, All: in.WithDisabled}, in.Paging, in.Expansion())
}

func (s *Service) accountPage(ctx context.Context, c *httpapi.Caller, f bankstore.AccountFilter, page httpapi.Paging, e httpapi.Expansion) (listAccountsOutput, error) {
	rows, listing, err := s.accountRows(ctx, f, page)
	if err != nil {
		return listAccountsOutput{}, err
	}
	shown, err := s.showAccounts(ctx, c, rows, e)
	return listAccountsOutput{summed(shown, rows), listing}, err
}

func summed(shown []wire.BankAccount, rows []bankstore.StoredAccount) summedAccounts {
	var balances, coming sums
	for _, a := range rows {
		if a.Disabled == nil && a.Deleted == nil {
			balances.add(a.Currency, a.Balance)
			coming.add(a.Currency, wire.ComingBalance(a.BankAccount))
		}
	}
	return summedAccounts{shown, balances.single(), balances.shown(), coming.shown()}
}

func (s *Service) accountRows(ctx context.Context, f bankstore.AccountFilter, page httpapi.Paging) ([]bankstore.StoredAccount, httpapi.Listing, error) {
	return httpapi.Turn(ctx, &s.DB.Reader, page,
		func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]bankstore.StoredAccount, error) {
			return bankstore.From(r).BankAccounts(ctx, f, w.OfRows())
		},
		func(a bankstore.StoredAccount) httpapi.Position { return httpapi.Position{int64(a.ID)} },
		func(ctx context.Context, r *store.Reader) (int64, error) {
			return bankstore.From(r).CountBankAccounts(ctx, f)
		})
}

// showAccounts renders one user's accounts with the requested expansions.
func (s *Service) showAccounts(ctx context.Context, c *httpapi.Caller, rows []bankstore.StoredAccount, e httpapi.Expansion) ([]wire.BankAccount, error) {
	shown, err := s.embedding(c).accounts(ctx, rows, e)
	return shown.list, err
}

// sums contains the sum of amounts for each currency. It ignores accounts without a currency or an
// amount. A sum that is too large for a decimal is nil.
type sums struct {
	of map[passerelle.Currency]*decimal.Decimal
}

func (s *sums) add(c passerelle.Currency, amount *decimal.Decimal) {
	if c == "" || amount == nil {
		return
	}
	if s.of == nil {
		s.of = map[passerelle.Currency]*decimal.Decimal{}
	}
	if before, begun := s.of[c]; begun {
		amount = passerelle.SumAmounts(before, amount)
	}
	s.of[c] = amount
}

func (s *sums) shown() map[passerelle.Currency]*json.Number {
	shown := make(map[passerelle.Currency]*json.Number, len(s.of))
	for c, sum := range s.of {
		shown[c] = wire.Amount(sum)
	}
	return shown
}

// single returns the sum when all amounts have the same currency. It returns zero when there are no
// amounts, and nil when there are several currencies.
func (s *sums) single() *json.Number {
	if len(s.of) == 0 {
		return wire.Amount(&decimal.Zero)
	}
	for _, sum := range s.of {
		if len(s.of) == 1 {
			return wire.Amount(sum)
		}
	}
	return nil
}

type accountPath struct {
	oneUserInput
	httpapi.All
	ID passerelle.AccountID `path:"accountId"`
}

type oneAccountInput struct {
	accountPath
	httpapi.Expand[wire.BankAccount]
}

type oneAccountOfInput struct {
	Connection passerelle.ConnectionID `path:"connectionId"`
	accountPath
	httpapi.Expand[wire.BankAccount]
}

func (s *Service) oneAccount(ctx context.Context, c *httpapi.Caller, in oneAccountInput) (wire.BankAccount, error) {
	return s.account(ctx, c, 0, in.accountPath, in.Expansion())
}

func (s *Service) oneAccountOf(ctx context.Context, c *httpapi.Caller, in oneAccountOfInput) (wire.BankAccount, error) {
	return s.account(ctx, c, in.Connection, in.accountPath, in.Expansion())
}

// account reads an account of a connection. A zero connection means any connection.
func (s *Service) account(ctx context.Context, c *httpapi.Caller, connection passerelle.ConnectionID, in accountPath, e httpapi.Expansion) (wire.BankAccount, error) {
	found, err := s.accounts(ctx, c, in.oneUserInput, bankstore.AccountFilter{Connection: connection, IDs: []passerelle.AccountID{in.ID}, All: in.WithDisabled})
	if err != nil {
		return wire.BankAccount{}, err
	}
	shown, err := s.showAccounts(ctx, c, found, e)
	if err != nil {
		return wire.BankAccount{}, err
	}
	return shown[0], nil
}

// accounts loads those accounts of a user that the filter names. It fails when a named account is
// missing.
func (s *Service) accounts(ctx context.Context, c *httpapi.Caller, u oneUserInput, f bankstore.AccountFilter) ([]bankstore.StoredAccount, error) {
	user, err := u.theirs(c)
	if err != nil {
		return nil, err
	}
	f.Domain, f.User, f.IDs = c.Domain.ID, user, slices.Compact(slices.Sorted(slices.Values(f.IDs)))
	found, err := bankstore.From(s.DB).BankAccounts(ctx, f, store.Window{Limit: len(f.IDs)})
	if err != nil {
		return nil, fmt.Errorf("load accounts: %w", err)
	}
	if len(found) < len(f.IDs) || len(found) == 0 {
		return nil, passerelle.Missing()
	}
	return found, nil
}

// accountChange contains the fields of accounts that a call can change.
type accountChange struct {
	Disabled   *bool             `body:"disabled" doc:"false shares the account, true stops sharing it"`
	Name       *string           `body:"name" max:"255" doc:"the end user's own name for the account; empty restores the institution's name"`
	Display    *bool             `body:"display"`
	Bookmarked *httpapi.Bit      `body:"bookmarked"`
	Usage      *passerelle.Usage `body:"usage" enum:"PRIV,ORGA,ASSO"`
}

func (in accountChange) change() aggregation.AccountChange {
	return aggregation.AccountChange{Disabled: in.Disabled, Name: in.Name, Display: in.Display, Bookmarked: (*bool)(in.Bookmarked), Usage: in.Usage, Origin: "api"}
}

type accountsPath struct {
	oneUserInput
	httpapi.All
	IDs []passerelle.AccountID `path:"accountId" doc:"id of the account, or several ids separated by commas"`
}

type changeAccountsInput struct {
	accountsPath
	accountChange
	httpapi.Expand[wire.BankAccount]
}

type changeAccountsOfInput struct {
	Connection passerelle.ConnectionID `path:"connectionId"`
	accountsPath
	accountChange
	httpapi.Expand[wire.BankAccount]
}

type changeAllAccountsInput struct {
	oneUserInput
	httpapi.All
	accountChange
	httpapi.Expand[wire.BankAccount]
}

type changeAllAccountsOfInput struct {
	oneConnectionInput
	httpapi.All
	accountChange
	httpapi.Expand[wire.BankAccount]
}

// changedAccounts contains one changed account, or a list when the path names several accounts.
type changedAccounts struct {
	// Balance is the balance of the account or of the list. Both have a member with this name.
	Balance *json.Number `json:"balance"`
	*wire.BankAccount
	*severalAccounts
}

// severalAccounts contains the members of a list of accounts.
type severalAccounts struct {
	summedAccounts
	Total int `json:"total"`
}

func (s *Service) changeAccounts(ctx context.Context, c *httpapi.Caller, in changeAccountsInput) (changedAccounts, error) {
	return s.changedAccounts(ctx, c, 0, in.accountsPath, in.change(), in.Expansion())
}

func (s *Service) changeAccountsOf(ctx context.Context, c *httpapi.Caller, in changeAccountsOfInput) (changedAccounts, error) {
	return s.changedAccounts(ctx, c, in.Connection, in.accountsPath, in.change(), in.Expansion())
}

// changedAccounts changes the accounts that the path names, and renders them.
func (s *Service) changedAccounts(ctx context.Context, c *httpapi.Caller, connection passerelle.ConnectionID, in accountsPath, change aggregation.AccountChange, e httpapi.Expansion) (changedAccounts, error) {
	changed, err := s.storeAccountChange(ctx, c, connection, in, change)
	if err != nil {
		return changedAccounts{}, err
	}
	shown, err := afterChange(ctx, changed, e, s.embedding(c).accounts)
	if err != nil {
		return changedAccounts{}, err
	}
	if len(in.IDs) > 1 {
		all := summed(shown, changed)
		return changedAccounts{Balance: all.Balance, severalAccounts: &severalAccounts{all, len(changed)}}, nil
	}
	return changedAccounts{Balance: shown[0].Balance, BankAccount: &shown[0]}, nil
}

func (s *Service) changeAllAccounts(ctx context.Context, c *httpapi.Caller, in changeAllAccountsInput) (severalAccounts, error) {
	user, err := in.theirs(c)
	if err != nil {
		return severalAccounts{}, err
	}
	return s.changedAll(ctx, c, bankstore.AccountFilter{User: user, All: in.WithDisabled}, in.change(), in.Expansion())
}

func (s *Service) changeAllAccountsOf(ctx context.Context, c *httpapi.Caller, in changeAllAccountsOfInput) (severalAccounts, error) {
	one, err := s.connection(ctx, c, in.oneConnectionInput)
	if err != nil {
		return severalAccounts{}, err
	}
	return s.changedAll(ctx, c, bankstore.AccountFilter{User: one.User, Connection: one.ID, All: in.WithDisabled}, in.change(), in.Expansion())
}

// maxChanged is the largest number of accounts that changedAll may change, and of subscriptions
// that changeAllSubscriptions may change.
const maxChanged = 1000

// changedAll changes all accounts that a filter selects, and renders them.
func (s *Service) changedAll(ctx context.Context, c *httpapi.Caller, f bankstore.AccountFilter, change aggregation.AccountChange, e httpapi.Expansion) (severalAccounts, error) {
	f.Domain = c.Domain.ID
	found, err := bankstore.From(s.DB).BankAccounts(ctx, f, store.Window{Limit: maxChanged + 1})
	if err != nil {
		return severalAccounts{}, fmt.Errorf("load accounts: %w", err)
	}
	if len(found) > maxChanged {
		return severalAccounts{}, passerelle.Conflicting("there are more than %d accounts; name those to change, separated by commas", maxChanged)
	}
	ids := make([]passerelle.AccountID, len(found))
	for i, a := range found {
		ids[i] = a.ID
	}
	changed, err := s.Aggregation.ChangeAccounts(ctx, c.Domain, f.User, ids, change)
	if err != nil {
		return severalAccounts{}, err
	}
	shown, err := afterChange(ctx, changed, e, s.embedding(c).accounts)
	return severalAccounts{summed(shown, changed), len(changed)}, err
}

// storeAccountChange changes the accounts that the path names. A zero connection means
// any connection.
func (s *Service) storeAccountChange(ctx context.Context, c *httpapi.Caller, connection passerelle.ConnectionID, in accountsPath, change aggregation.AccountChange) ([]bankstore.StoredAccount, error) {
	found, err := s.accounts(ctx, c, in.oneUserInput, bankstore.AccountFilter{Connection: connection, IDs: in.IDs, All: in.WithDisabled})
	if err != nil {
		return nil, err
	}
	return s.Aggregation.ChangeAccounts(ctx, c.Domain, found[0].User, in.IDs, change)
}

// withheld is the change that the deletion of an account makes. Deletion only disables the account,
// because an account exists as long as its institution lists it.
var withheld = aggregation.AccountChange{Disabled: new(true), Origin: "api"}

type deleteAccountsInput struct{ accountsPath }

type deleteAccountsOfInput struct {
	Connection passerelle.ConnectionID `path:"connectionId"`
	accountsPath
}

func (s *Service) deleteAccounts(ctx context.Context, c *httpapi.Caller, in deleteAccountsInput) (httpapi.Nothing, error) {
	_, err := s.storeAccountChange(ctx, c, 0, in.accountsPath, withheld)
	return httpapi.Nothing{}, err
}

func (s *Service) deleteAccountsOf(ctx context.Context, c *httpapi.Caller, in deleteAccountsOfInput) (httpapi.Nothing, error) {
	_, err := s.storeAccountChange(ctx, c, in.Connection, in.accountsPath, withheld)
	return httpapi.Nothing{}, err
}

func (s *Service) deleteAllAccounts(ctx context.Context, c *httpapi.Caller, in oneUserInput) (httpapi.Nothing, error) {
	user, err := in.theirs(c)
	if err != nil {
		return httpapi.Nothing{}, err
	}
	return httpapi.Nothing{}, s.Aggregation.WithholdAccounts(ctx, c.Domain, user, 0, withheld)
}

func (s *Service) deleteAllAccountsOf(ctx context.Context, c *httpapi.Caller, in oneConnectionInput) (httpapi.Nothing, error) {
	one, err := s.connection(ctx, c, in)
	if err != nil {
		return httpapi.Nothing{}, err
	}
	return httpapi.Nothing{}, s.Aggregation.WithholdAccounts(ctx, c.Domain, one.User, one.ID, withheld)
}

type listOwnershipsInput struct {
	oneUserInput
	httpapi.Paging
}

type listOwnershipsOutput struct {
	Ownerships []wire.Ownership `json:"account_ownerships"`
	httpapi.Listing
}

func (s *Service) listOwnerships(ctx context.Context, c *httpapi.Caller, in listOwnershipsInput) (listOwnershipsOutput, error) {
	user, err := in.theirs(c)
	if err != nil {
		return listOwnershipsOutput{}, err
	}
	rows, listing, err := s.accountRows(ctx, bankstore.AccountFilter{Domain: c.Domain.ID, User: user}, in.Paging)
	if err != nil {
		return listOwnershipsOutput{}, err
	}
	shown, err := s.Aggregation.Ownerships(ctx, c.Domain, user, rows)
	return listOwnershipsOutput{Ownerships: shown, Listing: listing}, err
}

type listAccountTypesOutput struct {
	Types []wire.AccountType `json:"accounttypes"`
	Total int                `json:"total"`
}

func (s *Service) listAccountTypes(context.Context, *httpapi.Caller, httpapi.Nothing) (listAccountTypesOutput, error) {
	types := wire.AccountTypes()
	return listAccountTypesOutput{Types: types, Total: len(types)}, nil
}

func (s *Service) listAccountTypesFor(ctx context.Context, c *httpapi.Caller, in oneUserInput) (listAccountTypesOutput, error) {
	if _, err := in.theirs(c); err != nil {
		return listAccountTypesOutput{}, err
	}
	return s.listAccountTypes(ctx, c, httpapi.Nothing{})
}

type oneAccountTypeInput struct {
	ID int64 `path:"typeId"`
}

func (s *Service) oneAccountType(_ context.Context, _ *httpapi.Caller, in oneAccountTypeInput) (wire.AccountType, error) {
	for _, t := range wire.AccountTypes() {
		if t.ID == in.ID {
			return t, nil
		}
	}
	return wire.AccountType{}, passerelle.Missing()
}

type oneAccountTypeForInput struct {
	oneUserInput
	oneAccountTypeInput
}

func (s *Service) oneAccountTypeFor(ctx context.Context, c *httpapi.Caller, in oneAccountTypeForInput) (wire.AccountType, error) {
	if _, err := in.theirs(c); err != nil {
		return wire.AccountType{}, err
	}
	return s.oneAccountType(ctx, c, in.oneAccountTypeInput)
}

// accountPlace identifies an account. The connection is zero when the path names no connection.
type accountPlace struct {
	oneUserInput
	httpapi.All
	Connection passerelle.ConnectionID `path:"connectionId,optional"`
	Account    passerelle.AccountID    `path:"accountId"`
}

// connectionOf returns the connection of an account. It fails when the caller does not reach the
// account.
func (s *Service) connectionOf(ctx context.Context, c *httpapi.Caller, in accountPlace) (oneConnectionInput, error) {
	found, err := s.accounts(ctx, c, in.oneUserInput, bankstore.AccountFilter{Connection: in.Connection, IDs: []passerelle.AccountID{in.Account}, All: in.WithDisabled})
	if err != nil {
		return oneConnectionInput{}, err
	}
	return oneConnectionInput{in.oneUserInput, found[0].Connection}, nil
}

func (s *Service) accountSources(ctx context.Context, c *httpapi.Caller, in accountPlace) (connectionSourcesOutput, error) {
	of, err := s.connectionOf(ctx, c, in)
	if err != nil {
		return connectionSourcesOutput{}, err
	}
	return s.listConnectionSources(ctx, c, connectionSourcesInput{oneConnectionInput: of})
}

type accountLogsInput struct {
	accountPlace
	logsQuery
}

func (s *Service) accountLogs(ctx context.Context, c *httpapi.Caller, in accountLogsInput) (connectionLogsOutput, error) {
	of, err := s.connectionOf(ctx, c, in.accountPlace)
	if err != nil {
		return connectionLogsOutput{}, err
	}
	return s.connectionLogs(ctx, c, connectionLogsInput{of, in.logsQuery})
}

func (s *Service) accountCategories(ctx context.Context, c *httpapi.Caller, in accountPlace) (listCategoriesOutput, error) {
	if _, err := s.connectionOf(ctx, c, in); err != nil {
		return listCategoriesOutput{}, err
	}
	return s.listUserCategories(ctx, c, in.oneUserInput)
}

type listCurrenciesOutput struct {
	Currencies []wire.Currency `json:"currencies"`
	Total      int             `json:"total"`
}

func (s *Service) listCurrencies(context.Context, *httpapi.Caller, httpapi.Nothing) (listCurrenciesOutput, error) {
	all := passerelle.Currencies()
	out := listCurrenciesOutput{Currencies: make([]wire.Currency, len(all)), Total: len(all)}
	for i, c := range all {
		out.Currencies[i] = wire.NewCurrency(c)
	}
	return out, nil
}
