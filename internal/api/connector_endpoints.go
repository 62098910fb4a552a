package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/api/banking"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

func (s *Service) connectorRoutes() []httpapi.Route {
	const one = "/connectors/{connectorId}"
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/connectors", Needs: offered, Endpoint: httpapi.Handle(s.listConnectors),
			Summary: "List connectors", Doc: "Lists all connectors, which read data or initiate payments. Hidden connectors are marked.",
		},
		{
			Method: http.MethodGet, Pattern: one, Needs: httpapi.Public, Endpoint: httpapi.Handle(s.oneConnector),
			Summary: "Read a connector", Doc: "Returns a connector, by its uuid or its deprecated number.",
		},
		{
			Method: http.MethodGet, Pattern: one + "/fields", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.listFields),
			Summary: "List the fields of a connector", Doc: "Lists the fields that an end user fills in to connect.",
		},
		{
			Method: http.MethodGet, Pattern: one + "/sources", Aliases: []string{"/banks/{connectorId}/sources", "/providers/{connectorId}/sources"}, Needs: httpapi.Public, Endpoint: httpapi.Handle(s.listSources),
			Summary: "List the sources of a connector", Doc: "Lists the access channels to the institution. With all, also lists disabled ones.",
		},
		{
			Method: http.MethodGet, Pattern: one + "/sources/{sourceId}", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.oneSource),
			Summary: "Read a source of a connector", Doc: "Add all to read a disabled source.",
		},
		{
			Method: http.MethodGet, Pattern: "/banks", Needs: offered, Endpoint: httpapi.Handle(s.listBanks),
			Summary: "List connectors that read bank accounts", Doc: "Deprecated, see /connectors.",
		},
		{
			Method: http.MethodGet, Pattern: "/banks/{connectorId}", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.oneBank),
			Summary: "Read a connector that reads bank accounts", Doc: "Deprecated, see /connectors.",
		},
		{
			Method: http.MethodGet, Pattern: "/banks/categories", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.bankCategories),
			Summary: "List the categories of connectors", Doc: "Lists the categories that connectors can have.",
		},
		{
			Method: http.MethodGet, Pattern: "/providers", Needs: offered, Endpoint: httpapi.Handle(s.listProvidersOfDocuments),
			Summary: "List connectors that read documents", Doc: "Deprecated, see /connectors.",
		},
		{
			Method: http.MethodGet, Pattern: "/providers/{connectorId}", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.oneProviderOfDocuments),
			Summary: "Read a connector that reads documents", Doc: "Deprecated, see /connectors.",
		},
		{
			Method: http.MethodGet, Pattern: one + "/connections", Aliases: []string{"/banks/{connectorId}/connections", "/providers/{connectorId}/connections"}, Needs: config, Endpoint: httpapi.Handle(s.someConnections),
			Summary: "List some connections of a connector", Doc: "Lists connections of any users, starting at a random one. Use it to investigate problems with an institution.",
		},
		{
			Method: http.MethodGet, Pattern: "/payments/{paymentId}/incompatibilities", Needs: seePayments, Endpoint: httpapi.Handle(s.incompatibilities),
			Summary: "List the incompatibilities of connectors",
			Doc:     "Returns an entry for each connector that does not fully support the payment. A connector without an entry is compatible. Add all to include hidden connectors.",
		},
	}
}

// The lists of connectors filter by these capabilities.
const (
	anything    = ""
	ofAccounts  = "bank"
	ofDocuments = "document"
)

// banks returns the connectors of the caller's domain that have a capability, in display order. The
// constant anything selects all connectors.
func (s *Service) banks(ctx context.Context, c *httpapi.Caller, capability string) ([]wire.Bank, error) {
	all, err := s.Aggregation.Banks(ctx, c.Domain)
	return slices.DeleteFunc(all, func(b wire.Bank) bool {
		return capability != anything && !slices.Contains(b.Capabilities, capability)
	}), err
}

type listConnectorsInput struct {
	httpapi.Paging
	httpapi.Expand[wire.Connector]
	CountryCodes string                `query:"country_codes" doc:"only connectors of one of these countries, ISO 3166-1 alpha-2 codes separated by commas"`
	IDPayment    *passerelle.PaymentID `query:"id_payment" min:"1" doc:"only connectors that support this payment; needs a token that can read it"`
	Top          *int64                `query:"top" min:"1" max:"1000" doc:"return only this many connectors, those used most in the last month, most used first; returns fewer when fewer were used"`
	TopKey       string                `query:"top_key" enum:"payments" doc:"what the ranking counts; only the latest 1,000 are counted"`
}

type listConnectorsOutput struct {
	Connectors []wire.Connector `json:"connectors"`
	httpapi.Listing
}

type listBanksOutput struct {
	Banks []wire.Connector `json:"banks"`
	httpapi.Listing
}

type listProvidersOfDocumentsOutput struct {
	Providers []wire.Connector `json:"providers"`
	httpapi.Listing
}

// placedBank contains a connector and its position in the list.
type placedBank struct {
	wire.Bank
	place int64
}

func (s *Service) listConnectors(ctx context.Context, c *httpapi.Caller, in listConnectorsInput) (listConnectorsOutput, error) {
	shown, listing, err := s.connectorPage(ctx, c, in, anything)
	return listConnectorsOutput{shown, listing}, err
}

func (s *Service) listBanks(ctx context.Context, c *httpapi.Caller, in listConnectorsInput) (listBanksOutput, error) {
	shown, listing, err := s.connectorPage(ctx, c, in, ofAccounts)
	return listBanksOutput{shown, listing}, err
}

func (s *Service) listProvidersOfDocuments(ctx context.Context, c *httpapi.Caller, in listConnectorsInput) (listProvidersOfDocumentsOutput, error) {
	shown, listing, err := s.connectorPage(ctx, c, in, ofDocuments)
	return listProvidersOfDocumentsOutput{shown, listing}, err
}

func (s *Service) connectorPage(ctx context.Context, c *httpapi.Caller, in listConnectorsInput, capability string) ([]wire.Connector, httpapi.Listing, error) {
	able, err := s.able(ctx, c, in, capability)
	if err != nil {
		return nil, httpapi.Listing{}, err
	}
	fetch := func(_ context.Context, _ *store.Reader, w httpapi.PageWindow) ([]placedBank, error) {
		return windowOf(able, func(b placedBank) int64 { return b.place }, w), nil
	}
	position := func(b placedBank) httpapi.Position { return httpapi.Position{b.place} }
	count := func(context.Context, *store.Reader) (int64, error) { return int64(len(able)), nil }
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging, fetch, position, count)
	shown := make([]wire.Connector, len(rows))
	for i, row := range rows {
		shown[i] = wire.NewConnector(row.Bank, banking.ConnectorView(in.Expansion()))
	}
	return shown, listing, err
}

// able returns the connectors that match the filters.
func (s *Service) able(ctx context.Context, c *httpapi.Caller, in listConnectorsInput, capability string) ([]placedBank, error) {
	countries, err := parseCountries("country_codes", in.CountryCodes)
	if err != nil {
		return nil, err
	}
	carriers, err := s.carriers(ctx, c, in.IDPayment)
	if err != nil {
		return nil, err
	}
	banks, err := s.banks(ctx, c, capability)
	if err != nil {
		return nil, err
	}
	banks, err = s.ranked(ctx, c, banks, in.Top)
	var able []placedBank
	for i, b := range banks {
		if (in.IDPayment == nil || carriers[b.UUID]) && ofCountries(b, countries) {
			able = append(able, placedBank{Bank: b, place: int64(i)})
		}
	}
	if in.Top != nil {
		able = able[:min(*in.Top, int64(len(able)))]
	}
	return able, err
}

// The most used connectors are the connectors with the most payments in the last usePeriod. At most
// useSample payments count, to limit the cost.
const (
	usePeriod = 30 * 24 * time.Hour
	useSample = 1000
)

// ranked returns the used connectors, the most used first, when top is set. Without top, ranked
// returns all connectors unchanged.
func (s *Service) ranked(ctx context.Context, c *httpapi.Caller, banks []wire.Bank, top *int64) ([]wire.Bank, error) {
	if top == nil {
		return banks, nil
	}
	used, err := s.DB.ConnectorUse(ctx, c.Domain.ID, c.Now.Add(-usePeriod), useSample)
	if err != nil {
		return nil, fmt.Errorf("count the payments of connectors: %w", err)
	}
	banks = slices.DeleteFunc(banks, func(b wire.Bank) bool { return used[b.UUID] == 0 })
	slices.SortStableFunc(banks, func(a, b wire.Bank) int { return cmp.Compare(used[b.UUID], used[a.UUID]) })
	return banks, nil
}

// carriers reports for each connector, by UUID, whether it can make the payment with this id. It
// returns nil when id is nil.
func (s *Service) carriers(ctx context.Context, c *httpapi.Caller, id *passerelle.PaymentID) (map[string]bool, error) {
	if id == nil {
		return nil, nil
	}
	p, err := s.reach(ctx, c, *id, false)
	if err != nil {
		return nil, err
	}
	return s.Initiation.Able(ctx, c.Domain, p)
}

// parseCountries parses country codes separated by commas. It returns nil for an empty list.
func parseCountries(field, list string) ([]string, error) {
	var codes []string
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		code, err := passerelle.ParseCountry(field, strings.ToUpper(word))
		if err != nil {
			return nil, err
		}
		codes = append(codes, code)
	}
	return codes, nil
}

// ofCountries reports whether a bank is in one of the countries. It returns true when codes is nil.
func ofCountries(b wire.Bank, codes []string) bool {
	here := func(code string) bool { return slices.Contains(b.Countries, code) }
	return codes == nil || slices.ContainsFunc(codes, here)
}

// windowOf returns one page of a list in memory. The list is ordered by place.
func windowOf[T any](all []T, place func(T) int64, w httpapi.PageWindow) []T {
	rows := slices.Clone(all)
	if w.Backward {
		slices.Reverse(rows)
	}
	if w.From != nil {
		from, _ := w.From[0].(int64) // position stored an int64, and this service sealed the cursor
		rows = slices.DeleteFunc(rows, func(one T) bool { return place(one) == from || (place(one) > from) == w.Backward })
	}
	rows = rows[min(w.Offset, int64(len(rows))):]
	return rows[:min(w.Limit, len(rows))]
}

// connectorPath contains the path parameter that names a connector.
type connectorPath struct {
	ID string `path:"connectorId"`
}

// bank returns a connector with this capability. The name is the connector's UUID or deprecated
// number.
func (s *Service) bank(ctx context.Context, c *httpapi.Caller, name, capability string) (wire.Bank, error) {
	banks, err := s.banks(ctx, c, capability)
	if err != nil {
		return wire.Bank{}, err
	}
	if i := slices.IndexFunc(banks, bankNamed(name)); i >= 0 {
		return banks[i], nil
	}
	return wire.Bank{}, passerelle.Missing()
}

// bankNamed returns a filter that selects the connector with this UUID or deprecated number.
func bankNamed(name string) func(wire.Bank) bool {
	return func(b wire.Bank) bool { return b.Named(name) }
}

type oneConnectorInput struct {
	connectorPath
	httpapi.Expand[wire.Connector]
}

func (s *Service) oneConnector(ctx context.Context, c *httpapi.Caller, in oneConnectorInput) (wire.Connector, error) {
	return s.connector(ctx, c, in, anything)
}

func (s *Service) oneBank(ctx context.Context, c *httpapi.Caller, in oneConnectorInput) (wire.Connector, error) {
	return s.connector(ctx, c, in, ofAccounts)
}

func (s *Service) oneProviderOfDocuments(ctx context.Context, c *httpapi.Caller, in oneConnectorInput) (wire.Connector, error) {
	return s.connector(ctx, c, in, ofDocuments)
}

func (s *Service) connector(ctx context.Context, c *httpapi.Caller, in oneConnectorInput, capability string) (wire.Connector, error) {
	b, err := s.bank(ctx, c, in.ID, capability)
	if err != nil {
		return wire.Connector{}, err
	}
	return wire.NewConnector(b, banking.ConnectorView(in.Expansion())), nil
}

type bankCategoriesOutput struct {
	Categories []wire.ConnectorCategory `json:"bank_category"`
}

func (s *Service) bankCategories(context.Context, *httpapi.Caller, httpapi.Nothing) (bankCategoriesOutput, error) {
	return bankCategoriesOutput{Categories: wire.ConnectorCategories()}, nil
}

type someConnectionsInput struct {
	connectorPath
	Range int64  `query:"range" min:"1" max:"100" default:"3" doc:"maximum number of connections"`
	Type  string `query:"type" max:"50" doc:"only connections in this state, such as wrongpass; null for connections without an error"`
}

type someConnectionsOutput struct {
	Connections []wire.Connection `json:"connections"`
	Total       int               `json:"total" doc:"number of connections returned"`
}

func (s *Service) someConnections(ctx context.Context, c *httpapi.Caller, in someConnectionsInput) (someConnectionsOutput, error) {
	state, err := in.state()
	if err != nil {
		return someConnectionsOutput{}, err
	}
	b, err := s.bank(ctx, c, in.ID, anything)
	if err != nil {
		return someConnectionsOutput{}, err
	}
	found, err := bankstore.From(s.DB).SomeConnections(ctx, c.Domain.ID, b.UUID, state, int(in.Range))
	out := someConnectionsOutput{Connections: make([]wire.Connection, len(found)), Total: len(found)}
	for i, one := range found {
		out.Connections[i] = s.Aggregation.Show(one, c.Location)
	}
	return out, err
}

// state returns the state to filter by. An empty state means healthy connections, and nil means all
// connections.
func (in someConnectionsInput) state() (*passerelle.ConnectionState, error) {
	state := passerelle.ConnectionState(in.Type)
	switch {
	case in.Type == "":
		return nil, nil
	case in.Type == "null":
		state = ""
	case !state.Known():
		return nil, passerelle.InvalidField("type", "must be null or a connection state, such as %s", passerelle.Wrongpass)
	}
	return &state, nil
}

type listFieldsOutput struct {
	Fields []wire.ConnectorField `json:"fields"`
	Total  int                   `json:"total"`
}

func (s *Service) listFields(ctx context.Context, c *httpapi.Caller, in connectorPath) (listFieldsOutput, error) {
	b, err := s.bank(ctx, c, in.ID, anything)
	if err != nil {
		return listFieldsOutput{}, err
	}
	return listFieldsOutput{Fields: append([]wire.ConnectorField{}, b.ConnectionFields...), Total: len(b.ConnectionFields)}, nil
}

type listSourcesOutput struct {
	Sources []wire.ConnectorSource `json:"sources"`
	Total   int                    `json:"total"`
}

type listSourcesInput struct {
	connectorPath
	httpapi.All
}

func (s *Service) listSources(ctx context.Context, c *httpapi.Caller, in listSourcesInput) (listSourcesOutput, error) {
	b, err := s.bank(ctx, c, in.ID, anything)
	if err != nil {
		return listSourcesOutput{}, err
	}
	sources := wire.NewConnectorSources(b, in.WithDisabled)
	return listSourcesOutput{Sources: sources, Total: len(sources)}, nil
}

type oneSourceInput struct {
	connectorPath
	Source int64 `path:"sourceId"`
}

type readSourceInput struct {
	oneSourceInput
	httpapi.All
}

func (s *Service) oneSource(ctx context.Context, c *httpapi.Caller, in readSourceInput) (wire.ConnectorSource, error) {
	b, err := s.bank(ctx, c, in.ID, anything)
	if err != nil {
		return wire.ConnectorSource{}, err
	}
	for _, one := range wire.NewConnectorSources(b, in.WithDisabled) {
		if one.ID == in.Source {
			return one, nil
		}
	}
	return wire.ConnectorSource{}, passerelle.Missing()
}

type incompatibilitiesInput struct {
	onePaymentInput
	WithHidden bool `query:"all" doc:"include hidden connectors"`
}

// incompatibilities lists the connectors that cannot make the payment or have a warning about it,
// with the reasons. Hidden connectors are listed only on request.
func (s *Service) incompatibilities(ctx context.Context, c *httpapi.Caller, in incompatibilitiesInput) ([]wire.Incompatibility, error) {
	p, err := s.reach(ctx, c, in.ID, false)
	if err != nil {
		return nil, err
	}
	list, err := s.Initiation.Compatibility(ctx, c.Domain, p, in.WithHidden)
	out := make([]wire.Incompatibility, len(list))
	for i, one := range list {
		out[i] = wire.NewIncompatibility(one.Profile.UUID, one.Profile.ID, one.Severity, one.Reasons)
	}
	return out, err
}
