package api

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/initiation"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/payment"
)

type onePaymentInput struct {
	ID passerelle.PaymentID `path:"paymentId"`
}

type readPaymentInput struct {
	onePaymentInput
	Sensitive
}

func (s *Service) onePayment(ctx context.Context, c *Caller, in readPaymentInput) (wire.Payment, error) {
	p, err := s.reach(ctx, c, in.ID, in.ShowSensitive)
	if err != nil {
		return wire.Payment{}, err
	}
	return wire.NewPayment(p, s.view(c, in.Sensitive)), nil
}

// reach loads a payment that the caller's token reaches. A token bound to
// another payment sees no difference to one that does not exist.
func (s *Service) reach(ctx context.Context, c *Caller, id passerelle.PaymentID, sensitive bool) (*payment.Payment, error) {
	if c.Payment != 0 && c.Payment != id {
		return nil, passerelle.Missing()
	}
	p, err := s.DB.Payment(ctx, c.Domain.ID, id, sensitive)
	if errors.Is(err, store.ErrNotFound) {
		return nil, passerelle.Missing()
	}
	if err != nil {
		return nil, fmt.Errorf("load payment %d: %w", id, err)
	}
	return p, nil
}

func (s *Service) view(c *Caller, sensitive Sensitive) wire.View {
	return wire.View{Location: c.Location, Sensitive: sensitive.ShowSensitive, ConnectorID: s.Initiation.ConnectorID}
}

type listPaymentsInput struct {
	Page
	DateRange `max:"exclusive"`
	Sensitive
	Filter  string        `query:"filter" enum:"register_date,validate_date" default:"register_date" doc:"the date that min_date and max_date bound"`
	State   payment.State `query:"state" doc:"only payments in this state"`
	OrderBy string        `query:"order_by" enum:"id,register_date,state,amount" default:"register_date"`
	Reverse bool          `query:"reverse" doc:"turn the order"`
}

type listPaymentsOutput struct {
	Payments []wire.Payment `json:"payments"`
	Listing
}

func (s *Service) listPayments(ctx context.Context, c *Caller, in listPaymentsInput) (listPaymentsOutput, error) {
	filter := store.PaymentFilter{
		Domain: c.Domain.ID, Only: c.Payment, State: string(in.State),
		DateField: in.Filter, From: in.From(), Until: in.Until(),
	}
	fetch := func(ctx context.Context, w Window) ([]store.Listed, error) {
		return s.DB.Payments(ctx, filter, store.Window{
			Order: in.OrderBy, Descending: in.Reverse, Limit: w.Limit, Offset: w.Offset, From: w.From, Backward: w.Backward,
		}, in.ShowSensitive)
	}
	position := func(p store.Listed) Position { return p.Place }
	count := func(ctx context.Context) (int64, error) { return s.DB.CountPayments(ctx, filter) }
	rows, listing, err := Turn(ctx, in.Page, fetch, position, count)
	out := listPaymentsOutput{Payments: make([]wire.Payment, len(rows)), Listing: listing}
	for i, row := range rows {
		out.Payments[i] = wire.NewPayment(row.Payment, s.view(c, in.Sensitive))
	}
	return out, err
}

type accountInput struct {
	SchemeName     passerelle.AccountScheme `body:"scheme_name,required"`
	Identification string                   `body:"identification,required" doc:"account number of the given scheme" example:"FR7630006000011234567890189"`
	Label          string                   `body:"label,required" doc:"display name"`
	Issuer         string                   `body:"issuer" doc:"BIC, when the scheme is iban"`
}

func (in *accountInput) account() *passerelle.Account {
	if in == nil {
		return nil
	}
	return &passerelle.Account{Scheme: in.SchemeName, Identification: in.Identification, Label: in.Label, Issuer: in.Issuer}
}

type instructionInput struct {
	ReferenceID         string            `body:"reference_id" doc:"end-to-end identifier, at most 31 characters; better left out, so that one of the right length is made"`
	Amount              Number            `body:"amount,required" doc:"at most 999999999.99" example:"12.50"`
	Currency            string            `body:"currency,required" doc:"ISO 4217 code" example:"EUR"`
	Label               string            `body:"label,required" example:"Invoice 42"`
	ExecutionDateType   payment.DateType  `body:"execution_date_type,required"`
	ExecutionDate       string            `body:"execution_date" doc:"YYYY-MM-DD in UTC; for deferred alone"`
	StartDate           string            `body:"start_date" doc:"YYYY-MM-DD; for periodic alone"`
	EndDate             string            `body:"end_date" doc:"YYYY-MM-DD; for periodic alone; none means until stopped"`
	Frequency           payment.Frequency `body:"frequency" doc:"for periodic alone"`
	Beneficiary         accountInput      `body:"beneficiary,required"`
	BeneficiaryIdentity *identityInput    `body:"beneficiary_identity"`
}

func (in instructionInput) instruction(path string) (payment.Instruction, error) {
	out := payment.Instruction{
		ReferenceID: in.ReferenceID, Label: in.Label, DateType: in.ExecutionDateType, Frequency: in.Frequency,
		Beneficiary: *in.Beneficiary.account(),
	}
	currency, err := passerelle.ParseCurrency(path+".currency", in.Currency)
	if err != nil {
		return out, err
	}
	if out.Amount, err = passerelle.ParseMoney(path+".amount", string(in.Amount), currency); err != nil {
		return out, err
	}
	for _, day := range []struct {
		name, value string
		to          *passerelle.Date
	}{{"execution_date", in.ExecutionDate, &out.ExecutionDate}, {"start_date", in.StartDate, &out.StartDate}, {"end_date", in.EndDate, &out.EndDate}} {
		if *day.to, err = optionalDate(path+"."+day.name, day.value); err != nil {
			return out, err
		}
	}
	out.BeneficiaryIdentity, err = in.BeneficiaryIdentity.identity(path + ".beneficiary_identity")
	return out, err
}

func optionalDate(field, value string) (passerelle.Date, error) {
	if value == "" {
		return passerelle.Date{}, nil
	}
	return passerelle.ParseDate(field, value)
}

// connectorInput names a connector; the UUID wins over the deprecated number.
type connectorInput struct {
	IDConnector   *int64 `body:"id_connector" doc:"deprecated, see connector_uuid"`
	ConnectorUUID string `body:"connector_uuid" doc:"connector to use; must be able to carry the payment; one chosen before is kept when omitted"`
}

func (in connectorInput) byNumber() bool { return in.ConnectorUUID == "" && in.IDConnector != nil }

func (in connectorInput) connector() string {
	if in.byNumber() {
		return strconv.FormatInt(*in.IDConnector, 10)
	}
	return in.ConnectorUUID
}

// blame makes an error about the connector name the field that came.
func (in connectorInput) blame(err error) error {
	const field = "connector_uuid"
	var told *passerelle.Error
	if !in.byNumber() || !errors.As(err, &told) || told.Field != field {
		return err
	}
	return passerelle.InvalidField("id_connector", "%s", strings.TrimPrefix(told.Message, field+": "))
}

type createPaymentInput struct {
	Sensitive
	connectorInput
	ClientRedirectURI string             `body:"client_redirect_uri,required" doc:"absolute URL without a query, where the payer returns to" example:"https://shop.example/back"`
	ClientState       string             `body:"client_state" doc:"comes back as state, at most 2000 characters"`
	Instructions      []instructionInput `body:"instructions,required" doc:"1 to 1000, of one currency and one execution date type"`
	Payer             *accountInput      `body:"payer" doc:"the payer's account, when known"`
	PayerIdentity     *identityInput     `body:"payer_identity"`
	OperatorIdentity  *identityInput     `body:"operator_identity" doc:"who initiates the payment; never shown"`
}

func (s *Service) createPayment(ctx context.Context, c *Caller, in createPaymentInput) (wire.Payment, error) {
	if c.Made != 0 {
		return s.onePayment(ctx, c, readPaymentInput{onePaymentInput{passerelle.PaymentID(c.Made)}, in.Sensitive})
	}
	draft, err := in.draft()
	if err != nil {
		return wire.Payment{}, err
	}
	p, err := s.Initiation.Create(ctx, c.Domain, initiation.Creation{By: c.Client, Draft: draft, Strict: c.Strict, Execution: c.Execution})
	if err != nil {
		return wire.Payment{}, in.blame(err)
	}
	return wire.NewPayment(p, s.view(c, in.Sensitive)), nil
}

func (in createPaymentInput) draft() (payment.Draft, error) {
	d := payment.Draft{
		Connector: in.connector(), ClientRedirectURI: in.ClientRedirectURI,
		ClientState: in.ClientState, Payer: in.Payer.account(),
	}
	for i, line := range in.Instructions {
		instruction, err := line.instruction(fmt.Sprintf("instructions[%d]", i))
		if err != nil {
			return d, err
		}
		d.Instructions = append(d.Instructions, instruction)
	}
	var err error
	if d.PayerIdentity, err = in.PayerIdentity.identity("payer_identity"); err != nil {
		return d, err
	}
	d.OperatorIdentity, err = in.OperatorIdentity.identity("operator_identity")
	return d, err
}

type validatePaymentInput struct {
	onePaymentInput
	Sensitive
	connectorInput
	ValidateMechanism string            `body:"validate_mechanism" doc:"webauth when omitted"`
	Fields            map[string]string `body:"fields" doc:"values of the connector's payment fields"`
	Website           *string           `body:"website" doc:"deprecated: the field website"`
	Payer             *accountInput     `body:"payer" doc:"for connectors that need the payer's account"`
	WebviewURL        string            `body:"webview_url,required" doc:"where the payer returns after an action; may have a query"`
	Validated         bool              `body:"validated" doc:"send the order now"`
}

func (s *Service) validatePayment(ctx context.Context, c *Caller, in validatePaymentInput) (wire.Payment, error) {
	if _, err := s.reach(ctx, c, in.ID, false); err != nil {
		return wire.Payment{}, err
	}
	_, err := s.Initiation.Validate(ctx, c.Domain, in.ID, initiation.Choice{
		Connector: in.connector(), Mechanism: in.ValidateMechanism, Fields: in.fields(),
		Payer: in.Payer.account(), WebviewURL: in.WebviewURL, Validated: in.Validated,
	})
	if err != nil {
		return wire.Payment{}, in.blame(err)
	}
	return s.onePayment(ctx, c, readPaymentInput{in.onePaymentInput, in.Sensitive})
}

func (in validatePaymentInput) fields() map[string]string {
	if in.Website == nil {
		return in.Fields
	}
	fields := map[string]string{"website": *in.Website}
	for name, value := range in.Fields {
		fields[name] = value
	}
	return fields
}
