package wire

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"passerelle"
	"passerelle/payment"
)

// Bank contains the data about a connector that clients may see.
type Bank struct {
	UUID string
	// ID is the deprecated number of the connector.
	ID        int64
	Name      string
	Countries []string
	Sources   []Source
	Hidden    bool
	// Mechanism is the mechanism that the domain prefers. It is empty without such a setting.
	// SyncDays is the number of days between two syncs. It is empty when the domain's default
	// applies.
	Mechanism passerelle.AuthMechanism
	SyncDays  string
	// Restricted is set for a connector that accepts no new connections.
	Restricted bool
	// Disturbed is set for a connector that has failed several times in a row.
	Disturbed bool
	// Peculiar is set for a simulated connector with special behaviour.
	Peculiar                 bool
	Slug, Code, Siret, Color string
	Beta, Charged            bool
	URLs                     []string
	// Payments is nil for a connector that initiates no payments. Fields lists the fields that
	// payments need.
	Payments *payment.Settings
	Fields   []payment.Field
	// Capabilities lists the kinds of data that the connector reads. It is empty for a connector
	// that reads nothing.
	Capabilities []string
	AccountTypes []passerelle.AccountType
	Usages       []passerelle.Usage
	// Documents lists the types of documents that the connector reads.
	Documents []string
	// MonthsToFetch is zero when the connector reads the whole history.
	MonthsToFetch int
	// ConnectionFields lists the values that a user enters to connect.
	ConnectionFields []ConnectorField
}

// Named reports whether a name is the UUID or the number of the connector.
func (b Bank) Named(name string) bool { return passerelle.NamesConnector(name, b.UUID, b.ID) }

// Source is a channel to a bank. Mechanisms lists the ways in which a user can give access. A
// source that only initiates payments has no mechanisms.
type Source struct {
	ID         int64
	Name       string
	Mechanisms []passerelle.AuthMechanism
	Priority   int
	// Disabled is the date and time when the source was disabled, in the format of the API. It is
	// nil for an enabled source.
	Disabled *string
}

// ConnectorView selects the expansions that a connector contains.
type ConnectorView struct{ Fields, PaymentFields, Countries, Sources, URLs bool }

// Connector is a connector in the form that clients see. For a connector that only initiates
// payments, the members about reading are empty.
type Connector struct {
	ID                          int64                      `json:"id" doc:"deprecated, see uuid"`
	UUID                        string                     `json:"uuid" doc:"UUID, the same in all domains"`
	Name                        string                     `json:"name"`
	Slug                        *string                    `json:"slug"`
	Code                        *string                    `json:"code" doc:"bank code"`
	Color                       *string                    `json:"color" doc:"hexadecimal, without #"`
	Siret                       *string                    `json:"siret"`
	Hidden                      bool                       `json:"hidden" doc:"whether the connector is hidden from end users"`
	Charged                     bool                       `json:"charged"`
	Beta                        bool                       `json:"beta"`
	Restricted                  bool                       `json:"restricted" doc:"whether new connections are refused"`
	AuthMechanism               passerelle.AuthMechanism   `json:"auth_mechanism" doc:"mechanism of the source that is used first"`
	AvailableAuthMechanisms     []passerelle.AuthMechanism `json:"available_auth_mechanisms"`
	Capabilities                []string                   `json:"capabilities" doc:"bank, bankwealth, document, profile, contact"`
	Products                    []string                   `json:"products" doc:"pay for a connector that initiates payments; bank, wealth and bill for one that reads data"`
	AccountTypes                []passerelle.AccountType   `json:"account_types"`
	AccountUsages               []passerelle.Usage         `json:"account_usages"`
	Categories                  []ConnectorCategory        `json:"categories" doc:"categories of the connector, see /banks/categories"`
	DocumentsType               []string                   `json:"documents_type,omitempty" doc:"types of documents that the connector reads"`
	MonthsToFetch               *int                       `json:"months_to_fetch"`
	SyncFrequency               *json.Number               `json:"sync_frequency" doc:"deprecated; days between two synchronisations, null for the domain's default"`
	SyncPeriodicity             *json.Number               `json:"sync_periodicity" doc:"deprecated, see sync_frequency"`
	Stability                   Stability                  `json:"stability"`
	AvailableTransferMechanisms []string                   `json:"available_transfer_mechanisms" doc:"not used: belongs to a product that is not offered"`
	TransferBeneficiaryTypes    []string                   `json:"transfer_beneficiary_types" doc:"not used: belongs to a product that is not offered"`
	TransferExecutionDateTypes  []string                   `json:"transfer_execution_date_types" doc:"not used: belongs to a product that is not offered"`
	PaymentSettings             *PaymentSettings           `json:"payment_settings,omitempty" doc:"for connectors that initiate payments"`
	// The expansions are absent unless the client requests them.
	Fields        *[]ConnectorField        `json:"fields,omitempty" expand:"true" doc:"with expand=fields"`
	PaymentFields *[]ConnectorPaymentField `json:"payment_fields,omitempty" expand:"true" doc:"with expand=payment_fields"`
	Countries     *[]Country               `json:"countries,omitempty" expand:"true" doc:"with expand=countries"`
	Sources       *[]ConnectorSource       `json:"sources,omitempty" expand:"true" doc:"with expand=sources"`
	URLs          *[]string                `json:"urls,omitempty" expand:"true" doc:"websites of the institution; with expand=urls"`
}

// ConnectorField is a value that a user enters to begin a connection, or later when the institution
// asks.
type ConnectorField struct {
	Name     string `json:"name" doc:"key of the value in the request body"`
	Type     string `json:"type" doc:"text, password, date, list or number"`
	Label    string `json:"label"`
	Required bool   `json:"required"`
	// Regex is null for a field without a pattern.
	Regex            *string                    `json:"regex"`
	Values           *[]FieldValue              `json:"values" doc:"the options of a list; null for other types"`
	AuthMechanisms   []passerelle.AuthMechanism `json:"auth_mechanisms" doc:"mechanisms that require the field; empty for all"`
	ConnectorSources []string                   `json:"connector_sources" doc:"names of the sources that require the field; empty for all"`
	Description      *string                    `json:"description"`
	// Image is absent when there is no picture.
	Image string `json:"image,omitempty" doc:"a picture that the user needs in order to enter the value, as a data URL (PNG, JPEG or GIF)"`
}

// ConnectorSource is a channel to a bank. For a source that only initiates payments, the members
// about reading are empty.
type ConnectorSource struct {
	ID                      int64                      `json:"id"`
	IDConnector             int64                      `json:"id_connector" doc:"deprecated number of the connector"`
	Name                    string                     `json:"name" doc:"openapi, directaccess or fallback"`
	AuthMechanism           passerelle.AuthMechanism   `json:"auth_mechanism"`
	AvailableAuthMechanisms []passerelle.AuthMechanism `json:"available_auth_mechanisms"`
	Disabled                *string                    `json:"disabled" doc:"when the source was disabled; null while it is in use"`
	Priority                int                        `json:"priority" doc:"sources with lower numbers are used first"`
	Capabilities            []string                   `json:"capabilities"`
	AccountTypes            []passerelle.AccountType   `json:"account_types"`
	AccountUsages           []passerelle.Usage         `json:"account_usages"`
}

// Stability describes how well a connector works.
type Stability struct {
	Status     string  `json:"status" doc:"stable or unstable"`
	LastUpdate *string `json:"last_update"`
}

// Country is a country in which the institution has users.
type Country struct {
	ID   string `json:"id" doc:"ISO 3166-1 alpha-2"`
	Name string `json:"name" doc:"in English"`
}

// ConnectorPaymentField is a value that the validation of a payment needs.
type ConnectorPaymentField struct {
	PaymentField
	AuthMechanisms   []string `json:"auth_mechanisms" doc:"validation mechanisms that require the field"`
	ConnectorSources []string `json:"connector_sources" doc:"names of the sources that require the field; empty for all"`
}

// PaymentSettings describes what a connector can do with payments.
type PaymentSettings struct {
	Mechanisms              []string                   `json:"available_validate_mechanisms"`
	BeneficiaryTypes        []passerelle.AccountScheme `json:"beneficiary_types"`
	ExecutionDateTypes      []payment.DateType         `json:"execution_date_types"`
	ExecutionFrequencies    []payment.Frequency        `json:"execution_frequencies"`
	Currencies              []passerelle.Currency      `json:"currencies"`
	MaximumInstructions     int                        `json:"maximum_number_of_instructions" doc:"1 when the connector accepts no bulk payments"`
	PayerAccount            string                     `json:"providing_payer_account" doc:"not_used, optional or mandatory"`
	PartialTracking         []payment.DateType         `json:"partial_status_tracking" doc:"types of payments that may end in state accepted"`
	AppToApp                AppToApp                   `json:"is_app_to_app_used"`
	GivesPayerAccount       bool                       `json:"bank_provides_payer_account"`
	GivesPayerLabel         bool                       `json:"bank_provides_payer_label"`
	TrustedBeneficiaryTypes []payment.DateType         `json:"transfer_date_types_where_trusted_beneficiary_required"`
	Cancellable             bool                       `json:"cancellation_available"`
	OpenDaysOnly            bool                       `json:"open_days_only" doc:"whether the execution date must be a bank working day"`
	MinimumAmount           Bounds                     `json:"minimum_amount"`
	MaximumAmount           Bounds                     `json:"maximum_amount"`
	MinimumDays             int                        `json:"minimum_date_delta_days"`
	MaximumDays             *int                       `json:"maximum_date_delta_days"`
}

// AppToApp lists the platforms on which the bank's app opens instead of a page.
type AppToApp struct {
	Android bool `json:"android"`
	IOS     bool `json:"ios"`
}

// Bounds contains a limit for each execution date type. A null amount means no limit.
type Bounds struct {
	FirstOpenDay *json.Number `json:"first_open_day"`
	Instant      *json.Number `json:"instant"`
	Deferred     *json.Number `json:"deferred"`
	Periodic     *json.Number `json:"periodic"`
}

// ConnectorCategory is a kind of institution.
type ConnectorCategory struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// connectorCategories maps each product to its category. The numbers never change.
var connectorCategories = map[string]ConnectorCategory{
	"bank": {1, "Banks"}, "wealth": {2, "Savings and investments"}, "bill": {3, "Providers of documents"}, "pay": {4, "Payments"},
}

// ConnectorCategories returns the categories of connectors, ordered by number.
func ConnectorCategories() []ConnectorCategory {
	return slices.SortedFunc(maps.Values(connectorCategories), func(a, b ConnectorCategory) int { return cmp.Compare(a.ID, b.ID) })
}

// categories returns the categories of the connector's products, in the order of the products.
func (b Bank) categories() []ConnectorCategory {
	all := []ConnectorCategory{}
	for _, product := range b.products() {
		if category, has := connectorCategories[product]; has {
			all = append(all, category)
		}
	}
	return all
}

// NewConnector renders a connector.
func NewConnector(b Bank, v ConnectorView) Connector {
	mechanisms := b.mechanisms()
	out := Connector{
		ID: b.ID, UUID: b.UUID, Name: b.Name, Hidden: b.Hidden, Charged: b.Charged, Beta: b.Beta, Restricted: b.Restricted,
		Slug: optional(b.Slug), Code: optional(b.Code), Color: optional(b.Color), Siret: optional(b.Siret), DocumentsType: b.Documents, AuthMechanism: mechanisms[0], AvailableAuthMechanisms: mechanisms,
		Capabilities: listed(b.Capabilities), Products: b.products(), AccountTypes: listed(b.AccountTypes), AccountUsages: listed(b.Usages), Categories: b.categories(),
		MonthsToFetch: optional(b.MonthsToFetch), SyncFrequency: optional(json.Number(b.SyncDays)), SyncPeriodicity: optional(json.Number(b.SyncDays)), Stability: b.stability(), AvailableTransferMechanisms: []string{},
		TransferBeneficiaryTypes: []string{}, TransferExecutionDateTypes: []string{},
	}
	if b.Payments != nil {
		out.PaymentSettings = paymentSettings(b.Payments)
	}
	out.expand(b, v)
	return out
}

func (b Bank) stability() Stability {
	if b.Disturbed {
		return Stability{Status: "unstable"}
	}
	return Stability{Status: "stable"}
}

func (c *Connector) expand(b Bank, v ConnectorView) {
	if v.Fields {
		c.Fields = shownList(b.ConnectionFields)
	}
	if v.PaymentFields && b.Payments != nil {
		c.PaymentFields = paymentFields(b)
	}
	if v.Countries {
		c.Countries = countries(b.Countries)
	}
	if v.Sources {
		c.Sources = shownList(NewConnectorSources(b, false))
	}
	if v.URLs {
		c.URLs = shownList(b.URLs)
	}
}

// shownList returns a pointer to the list, so a response shows a requested list even when it is
// empty.
func shownList[T any](list []T) *[]T {
	list = listed(list)
	return &list
}

// products returns the products of a connector. The connector's payments and capabilities determine
// the products.
func (b Bank) products() []string {
	products := []string{}
	if b.Payments != nil {
		products = append(products, "pay")
	}
	for _, offer := range []struct{ capability, product string }{{"bank", "bank"}, {"bankwealth", "wealth"}, {"document", "bill"}} {
		if slices.Contains(b.Capabilities, offer.capability) {
			products = append(products, offer.product)
		}
	}
	return products
}

// mechanisms returns the mechanisms of the enabled sources, ordered by the priority of the sources.
// The preferred mechanism comes first. Without an enabled source, the result is webauth.
func (b Bank) mechanisms() []passerelle.AuthMechanism {
	var all []passerelle.AuthMechanism
	sources := slices.SortedStableFunc(slices.Values(b.Sources), func(a, b Source) int { return a.Priority - b.Priority })
	for _, s := range sources {
		for _, m := range s.mechanisms() {
			if s.Disabled == nil && !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	if all == nil {
		return []passerelle.AuthMechanism{passerelle.ByWebauth}
	}
	if i := slices.Index(all, b.Mechanism); i > 0 {
		all = slices.Insert(slices.Delete(all, i, i+1), 0, b.Mechanism)
	}
	return all
}

// mechanisms returns the mechanisms of a source. For a source that only initiates payments, the
// result is webauth.
func (s Source) mechanisms() []passerelle.AuthMechanism {
	if len(s.Mechanisms) == 0 {
		return []passerelle.AuthMechanism{passerelle.ByWebauth}
	}
	return s.Mechanisms
}

// NewConnectorSources renders the sources of a connector. It omits disabled sources unless all is
// true.
func NewConnectorSources(b Bank, all bool) []ConnectorSource {
	out := []ConnectorSource{}
	for _, s := range b.Sources {
		if s.Disabled != nil && !all {
			continue
		}
		shown := ConnectorSource{
			ID: s.ID, IDConnector: b.ID, Name: s.Name, AuthMechanism: s.mechanisms()[0], AvailableAuthMechanisms: s.mechanisms(), Disabled: s.Disabled, Priority: s.Priority,
			Capabilities: []string{}, AccountTypes: []passerelle.AccountType{}, AccountUsages: []passerelle.Usage{},
		}
		if len(s.Mechanisms) > 0 {
			shown.Capabilities, shown.AccountTypes, shown.AccountUsages = listed(b.Capabilities), listed(b.AccountTypes), listed(b.Usages)
		}
		out = append(out, shown)
	}
	return out
}

func paymentSettings(s *payment.Settings) *PaymentSettings {
	return &PaymentSettings{
		Mechanisms: listed(s.Mechanisms), BeneficiaryTypes: listed(s.Schemes), ExecutionDateTypes: listed(s.DateTypes),
		ExecutionFrequencies: listed(s.Frequencies), Currencies: listed(s.Currencies), PayerAccount: string(s.PayerAccount),
		MaximumInstructions: cmp.Or(s.MaxInstructions, payment.MaxInstructions), PartialTracking: listed(s.PartialTracking),
		TrustedBeneficiaryTypes: listed(s.TrustedBeneficiary), Cancellable: s.Cancellable, OpenDaysOnly: s.OpenDaysOnly,
		MinimumAmount: bounds(s, s.Minimum), MaximumAmount: bounds(s, s.Maximum), MinimumDays: s.MinDays, MaximumDays: optional(s.MaxDays),
	}
}

// bounds formats amounts with the precision of the connector's first currency. The settings do not
// distinguish currencies, because a bank's limits are in the bank's own currency.
func bounds(s *payment.Settings, minor map[payment.DateType]int64) Bounds {
	amount := func(dates payment.DateType) *json.Number {
		value, bounded := minor[dates]
		if !bounded || len(s.Currencies) == 0 {
			return nil
		}
		text := json.Number(passerelle.Money{Minor: value, Currency: s.Currencies[0]}.Decimal())
		return &text
	}
	return Bounds{
		FirstOpenDay: amount(payment.FirstOpenDay), Instant: amount(payment.Instant),
		Deferred: amount(payment.Deferred), Periodic: amount(payment.Periodic),
	}
}

func paymentFields(b Bank) *[]ConnectorPaymentField {
	names := make([]string, len(b.Sources))
	for i, s := range b.Sources {
		names[i] = s.Name
	}
	out := make([]ConnectorPaymentField, len(b.Fields))
	for i, f := range b.Fields {
		out[i] = ConnectorPaymentField{PaymentField: NewField(f), AuthMechanisms: listed(b.Payments.Mechanisms), ConnectorSources: names}
	}
	return &out
}

func countries(codes []string) *[]Country {
	out := make([]Country, len(codes))
	for i, code := range codes {
		out[i] = Country{ID: code, Name: countryName(code)}
	}
	return &out
}

// countryName returns the English name of a country. For a country without a name, it returns the
// code.
func countryName(code string) string {
	region, err := language.ParseRegion(code)
	if err != nil {
		return code
	}
	return cmp.Or(display.English.Regions().Name(region), code)
}

// listed returns the list, or an empty list instead of nil. JSON then has [] instead of null.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
