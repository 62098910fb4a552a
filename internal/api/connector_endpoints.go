package api

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/protocol"
	"passerelle/internal/wire"
	"passerelle/payment"
)

// banks are the connectors that initiate payments in the caller's domain, in
// the order they are shown.
func (s *Service) banks(c *protocol.Caller) []wire.Bank {
	profiles := s.Initiation.Initiators(c.Domain)
	all := make([]wire.Bank, len(profiles))
	for i, p := range profiles {
		all[i] = aggregation.Bank(p)
	}
	return all
}

// connectorView shows in a connector what was asked for.
func connectorView(asked protocol.Expansion) wire.ConnectorView {
	return wire.ConnectorView{PaymentFields: asked.Has("payment_fields"), Countries: asked.Has("countries"), Sources: asked.Has("sources")}
}

type listConnectorsInput struct {
	protocol.Page
	protocol.Expand `names:"payment_fields,countries,sources"`
	CountryCodes    string                `query:"country_codes" doc:"only connectors of one of these countries, ISO 3166-1 alpha-2 codes separated by commas"`
	IDPayment       *passerelle.PaymentID `query:"id_payment" min:"1" doc:"only connectors that can carry this payment; needs a token that reaches it"`
}

type listConnectorsOutput struct {
	Connectors []wire.Connector `json:"connectors"`
	protocol.Listing
}

// placedBank is a connector with its place in the order.
type placedBank struct {
	wire.Bank
	place int64
}

func (s *Service) listConnectors(ctx context.Context, c *protocol.Caller, in listConnectorsInput) (listConnectorsOutput, error) {
	able, err := s.able(ctx, c, in)
	if err != nil {
		return listConnectorsOutput{}, err
	}
	fetch := func(_ context.Context, w protocol.Window) ([]placedBank, error) { return windowOf(able, w), nil }
	position := func(b placedBank) protocol.Position { return protocol.Position{b.place} }
	count := func(context.Context) (int64, error) { return int64(len(able)), nil }
	rows, listing, err := protocol.Turn(ctx, in.Page, fetch, position, count)
	out := listConnectorsOutput{Connectors: make([]wire.Connector, len(rows)), Listing: listing}
	for i, row := range rows {
		out.Connectors[i] = wire.NewConnector(row.Bank, connectorView(in.Expansion()))
	}
	return out, err
}

// able are the connectors that the filters leave.
func (s *Service) able(ctx context.Context, c *protocol.Caller, in listConnectorsInput) ([]placedBank, error) {
	countries, err := parseCountries("country_codes", in.CountryCodes)
	if err != nil {
		return nil, err
	}
	excluded, err := s.excluded(ctx, c, in.IDPayment)
	if err != nil {
		return nil, err
	}
	var able []placedBank
	for i, b := range s.banks(c) {
		if ofCountries(b, countries) && !excluded[b.UUID] {
			able = append(able, placedBank{Bank: b, place: int64(i)})
		}
	}
	return able, nil
}

// excluded are the connectors that cannot carry a payment; none for no payment.
func (s *Service) excluded(ctx context.Context, c *protocol.Caller, id *passerelle.PaymentID) (map[string]bool, error) {
	if id == nil {
		return nil, nil
	}
	p, err := s.reach(ctx, c, *id, false)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, one := range s.Initiation.Compatibility(c.Domain, p, true) {
		out[one.Profile.UUID] = !payment.Eligible(one.Reasons)
	}
	return out, nil
}

// parseCountries reads country codes separated by commas; none is nil.
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

// ofCountries reports whether a bank is in one of the countries; any will do
// when there are none.
func ofCountries(b wire.Bank, codes []string) bool {
	here := func(code string) bool { return slices.Contains(b.Countries, code) }
	return codes == nil || slices.ContainsFunc(codes, here)
}

// windowOf reads a window of a list that is in memory.
func windowOf(all []placedBank, w protocol.Window) []placedBank {
	rows := slices.Clone(all)
	if w.Backward {
		slices.Reverse(rows)
	}
	if w.From != nil {
		from, _ := w.From[0].(int64) // as position made it, under our seal
		rows = slices.DeleteFunc(rows, func(b placedBank) bool { return b.place == from || (b.place > from) == w.Backward })
	}
	rows = rows[min(w.Offset, int64(len(rows))):]
	return rows[:min(w.Limit, len(rows))]
}

// connectorPath names a connector in the path.
type connectorPath struct {
	ID string `path:"connectorId"`
}

// bank is the connector of a uuid or of a deprecated number.
func (s *Service) bank(c *protocol.Caller, name string) (wire.Bank, error) {
	for _, b := range s.banks(c) {
		if b.UUID == name || strconv.FormatInt(b.ID, 10) == name {
			return b, nil
		}
	}
	return wire.Bank{}, passerelle.Missing()
}

type oneConnectorInput struct {
	connectorPath
	protocol.Expand `names:"payment_fields,countries,sources"`
}

func (s *Service) oneConnector(_ context.Context, c *protocol.Caller, in oneConnectorInput) (wire.Connector, error) {
	b, err := s.bank(c, in.ID)
	if err != nil {
		return wire.Connector{}, err
	}
	return wire.NewConnector(b, connectorView(in.Expansion())), nil
}

type listSourcesOutput struct {
	Sources []wire.ConnectorSource `json:"sources"`
	Total   int                    `json:"total"`
}

func (s *Service) listSources(_ context.Context, c *protocol.Caller, in connectorPath) (listSourcesOutput, error) {
	b, err := s.bank(c, in.ID)
	if err != nil {
		return listSourcesOutput{}, err
	}
	sources := wire.NewConnectorSources(b)
	return listSourcesOutput{Sources: sources, Total: len(sources)}, nil
}

type oneSourceInput struct {
	connectorPath
	Source int64 `path:"sourceId"`
}

func (s *Service) oneSource(_ context.Context, c *protocol.Caller, in oneSourceInput) (wire.ConnectorSource, error) {
	b, err := s.bank(c, in.ID)
	if err != nil {
		return wire.ConnectorSource{}, err
	}
	for _, one := range wire.NewConnectorSources(b) {
		if one.ID == in.Source {
			return one, nil
		}
	}
	return wire.ConnectorSource{}, passerelle.Missing()
}

type incompatibilitiesInput struct {
	onePaymentInput
	WithHidden bool `query:"all" doc:"hidden connectors, too"`
}

// incompatibilities lists the connectors that have a reason, hidden ones only
// if all are asked for.
func (s *Service) incompatibilities(ctx context.Context, c *protocol.Caller, in incompatibilitiesInput) ([]wire.Incompatibility, error) {
	p, err := s.reach(ctx, c, in.ID, false)
	if err != nil {
		return nil, err
	}
	list := s.Initiation.Compatibility(c.Domain, p, in.WithHidden)
	out := make([]wire.Incompatibility, len(list))
	for i, one := range list {
		out[i] = wire.NewIncompatibility(one.Profile.UUID, one.Profile.ID, one.Reasons)
	}
	return out, nil
}
