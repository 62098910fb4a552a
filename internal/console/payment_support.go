package console

import (
	"encoding/json"
	"fmt"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/web"
	"passerelle/payment"
)

// support is the data of a payment that an operator may send to support. It has only the fields
// below. It contains no name of a person, no label, account number or address, and no message of a
// bank. The only texts of the application are the references of the instructions.
type support struct {
	Domain       passerelle.DomainKind `json:"domain_kind"`
	Written      string                `json:"written"`
	Payment      supportPayment        `json:"payment"`
	Instructions []supportLine         `json:"instructions"`
	Timeline     []timelineRow         `json:"timeline"`
	Objections   []objection           `json:"incompatibilities"`
}

type supportPayment struct {
	ID            passerelle.PaymentID `json:"id"`
	Version       int64                `json:"version"`
	Client        passerelle.ClientID  `json:"id_client"`
	State         payment.State        `json:"state"`
	Detail        payment.Detail       `json:"state_detail,omitempty"`
	Action        payment.Action       `json:"action,omitempty"`
	ErrorCode     payment.ErrorCode    `json:"error_code,omitempty"`
	Registered    string               `json:"registered"`
	Connector     string               `json:"connector,omitempty"`
	ConnectorUUID string               `json:"connector_uuid,omitempty"`
	Mechanism     string               `json:"validate_mechanism,omitempty"`
	BankPaymentID string               `json:"bank_payment_id,omitempty"`
	Total         json.Number          `json:"amount"`
	Currency      passerelle.Currency  `json:"currency"`
	DateType      payment.DateType     `json:"execution_date_type"`
}

type supportLine struct {
	Reference string                   `json:"reference_id"`
	Amount    json.Number              `json:"amount"`
	Scheme    passerelle.AccountScheme `json:"scheme_name"`
	Country   string                   `json:"country,omitempty"`
	State     payment.InstructionState `json:"state,omitempty"`
	ErrorCode payment.ErrorCode        `json:"error_code,omitempty"`
	Identity  bool                     `json:"has_identity"`
}

// supportFile sends the data for support as a file.
func (c *Console) supportFile(pc *page.Context) error {
	p, err := c.load(pc, false)
	if err != nil {
		return err
	}
	file := support{Domain: pc.Domain.Kind, Written: pc.Time(pc.Now()), Payment: c.supportPayment(pc, p)}
	if file.Timeline, err = c.timeline(pc, p, false); err != nil {
		return err
	}
	if file.Objections, err = c.objections(pc, p); err != nil {
		return err
	}
	for i := range p.Instructions {
		in := &p.Instructions[i]
		file.Instructions = append(file.Instructions, supportLine{
			Reference: in.ReferenceID, Amount: json.Number(in.Amount.Decimal()), Scheme: in.Beneficiary.Scheme, Country: in.Beneficiary.Country(),
			State: in.State, ErrorCode: in.ErrorCode, Identity: in.BeneficiaryIdentity != nil,
		})
	}
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return fmt.Errorf("write the support file of payment %d: %w", p.ID, err)
	}
	web.Download(pc.Writer, "application/json", fmt.Sprintf("payment-%d-support.json", p.ID))
	// An error only means that the reader has left.
	_, _ = pc.Writer.Write(text)
	return nil
}

func (c *Console) supportPayment(pc *page.Context, p *payment.Payment) supportPayment {
	total := passerelle.Money{Minor: p.Total(), Currency: p.Currency()}
	return supportPayment{
		ID: p.ID, Version: p.Version, Client: p.Client, State: p.State, Detail: p.Detail, Action: p.Action, ErrorCode: p.ErrorCode,
		Registered: pc.Time(p.Created), Connector: c.connectorName(p.Connector), ConnectorUUID: p.Connector, Mechanism: p.Mechanism, BankPaymentID: p.BankPaymentID,
		Total: json.Number(total.Decimal()), Currency: total.Currency, DateType: p.DateType(),
	}
}
