package banking

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

func (s *Service) investmentRoutes() []httpapi.Route {
	const shown = "Returns the state at the last synchronisation, for the accounts that the end user shares. With all, also includes disabled and deleted accounts, and items that the institution no longer lists."
	list := func(rest, summary, doc string, aliases []string, e httpapi.Endpoint) httpapi.Route {
		pattern, everywhere := everywhere(rest)
		return httpapi.Route{Method: http.MethodGet, Pattern: pattern, Aliases: append(aliases, everywhere...), Needs: ofUser, Endpoint: e, Summary: summary, Doc: doc}
	}
	const investment = "/users/{userId}/investments/{investmentId}"
	ofInvestment := []string{investment + "/pockets", "/investments/{investmentId}/pockets"}
	return []httpapi.Route{
		list("/investments", "List investments", shown+" The sums cover the investments on this page if they all have the same currency. They exclude investments that the institution no longer lists.", nil, httpapi.Handle(s.listInvestments)),
		list("/investments/{assetId}", "Read an investment", "", nil, httpapi.Handle(s.oneInvestment)),
		list("/investments/{assetId}/history", "List the values of an investment", "Returns the unit value for each day for which the institution gave one, newest first.", nil, httpapi.Handle(s.investmentHistory)),
		list("/marketorders", "List market orders", shown, []string{"/users/{userId}/market_orders", "/market_orders"}, httpapi.Handle(listAssets(s, bankstore.MarketOrders, wire.NewMarketOrder, marketOrders))),
		list("/marketorders/{assetId}", "Read a market order", "", nil, httpapi.Handle(oneAsset(s, bankstore.MarketOrders, wire.NewMarketOrder))),
		list("/pockets", "List pockets", shown, ofInvestment, httpapi.Handle(listAssets(s, bankstore.Pockets, wire.NewPocket, pockets))),
		list("/pockets/{assetId}", "Read a pocket", "", nil, httpapi.Handle(oneAsset(s, bankstore.Pockets, wire.NewPocket))),
		list("/amortizations", "List the amortizations of loans", shown, nil, httpapi.Handle(listAssets(s, bankstore.Amortizations, wire.NewAmortization, amortizations))),
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/indicators", Aliases: []string{"/indicators"}, Needs: ofUser, Endpoint: httpapi.Handle(s.indicators),
			Summary: "Read the financial indicators of a user", Doc: "Always returns null. The service computes no indicators.",
		},
	}
}

type listAssetsInput struct {
	anyPlace
	Investment passerelle.AssetID `path:"investmentId,optional"`
	httpapi.All
	httpapi.Paging
	httpapi.Expand[wire.Investment]
}

// assetRows checks the place in the path: a user, perhaps with a connection, an account or both. It
// returns this place, and one page of this place's assets of one kind.
func assetRows[D any](ctx context.Context, s *Service, c *httpapi.Caller, in listAssetsInput, kind bankstore.AssetKind) (settled, []passerelle.Asset[D], httpapi.Listing, error) {
	at, err := s.open(ctx, c, in.place(), in.WithDisabled)
	if err != nil {
		return at, nil, httpapi.Listing{}, err
	}
	f := at.assets(c, kind, in.WithDisabled)
	if f.Investment = in.Investment; f.Investment != 0 {
		above := at.assets(c, bankstore.Investments, in.WithDisabled)
		if _, err := readAsset[passerelle.InvestmentDetails](ctx, s, above, f.Investment); err != nil {
			return at, nil, httpapi.Listing{}, err
		}
	}
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging,
		func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]passerelle.Asset[D], error) {
			return bankstore.ReadAssets[D](ctx, bankstore.From(r), f, w.OfRows())
		},
		func(a passerelle.Asset[D]) httpapi.Position { return httpapi.Position{int64(a.ID)} },
		func(ctx context.Context, r *store.Reader) (int64, error) {
			return bankstore.From(r).CountAssets(ctx, f)
		})
	if err != nil {
		return at, nil, listing, fmt.Errorf("list the assets of user %d: %w", f.User, err)
	}
	return at, rows, listing, nil
}

// assets returns a filter for the assets of a kind at the place that the path names.
func (at settled) assets(c *httpapi.Caller, kind bankstore.AssetKind, all bool) bankstore.AssetFilter {
	return bankstore.AssetFilter{Domain: c.Domain.ID, User: at.user, Connection: at.connection, Account: at.account, Kind: kind, All: all}
}

func readAsset[D any](ctx context.Context, s *Service, f bankstore.AssetFilter, id passerelle.AssetID) (passerelle.Asset[D], error) {
	f.IDs = []passerelle.AssetID{id}
	found, err := bankstore.ReadAssets[D](ctx, bankstore.From(s.DB), f, store.Window{Limit: 1})
	if err != nil {
		return passerelle.Asset[D]{}, fmt.Errorf("read the assets of user %d: %w", f.User, err)
	}
	if len(found) == 0 {
		return passerelle.Asset[D]{}, passerelle.Missing()
	}
	return found[0], nil
}

type whichAsset struct {
	anyPlace
	ID passerelle.AssetID `path:"assetId"`
	httpapi.All
}

type oneAssetInput struct {
	whichAsset
	httpapi.Expand[wire.Investment]
}

// oneAsset returns the endpoint that shows one asset of a kind.
func oneAsset[D, W any](s *Service, kind bankstore.AssetKind, show func(passerelle.Asset[D], *time.Location) W) func(context.Context, *httpapi.Caller, whichAsset) (W, error) {
	return func(ctx context.Context, c *httpapi.Caller, in whichAsset) (W, error) {
		var shown W
		at, err := s.open(ctx, c, in.place(), in.WithDisabled)
		if err != nil {
			return shown, err
		}
		found, err := readAsset[D](ctx, s, at.assets(c, kind, in.WithDisabled), in.ID)
		if err != nil {
			return shown, err
		}
		return show(found, c.Location), nil
	}
}

// listAssets returns the endpoint that lists assets of a kind. Its last argument makes the response
// from the list.
func listAssets[D, W, Out any](s *Service, kind bankstore.AssetKind, show func(passerelle.Asset[D], *time.Location) W, wrap func([]W, httpapi.Listing) Out) func(context.Context, *httpapi.Caller, listAssetsInput) (Out, error) {
	return func(ctx context.Context, c *httpapi.Caller, in listAssetsInput) (Out, error) {
		var out Out
		_, rows, listing, err := assetRows[D](ctx, s, c, in, kind)
		if err != nil {
			return out, err
		}
		shown := make([]W, len(rows))
		for i, a := range rows {
			shown[i] = show(a, c.Location)
		}
		return wrap(shown, listing), nil
	}
}

type listMarketOrdersOutput struct {
	Orders []wire.MarketOrder `json:"marketorders"`
	httpapi.Listing
}

func marketOrders(shown []wire.MarketOrder, l httpapi.Listing) listMarketOrdersOutput {
	return listMarketOrdersOutput{shown, l}
}

type listPocketsOutput struct {
	Pockets []wire.Pocket `json:"pockets"`
	httpapi.Listing
}

func pockets(shown []wire.Pocket, l httpapi.Listing) listPocketsOutput {
	return listPocketsOutput{shown, l}
}

type listAmortizationsOutput struct {
	Amortizations []wire.Amortization `json:"loanamortizations"`
	httpapi.Listing
}

func amortizations(shown []wire.Amortization, l httpapi.Listing) listAmortizationsOutput {
	return listAmortizationsOutput{shown, l}
}

type listInvestmentsOutput struct {
	Investments []wire.Investment `json:"investments"`
	wire.Worth
	httpapi.Listing
}

func (s *Service) listInvestments(ctx context.Context, c *httpapi.Caller, in listAssetsInput) (listInvestmentsOutput, error) {
	at, rows, listing, err := assetRows[passerelle.InvestmentDetails](ctx, s, c, in, bankstore.Investments)
	if err != nil {
		return listInvestmentsOutput{}, err
	}
	accounts, err := s.accountsOf(ctx, c, at, rows)
	if err != nil {
		return listInvestmentsOutput{}, err
	}
	shown, err := s.showInvestments(ctx, c, at, rows, accounts, in.Expansion())
	return listInvestmentsOutput{Investments: shown, Worth: wire.NewWorth(together(rows, accounts)), Listing: listing}, err
}

// together returns the total value of the positions that are not deleted. The total is empty when
// their accounts have several currencies.
func together(rows []passerelle.Asset[passerelle.InvestmentDetails], accounts map[passerelle.AccountID]passerelle.BankAccount) passerelle.Worth {
	rows = slices.DeleteFunc(slices.Clone(rows), func(a passerelle.Asset[passerelle.InvestmentDetails]) bool { return a.Deleted != nil })
	for _, a := range rows {
		if accounts[a.Account].Currency != accounts[rows[0].Account].Currency {
			return passerelle.Worth{}
		}
	}
	return passerelle.TotalWorth(rows)
}

// accountsOf returns the accounts of positions.
func (s *Service) accountsOf(ctx context.Context, c *httpapi.Caller, at settled, rows []passerelle.Asset[passerelle.InvestmentDetails]) (map[passerelle.AccountID]passerelle.BankAccount, error) {
	ids := accountsIn(rows)
	found, err := bankstore.From(s.DB).BankAccounts(ctx, bankstore.AccountFilter{Domain: c.Domain.ID, User: at.user, IDs: ids, All: true}, store.Window{Limit: len(ids)})
	if err != nil {
		return nil, fmt.Errorf("load the accounts of %d investments: %w", len(rows), err)
	}
	accounts := map[passerelle.AccountID]passerelle.BankAccount{}
	for _, a := range found {
		accounts[a.ID] = a.BankAccount
	}
	return accounts, nil
}

// showInvestments renders positions with the requested expansions.
func (s *Service) showInvestments(ctx context.Context, c *httpapi.Caller, at settled, rows []passerelle.Asset[passerelle.InvestmentDetails], accounts map[passerelle.AccountID]passerelle.BankAccount, asked httpapi.Expansion) ([]wire.Investment, error) {
	shown := make([]wire.Investment, len(rows))
	place := map[passerelle.AssetID]*[]wire.Pocket{}
	for i, a := range rows {
		shown[i] = wire.NewInvestment(a, accounts[a.Account], c.Location)
		if asked.Has("details") {
			shown[i].Details = wire.NewInvestmentDetails(a.Details)
		}
		if asked.Has("pockets") {
			place[a.ID] = &[]wire.Pocket{}
			shown[i].Pockets = place[a.ID]
		}
	}
	if len(place) == 0 {
		return shown, nil
	}
	filter := at.assets(c, bankstore.Pockets, false)
	if len(rows) == 1 {
		filter.Investment = rows[0].ID // the account may have very many pockets of other positions
	}
	parts, err := readBelow[passerelle.PocketDetails](ctx, s, filter, accountsIn(rows))
	if err != nil {
		return nil, fmt.Errorf("list the pockets of %d investments: %w", len(rows), err)
	}
	for _, p := range parts {
		if of := place[p.Investment]; of != nil {
			*of = append(*of, wire.NewPocket(p, c.Location))
		}
	}
	return shown, nil
}

// accountsIn returns the ids of the accounts with these positions, each once.
func accountsIn(rows []passerelle.Asset[passerelle.InvestmentDetails]) []passerelle.AccountID {
	ids := []passerelle.AccountID{}
	for _, a := range rows {
		ids = append(ids, a.Account)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (s *Service) oneInvestment(ctx context.Context, c *httpapi.Caller, in oneAssetInput) (wire.Investment, error) {
	at, found, err := s.investment(ctx, c, in.whichAsset)
	if err != nil {
		return wire.Investment{}, err
	}
	rows := []passerelle.Asset[passerelle.InvestmentDetails]{found}
	accounts, err := s.accountsOf(ctx, c, at, rows)
	if err != nil {
		return wire.Investment{}, err
	}
	shown, err := s.showInvestments(ctx, c, at, rows, accounts, in.Expansion())
	if err != nil {
		return wire.Investment{}, err
	}
	return shown[0], nil
}

func (s *Service) investment(ctx context.Context, c *httpapi.Caller, in whichAsset) (settled, passerelle.Asset[passerelle.InvestmentDetails], error) {
	var (
		at    settled
		found passerelle.Asset[passerelle.InvestmentDetails]
		err   error
	)
	if at, err = s.open(ctx, c, in.place(), in.WithDisabled); err != nil {
		return at, found, err
	}
	found, err = readAsset[passerelle.InvestmentDetails](ctx, s, at.assets(c, bankstore.Investments, in.WithDisabled), in.ID)
	return at, found, err
}

type investmentHistoryInput struct {
	whichAsset
	httpapi.Paging
}

type investmentHistoryOutput struct {
	Values []wire.InvestmentValue `json:"investmentvalues"`
	httpapi.Listing
}

func (s *Service) investmentHistory(ctx context.Context, c *httpapi.Caller, in investmentHistoryInput) (investmentHistoryOutput, error) {
	_, found, err := s.investment(ctx, c, in.whichAsset)
	if err != nil {
		return investmentHistoryOutput{}, err
	}
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging,
		func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]passerelle.InvestmentValue, error) {
			return bankstore.From(r).InvestmentValues(ctx, c.Domain.ID, found.ID, w.OfRows())
		},
		func(v passerelle.InvestmentValue) httpapi.Position { return httpapi.Position{v.Date.String(), v.ID} },
		func(ctx context.Context, r *store.Reader) (int64, error) {
			return bankstore.From(r).CountInvestmentValues(ctx, c.Domain.ID, found.ID)
		})
	out := investmentHistoryOutput{Values: make([]wire.InvestmentValue, len(rows)), Listing: listing}
	for i, v := range rows {
		out.Values[i] = wire.NewInvestmentValue(v)
	}
	return out, err
}

func (s *Service) indicators(_ context.Context, c *httpapi.Caller, in oneUserInput) (wire.Indicators, error) {
	user, err := in.theirs(c)
	return wire.Indicators{IDUser: int64(user)}, err
}
