package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/httpapi"
	"passerelle/internal/initiation"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/payment"
)

func (s *Service) paymentRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodPost, Pattern: "/payments", Needs: createPayments, Endpoint: httpapi.Handle(s.createPayment),
			Summary: "Create a payment", Doc: "Creates a payment in state created. The payer then validates it in the webview, or your application validates it with the next call.",
		},
		{
			Method: http.MethodGet, Pattern: "/payments/{paymentId}", Needs: seePayments, Endpoint: httpapi.Handle(s.onePayment),
			Summary: "Read a payment", Doc: "Returns the payment. Read it when the payer returns; webhooks report every later change.",
		},
	}
}

type onePaymentInput struct {
	ID passerelle.PaymentID `path:"paymentId"`
}

type readPaymentInput struct {
	onePaymentInput
	httpapi.SensitiveInput
	httpapi.Expand[wire.Payment]
}

func (s *Service) onePayment(ctx context.Context, c *httpapi.Caller, in readPaymentInput) (wire.Payment, error) {
	p, err := s.reach(ctx, c, in.ID, in.ShowSensitive)
	if err != nil {
		return wire.Payment{}, err
	}
	shown := []wire.Payment{wire.NewPayment(p, s.view(c, in.SensitiveInput))}
	if in.Expansion().Has("evidence") {
		if shown[0].Evidence, err = s.evidence(ctx, c, p.ID); err != nil {
			return wire.Payment{}, err
		}
	}
	err = s.expand(ctx, c, []store.Listed{{Payment: p}}, shown, in.Expansion())
	return shown[0], err
}

// evidence returns the pages that the payer saw. Lists omit the evidence, because it can be several
// times as long as the payment.
func (s *Service) evidence(ctx context.Context, c *httpapi.Caller, id passerelle.PaymentID) (*[]wire.Evidence, error) {
	kept, err := s.DB.Evidence(ctx, c.Domain.ID, id)
	if err != nil {
		return nil, fmt.Errorf("load the evidence of payment %d: %w", id, err)
	}
	all := make([]wire.Evidence, len(kept))
	for i, e := range kept {
		all[i] = wire.NewEvidence(e, c.Location)
	}
	return &all, nil
}

// expand embeds the requested transitions and timelines in payments. It makes one query for all
// payments.
func (s *Service) expand(ctx context.Context, c *httpapi.Caller, payments []store.Listed, shown []wire.Payment, asked httpapi.Expansion) error {
	if !asked.Has("transitions") && !asked.Has("timeline") {
		return nil
	}
	ids := make([]passerelle.PaymentID, len(payments))
	for i, p := range payments {
		ids[i] = p.ID
	}
	timelines, err := s.DB.Timeline(ctx, c.Domain.ID, ids, 0)
	if err != nil {
		return fmt.Errorf("load the timelines of %d payments: %w", len(ids), err)
	}
	for i, id := range ids {
		rows := timeline(timelines[id], c.Location)
		if asked.Has("transitions") {
			shown[i].Transitions = &rows
		}
		if asked.Has("timeline") {
			shown[i].Timeline = wire.NewTimeline(payments[i].Payment, rows)
		}
	}
	return nil
}

func timeline(happened []store.TimelineRow, zone *time.Location) []wire.TimelineRow {
	rows := make([]wire.TimelineRow, len(happened))
	for i, one := range happened {
		if one.Transition != nil {
			rows[i] = wire.NewTransition(*one.Transition, zone)
		} else {
			rows[i] = wire.NewNote(*one.Note, zone)
		}
	}
	return rows
}

// reach loads a payment that the caller's token may access. A token for another payment gets the
// same error as for an unknown payment.
func (s *Service) reach(ctx context.Context, c *httpapi.Caller, id passerelle.PaymentID, sensitive bool) (*payment.Payment, error) {
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

// view decides which fields of payments the caller sees. A token for one payment, such as the token
// in a payer's link, shows the payer's own data. Such a token shows other people's data only with
// the scope for sensitive data.
func (s *Service) view(c *httpapi.Caller, sensitive httpapi.SensitiveInput) wire.View {
	return wire.View{
		Location: c.Location, Sensitive: sensitive.ShowSensitive, ConnectorID: s.Initiation.ConnectorID,
		PayerAlone: c.Payment != 0 && !c.Scopes.Has(passerelle.ScopePaymentsSensitive),
	}
}

type accountInput struct {
	SchemeName     passerelle.AccountScheme `body:"scheme_name,required"`
	Identification string                   `body:"identification,required" doc:"account number in the given scheme" example:"FR7630006000011234567890189"`
	Label          string                   `body:"label,required" max:"140" doc:"display name"`
	Issuer         string                   `body:"issuer" doc:"BIC, for scheme iban"`
}

func (in *accountInput) account() *passerelle.Account {
	if in == nil {
		return nil
	}
	return &passerelle.Account{Scheme: in.SchemeName, Identification: in.Identification, Label: in.Label, Issuer: in.Issuer}
}

type instructionInput struct {
	ReferenceID         string            `body:"reference_id" max:"31" doc:"end-to-end identifier; when omitted, which is recommended, the service generates one of the right length"`
	Amount              httpapi.Number    `body:"amount,required" doc:"at most 999999999.99" example:"12.50"`
	Currency            string            `body:"currency,required" doc:"ISO 4217 code" example:"EUR"`
	Label               string            `body:"label,required" max:"500" doc:"at most 140 characters, or more if the chosen connector accepts more" example:"Invoice 42"`
	ExecutionDateType   payment.DateType  `body:"execution_date_type,required"`
	ExecutionDate       string            `body:"execution_date" doc:"YYYY-MM-DD in UTC; only for deferred"`
	StartDate           string            `body:"start_date" doc:"YYYY-MM-DD; only for periodic"`
	EndDate             string            `body:"end_date" doc:"YYYY-MM-DD; only for periodic; when omitted, payments continue until stopped"`
	Frequency           payment.Frequency `body:"frequency" doc:"only for periodic"`
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

// connectorInput names a connector by its UUID or its deprecated number.
type connectorInput struct {
	IDConnector   *int64 `body:"id_connector" doc:"deprecated, see connector_uuid"`
	ConnectorUUID string `body:"connector_uuid" doc:"connector to use; must support the payment; when omitted, an earlier choice is kept"`
}

func (in connectorInput) byNumber() bool { return in.ConnectorUUID == "" && in.IDConnector != nil }

// connector returns the connector that the caller names, or an empty text. It fails when the number
// contradicts the UUID.
func (in connectorInput) connector(agreed func(...passerelle.NamedConnector) (passerelle.NamedConnector, error)) (string, error) {
	number := ""
	if in.IDConnector != nil {
		number = strconv.FormatInt(*in.IDConnector, 10)
	}
	named, err := agreed(passerelle.NamedConnector{Field: "connector_uuid", Name: in.ConnectorUUID}, passerelle.NamedConnector{Field: "id_connector", Name: number})
	return named.Name, err
}

// blame returns err. If the caller named the connector by its number, blame changes an error about
// connector_uuid into an error about id_connector.
func (in connectorInput) blame(err error) error {
	const field = "connector_uuid"
	var reported *passerelle.Error
	if !in.byNumber() || !errors.As(err, &reported) || reported.Field != field {
		return err
	}
	return passerelle.InvalidField("id_connector", "%s", strings.TrimPrefix(reported.Message, field+": "))
}

type createPaymentInput struct {
	httpapi.SensitiveInput
	connectorInput
	ClientRedirectURI string             `body:"client_redirect_uri,required" max:"2048" doc:"absolute URL without a query, which the payer returns to" example:"https://shop.example/back"`
	ClientState       string             `body:"client_state" max:"2000" doc:"returned as state"`
	Instructions      []instructionInput `body:"instructions,required" doc:"1 to 1000 instructions, all with the same currency and execution date type"`
	Payer             *accountInput      `body:"payer" doc:"the payer's account, when known"`
	PayerIdentity     *identityInput     `body:"payer_identity"`
	OperatorIdentity  *identityInput     `body:"operator_identity" doc:"who initiates the payment; never shown"`
}

func (s *Service) createPayment(ctx context.Context, c *httpapi.Caller, in createPaymentInput) (wire.Payment, error) {
	if c.Made != 0 {
		return s.onePayment(ctx, c, readPaymentInput{onePaymentInput: onePaymentInput{passerelle.PaymentID(c.Made)}, SensitiveInput: in.SensitiveInput})
	}
	draft, err := in.draft(s.Initiation.Connectors.Agreed)
	if err != nil {
		return wire.Payment{}, err
	}
	shown := func(p *payment.Payment) wire.Payment { return wire.NewPayment(p, s.view(c, in.SensitiveInput)) }
	p, err := s.Initiation.Create(ctx, c.Domain, initiation.Creation{
		By: c.Client, RedirectURIs: c.RedirectURIs, Settings: c.Settings, Draft: draft, Strict: c.Strict,
		Execution: c.Execution, Response: func(p *payment.Payment) ([]byte, error) { return c.KeepResponse(shown(p)) },
	})
	if err != nil {
		return wire.Payment{}, in.blame(err)
	}
	return shown(p), nil
}

func (in createPaymentInput) draft(agreed func(...passerelle.NamedConnector) (passerelle.NamedConnector, error)) (payment.Draft, error) {
	named, err := in.connector(agreed)
	d := payment.Draft{Connector: named, ClientRedirectURI: in.ClientRedirectURI, ClientState: in.ClientState, Payer: in.Payer.account()}
	if err != nil {
		return d, err
	}
	for i, line := range in.Instructions {
		instruction, err := line.instruction(fmt.Sprintf("instructions[%d]", i))
		if err != nil {
			return d, err
		}
		d.Instructions = append(d.Instructions, instruction)
	}
	if d.PayerIdentity, err = in.PayerIdentity.identity("payer_identity"); err != nil {
		return d, err
	}
	d.OperatorIdentity, err = in.OperatorIdentity.identity("operator_identity")
	return d, err
}
