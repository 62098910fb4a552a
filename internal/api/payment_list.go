package api

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/payment"
)

func (s *Service) paymentListRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/payments", Needs: seePayments, Endpoint: httpapi.Handle(s.listPayments),
			Summary: "List payments", Doc: "Lists payments, in the order of creation unless order_by names another. A token for one payment lists only that payment. A page with more than 101,000 instructions is refused; at most 100 payments are always accepted.",
		},
	}
}

type listPaymentsInput struct {
	httpapi.Paging
	httpapi.DateRange `max:"exclusive"`
	httpapi.SensitiveInput
	httpapi.Expand[wire.Payment] `without:"evidence"`
	Filter                       string                   `query:"filter" enum:"register_date,validate_date" default:"register_date" doc:"the date that min_date and max_date apply to"`
	ConnectorUUID                httpapi.Nullable[string] `query:"connector_uuid" doc:"only payments with this connector; null for payments without a connector"`
	IDConnector                  httpapi.Nullable[int64]  `query:"id_connector" doc:"deprecated, see connector_uuid; null for payments without a connector"`
	IDConnectorSource            *int64                   `query:"id_connector_source" doc:"only payments made through this source of their connector"`
	State                        payment.State            `query:"state" doc:"only payments in this state"`
	ErrorCode                    payment.ErrorCode        `query:"error_code" doc:"only payments rejected with this code"`
	BankPaymentID                string                   `query:"bank_payment_id" doc:"only payments with this bank identifier"`
	Website                      string                   `query:"website" doc:"only payments validated with this value of the field website"`
	PayerIdentification          string                   `query:"payer_identification" doc:"only payments from this account"`
	BeneficiaryIdentification    string                   `query:"beneficiary_identification" doc:"only payments with an instruction to this account"`
	ReferenceID                  string                   `query:"reference_id" doc:"only payments with an instruction that has this reference"`
	PayerEnd                     string                   `query:"payer_end" max:"4" doc:"only payments from an account whose number ends in these four characters"`
	BeneficiaryEnd               string                   `query:"beneficiary_end" max:"4" doc:"only payments with an instruction to an account whose number ends in these four characters"`
	Label                        string                   `query:"label" max:"200" doc:"only payments with an instruction whose label begins with this text, ignoring case; the list is then ordered by these labels and order_by is ignored"`
	IDClient                     *int64                   `query:"id_client" min:"1" doc:"only payments that this application created"`
	MinAmount                    httpapi.Number           `query:"min_amount" doc:"lowest total, in currencies with two decimals" example:"12.50"`
	MaxAmount                    httpapi.Number           `query:"max_amount" doc:"highest total, in currencies with two decimals" example:"12.50"`
	ExecutionDateType            payment.DateType         `query:"execution_date_type" doc:"only payments of this type"`
	Country                      string                   `query:"country" doc:"only payments with a connector of one of these countries, ISO 3166-1 alpha-2 codes separated by commas"`
	OrderBy                      string                   `query:"order_by" enum:"id,register_date,validate_date,state,connectors,amount,instruction_count,execution_date_type" default:"register_date" doc:"ascending, then by id; payments without a value always come last"`
	Reverse                      bool                     `query:"reverse" doc:"reverse the order"`
	ExactTotal                   bool                     `query:"exact_total" doc:"count all payments that match the filters, which is slow for many payments; otherwise the total of a filtered list stops at 1000"`
}

type listPaymentsOutput struct {
	Payments []wire.Payment `json:"payments"`
	httpapi.Listing
	TotalExceeded bool `json:"total_exceeded,omitempty" doc:"true when more payments match the filters than total says, which stops at 1000"`
}

// mostCounted is the largest number of matches that a list counts, unless the caller requests the
// exact total. The limit bounds the cost of a page. It equals the largest page size, because a
// page must not have more payments than the total says. The doc texts above name the number.
var mostCounted = httpapi.MaxLimit()

func (s *Service) listPayments(ctx context.Context, c *httpapi.Caller, in listPaymentsInput) (listPaymentsOutput, error) {
	filter, err := s.paymentFilter(c, in)
	if err != nil {
		return listPaymentsOutput{}, err
	}
	if in.Label != "" {
		in.OrderBy = "label"
	}
	fetch := func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]store.Listed, error) {
		return r.Payments(ctx, filter, store.Window{
			Order: in.OrderBy, Descending: in.Reverse, Limit: w.Limit, Offset: w.Offset, From: w.From, Backward: w.Backward,
		}, in.ShowSensitive)
	}
	position := func(p store.Listed) httpapi.Position { return p.Place }
	atMost := mostCounted + 1
	if in.ExactTotal {
		atMost = math.MaxInt
	}
	count := func(ctx context.Context, r *store.Reader) (int64, error) { return r.CountPayments(ctx, filter, atMost) }
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging, fetch, position, count)
	if err != nil {
		return listPaymentsOutput{}, err
	}
	instructions := 0
	for _, row := range rows {
		instructions += len(row.Instructions)
	}
	if err := httpapi.Reserve(ctx, instructions); err != nil {
		return listPaymentsOutput{}, err
	}
	out := listPaymentsOutput{Payments: make([]wire.Payment, len(rows)), Listing: listing}
	if !in.ExactTotal && !filter.Unfiltered() && listing.Total == int64(atMost) {
		out.Total, out.TotalExceeded = int64(mostCounted), true
	}
	for i, row := range rows {
		out.Payments[i] = wire.NewPayment(row.Payment, s.view(c, in.SensitiveInput))
	}
	return out, s.expand(ctx, c, rows, out.Payments, in.Expansion())
}

// paymentFilter returns a filter for the payments that match all parameters.
func (s *Service) paymentFilter(c *httpapi.Caller, in listPaymentsInput) (store.PaymentFilter, error) {
	filter := store.PaymentFilter{
		Domain: c.Domain.ID, Only: c.Payment, State: string(in.State), ErrorCode: string(in.ErrorCode), BankPaymentID: in.BankPaymentID,
		Website: in.Website, DateType: string(in.ExecutionDateType), Payer: in.PayerIdentification, Beneficiary: in.BeneficiaryIdentification,
		Reference: in.ReferenceID, DateField: in.Filter, From: in.From(), Until: in.Until(),
		NoConnector: in.ConnectorUUID.Null || in.IDConnector.Null,
		PayerEnd:    in.PayerEnd, BeneficiaryEnd: in.BeneficiaryEnd, LabelStart: in.Label,
	}
	if in.IDConnectorSource != nil {
		filter.Source = *in.IDConnectorSource
	}
	if in.IDClient != nil {
		filter.Client = passerelle.ClientID(*in.IDClient)
	}
	if err := checkEnds(in); err != nil {
		return filter, err
	}
	var err error
	if filter.Least, err = hundredths("min_amount", in.MinAmount); err != nil {
		return filter, err
	}
	if filter.Most, err = hundredths("max_amount", in.MaxAmount); err != nil {
		return filter, err
	}
	filter.Connectors, err = s.filteredConnectors(in)
	return filter, err
}

// checkEnds fails unless each supplied end of an account number has exactly four characters.
func checkEnds(in listPaymentsInput) error {
	for _, end := range []struct{ field, value string }{{"payer_end", in.PayerEnd}, {"beneficiary_end", in.BeneficiaryEnd}} {
		if end.value != "" && len(end.value) != 4 {
			return passerelle.InvalidField(end.field, "must be the last four characters of an account number")
		}
	}
	return nil
}

// hundredths returns the amount of a filter in hundredths, or zero when the filter is not set.
func hundredths(field string, amount httpapi.Number) (int64, error) {
	if amount == "" {
		return 0, nil
	}
	bound, err := passerelle.ParseMoney(field, string(amount), "EUR")
	if err == nil && bound.Minor <= 0 {
		err = passerelle.InvalidField(field, "must be more than zero")
	}
	return bound.Minor, err
}

// filteredConnectors returns the connectors that match all parameters about connectors. It returns
// nil without such a parameter, and an empty list when no connector matches.
func (s *Service) filteredConnectors(in listPaymentsInput) ([]string, error) {
	countries, err := parseCountries("country", in.Country)
	if err != nil {
		return nil, err
	}
	var left []string
	if in.ConnectorUUID.Value != "" {
		left = narrowed(left, []string{strings.ToLower(in.ConnectorUUID.Value)})
	}
	if in.IDConnector.Present && !in.IDConnector.Null {
		left = narrowed(left, s.numbered(in.IDConnector.Value))
	}
	if in.IDConnectorSource != nil {
		left = narrowed(left, s.Initiation.SourceUUIDs(*in.IDConnectorSource))
	}
	if countries != nil {
		left = narrowed(left, s.Initiation.ConnectorUUIDs(countries))
	}
	return left, nil
}

// numbered returns the UUID of the connector with a deprecated number, or an empty list.
func (s *Service) numbered(id int64) []string {
	for _, one := range s.Initiation.Connectors.Initiators() {
		if p := one.Profile(); p.ID == id {
			return []string{p.UUID}
		}
	}
	return []string{}
}

// narrowed returns the elements that are in both sets. A nil set contains everything.
func narrowed(set, to []string) []string {
	if set == nil {
		return to
	}
	return slices.DeleteFunc(set, func(one string) bool { return !slices.Contains(to, one) })
}
