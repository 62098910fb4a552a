package wire

import (
	"encoding/json"
	"time"

	"passerelle"
	"passerelle/payment"
)

// View decides what a caller sees of a resource.
type View struct {
	// Location is the time zone of dates with a time.
	Location *time.Location
	// Sensitive shows the sensitive identity fields, if they were loaded. PayerAlone restricts them
	// to the payer's fields.
	Sensitive, PayerAlone bool
	// ConnectorID returns the deprecated number of a connector.
	ConnectorID func(uuid string) (int64, bool)
}

// Payment is a payment in responses and webhooks.
type Payment struct {
	ID                int64                   `json:"id" doc:"payment id"`
	State             payment.State           `json:"state"`
	StateDetail       *payment.Detail         `json:"state_detail" doc:"cancelling while a cancellation waits for the payer"`
	Action            *payment.Action         `json:"action" doc:"what needs to be done next"`
	ErrorCode         *payment.ErrorCode      `json:"error_code" doc:"set with state rejected"`
	ErrorDescription  *string                 `json:"error_description"`
	Fields            map[string]PaymentField `json:"fields" doc:"fields to fill in for the action additionalInformationNeeded, by name"`
	ValidateURI       *string                 `json:"validate_uri" doc:"address to redirect the payer to"`
	IDConnector       *int64                  `json:"id_connector" doc:"deprecated, see connector_uuid"`
	ConnectorUUID     *string                 `json:"connector_uuid"`
	ValidateMechanism *string                 `json:"validate_mechanism"`
	RegisterDate      string                  `json:"register_date" doc:"YYYY-MM-DD HH:MM:SS in the domain's time zone"`
	ClientRedirectURI *string                 `json:"client_redirect_uri"`
	ClientState       *string                 `json:"client_state"`
	Payer             *Account                `json:"payer"`
	Instructions      []Instruction           `json:"instructions"`
	PayerIdentity     *Identity               `json:"payer_identity"`
	// Transitions are not sent to webhooks.
	Transitions *[]TimelineRow `json:"transitions,omitempty" expand:"true" doc:"all events of the payment, oldest first; with expand=transitions"`
	// Timeline is not sent to webhooks.
	Timeline *Timeline `json:"timeline,omitempty" expand:"true" doc:"all events of the payment, and its identifiers at the bank; with expand=timeline"`
	// Evidence is not sent to webhooks.
	Evidence *[]Evidence `json:"evidence,omitempty" expand:"true" doc:"what the payer saw on the service's pages each time they acted, oldest first; with expand=evidence, when reading one payment"`
}

// PaymentField describes a value that the payer enters.
type PaymentField struct {
	Name     string       `json:"name"`
	Type     string       `json:"type"`
	Label    string       `json:"label"`
	Regex    *string      `json:"regex"`
	Required bool         `json:"required"`
	Values   []FieldValue `json:"values"`
	// Image is absent when there is no picture.
	Image string `json:"image,omitempty" doc:"a picture that the payer needs in order to enter the value, as a data URL (PNG, JPEG or GIF)"`
}

// FieldValue is one choice of a list field.
type FieldValue struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// Account is the payer's account.
type Account struct {
	SchemeName     passerelle.AccountScheme `json:"scheme_name"`
	Identification string                   `json:"identification"`
	Label          string                   `json:"label"`
	Issuer         *string                  `json:"issuer"`
}

// Instruction is one transfer of a payment.
type Instruction struct {
	ReferenceID         string                    `json:"reference_id"`
	Amount              json.Number               `json:"amount"`
	Currency            Currency                  `json:"currency"`
	Label               string                    `json:"label"`
	ExecutionDateType   payment.DateType          `json:"execution_date_type"`
	ExecutionDate       *string                   `json:"execution_date"`
	ExecDate            *string                   `json:"exec_date" doc:"actual execution date"`
	StartDate           *string                   `json:"start_date"`
	EndDate             *string                   `json:"end_date"`
	Frequency           *payment.Frequency        `json:"frequency"`
	Beneficiary         Beneficiary               `json:"beneficiary"`
	BeneficiaryIdentity *Identity                 `json:"beneficiary_identity"`
	State               *payment.InstructionState `json:"state"`
	ErrorCode           *payment.ErrorCode        `json:"error_code"`
	ErrorDescription    *string                   `json:"error_description"`
}

// Beneficiary is the account that an instruction pays to.
type Beneficiary struct {
	ID                     int64                    `json:"id"`
	IDAccount              *int64                   `json:"id_account"`
	Label                  string                   `json:"label"`
	SchemeName             passerelle.AccountScheme `json:"scheme_name"`
	Identification         string                   `json:"identification"`
	Issuer                 *string                  `json:"issuer"`
	DisabledDate           *string                  `json:"disabled_date"`
	MerchantSchemeName     *string                  `json:"merchant_scheme_name" doc:"deprecated, see payer_identity and beneficiary_identity"`
	MerchantIdentification *string                  `json:"merchant_identification" doc:"deprecated, see payer_identity and beneficiary_identity"`
	BIC                    *string                  `json:"bic"`
}

// Currency describes a currency.
type Currency struct {
	ID        passerelle.Currency `json:"id" doc:"ISO 4217 code"`
	Symbol    string              `json:"symbol"`
	Prefix    bool                `json:"prefix" doc:"whether the symbol comes before the number"`
	Crypto    bool                `json:"crypto"`
	Precision int                 `json:"precision"`
	Marketcap *json.Number        `json:"marketcap"`
	Datetime  *string             `json:"datetime"`
	Name      string              `json:"name"`
}

// Identity describes the payer or a beneficiary. Its sensitive members are absent unless the client
// requests them and may see them.
type Identity struct {
	IDUser         *int64                  `json:"id_user"`
	Kind           passerelle.IdentityKind `json:"kind"`
	ExternalRef    *string                 `json:"external_ref"`
	OrgName        *string                 `json:"org_name"`
	OrgLegalStatus *string                 `json:"org_legal_status"`
	*Sensitive
}

// Sensitive contains the identity fields that only responses with show_sensitive contain.
type Sensitive struct {
	FirstName               *string                        `json:"first_name"`
	LastName                *string                        `json:"last_name"`
	BirthCity               *string                        `json:"birth_city"`
	BirthCountry            *string                        `json:"birth_country"`
	BirthDate               *string                        `json:"birth_date"`
	Nationality             *string                        `json:"nationality"`
	PostalAddress           *string                        `json:"postal_address"`
	Email                   *string                        `json:"email"`
	SchemeName              *passerelle.IdentitySchemeName `json:"scheme_name"`
	Identification          *string                        `json:"identification"`
	Issuer                  *string                        `json:"issuer"`
	UltimateOwnerText       *string                        `json:"ultimate_owner_text"`
	UltimateOwnerExtraText  *string                        `json:"ultimate_owner_extra_text"`
	PEP                     bool                           `json:"pep"`
	OrganisationHQAddress   *string                        `json:"org_hq_address"`
	OrganisationBusinessAdr *string                        `json:"org_business_address"`
}

// NewPayment renders a payment.
func NewPayment(p *payment.Payment, v View) Payment {
	out := Payment{
		ID: int64(p.ID), State: p.State, StateDetail: optional(p.Detail), Action: optional(p.Action),
		ErrorCode: optional(p.ErrorCode), ErrorDescription: optional(p.ErrorDescription), Fields: fields(p.Fields),
		ValidateURI: optional(p.ValidateURI), ConnectorUUID: optional(p.Connector), ValidateMechanism: optional(p.Mechanism),
		RegisterDate: passerelle.FormatDateTime(p.Created, v.Location), ClientRedirectURI: optional(p.ClientRedirectURI),
		ClientState: optional(p.ClientState), Payer: account(p.Payer), PayerIdentity: identity(p.PayerIdentity, v.Sensitive),
		Instructions: make([]Instruction, len(p.Instructions)),
	}
	if id, known := v.ConnectorID(p.Connector); known {
		out.IDConnector = &id
	}
	for i := range p.Instructions {
		out.Instructions[i] = instruction(&p.Instructions[i], v)
	}
	return out
}

func instruction(in *payment.Instruction, v View) Instruction {
	return Instruction{
		ReferenceID: in.ReferenceID, Amount: json.Number(in.Amount.Decimal()), Currency: NewCurrency(in.Amount.Currency), Label: in.Label,
		ExecutionDateType: in.DateType, ExecutionDate: date(in.ExecutionDate), ExecDate: date(in.Executed),
		StartDate: date(in.StartDate), EndDate: date(in.EndDate), Frequency: optional(in.Frequency),
		Beneficiary: beneficiary(in), BeneficiaryIdentity: identity(in.BeneficiaryIdentity, v.Sensitive && !v.PayerAlone),
		State: optional(in.State), ErrorCode: optional(in.ErrorCode), ErrorDescription: optional(in.ErrorDescription),
	}
}

func beneficiary(in *payment.Instruction) Beneficiary {
	bic := optional(in.Beneficiary.Issuer)
	return Beneficiary{
		ID: in.ID, Label: in.Beneficiary.Label, SchemeName: in.Beneficiary.Scheme,
		Identification: in.Beneficiary.Identification, Issuer: bic, BIC: bic,
	}
}

func account(a *passerelle.Account) *Account {
	if a == nil {
		return nil
	}
	return &Account{SchemeName: a.Scheme, Identification: a.Identification, Label: a.Label, Issuer: optional(a.Issuer)}
}

// NewCurrency renders a currency.
func NewCurrency(c passerelle.Currency) Currency {
	d := c.Details()
	return Currency{ID: c, Symbol: d.Symbol, Prefix: d.Prefix, Crypto: d.Crypto, Precision: d.Precision, Name: d.Name}
}

func identity(i *passerelle.Identity, whole bool) *Identity {
	if i == nil {
		return nil
	}
	out := &Identity{
		IDUser: optional(int64(i.IDUser)), Kind: i.Kind, ExternalRef: optional(i.ExternalRef),
		OrgName: optional(i.OrgName), OrgLegalStatus: optional(i.OrgLegalStatus),
	}
	if whole && i.Sensitive != nil {
		out.Sensitive = sensitive(i.Sensitive)
	}
	return out
}

func sensitive(s *passerelle.Sensitive) *Sensitive {
	return &Sensitive{
		FirstName: optional(s.FirstName), LastName: optional(s.LastName), BirthCity: optional(s.BirthCity),
		BirthCountry: optional(s.BirthCountry), BirthDate: date(s.BirthDate), Nationality: optional(s.Nationality),
		PostalAddress: optional(s.PostalAddress), Email: optional(s.Email), SchemeName: optional(s.SchemeName),
		Identification: optional(s.Identification), Issuer: optional(s.Issuer), UltimateOwnerText: optional(s.UltimateOwnerText),
		UltimateOwnerExtraText: optional(s.UltimateOwnerExtraText), PEP: s.PEP,
		OrganisationHQAddress: optional(s.OrgHQAddress), OrganisationBusinessAdr: optional(s.OrgBusinessAddress),
	}
}

func fields(list []payment.Field) map[string]PaymentField {
	out := make(map[string]PaymentField, len(list))
	for _, f := range list {
		out[f.Name] = NewField(f)
	}
	return out
}

// NewField renders the description of a value that the payer enters.
func NewField(f payment.Field) PaymentField {
	out := PaymentField{Name: f.Name, Type: f.Type, Label: f.Label, Regex: optional(f.Regex), Required: f.Required, Values: []FieldValue{}, Image: f.Image}
	for _, value := range f.Values {
		out.Values = append(out.Values, FieldValue(value))
	}
	return out
}

// optional returns a pointer to the value. It returns nil for the zero value, which always means
// "no value".
func optional[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

func date(d passerelle.Date) *string {
	if d.IsZero() {
		return nil
	}
	text := d.String()
	return &text
}
