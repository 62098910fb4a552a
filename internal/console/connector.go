package console

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/payment"
)

var connectorRoutes = []route{
	{http.MethodGet, "domains/#/connectors", (*Console).connectors, false},
	{http.MethodGet, "domains/#/connectors/#", (*Console).connectorPage, false},
	{http.MethodPost, "domains/#/connectors/#", (*Console).configureConnector, false},
	{http.MethodPost, "domains/#/connectors/#/sources/#", (*Console).configureSource, false},
}

const actConfigureConnector = "configure connector"

// connectorRow is a connector in the list.
type connectorRow struct {
	ID                                       int64
	Name, Countries, Reads, Pays, Mechanisms string
	Hidden                                   bool
	// Disabled is how many of its sources are out of use.
	Disabled int
}

// connectors lists the connectors of a domain as it has them.
func (c *Console) connectors(v *visit) error {
	banks, err := c.Aggregation.Banks(v, v.domain)
	if err != nil {
		return err
	}
	v.setUp("Connectors")
	rows := make([]connectorRow, len(banks))
	for i, b := range banks {
		rows[i] = connectorRow{ID: b.ID, Name: b.Name, Countries: countries(b.Countries), Reads: strings.Join(b.Capabilities, ", "), Mechanisms: listed(mechanisms(b)), Hidden: b.Hidden}
		if b.Payments != nil {
			rows[i].Pays = listed(b.Payments.DateTypes)
		}
		for _, s := range b.Sources {
			if s.Disabled != nil {
				rows[i].Disabled++
			}
		}
	}
	return c.send(v, "connectors", "Connectors", rows)
}

// maxCountries is how many countries are named in the list.
const maxCountries = 6

func countries(all []string) string {
	if len(all) > maxCountries {
		return strconv.Itoa(len(all)) + " countries"
	}
	return strings.Join(all, ", ")
}

// mechanisms are the ways in which a person lets an institution be read.
func mechanisms(b wire.Bank) []passerelle.AuthMechanism {
	var all []passerelle.AuthMechanism
	for _, s := range b.Sources {
		all = append(all, s.Mechanisms...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// listed joins words of the interface.
func listed[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}

// connectorData is all about one connector.
type connectorData struct {
	wire.Bank
	Reading, Paying []fact
	Amounts         []amountsRow
	Choices         []passerelle.AuthMechanism
	// Own is what the domain wants: hidden "1", shown "0", or empty for what the
	// connector itself says; and the mechanism and the days, empty likewise.
	OwnHidden, OwnMechanism, OwnDays string
	MaySetUp                         bool
}

// amountsRow is what a payment of a type may come to.
type amountsRow struct {
	DateType         payment.DateType
	Minimum, Maximum string
}

// bank is the connector of the address, as the domain has it.
func (c *Console) bank(v *visit) (wire.Bank, error) {
	banks, err := c.Aggregation.Banks(v, v.domain)
	if err != nil {
		return wire.Bank{}, err
	}
	i := slices.IndexFunc(banks, func(b wire.Bank) bool { return b.ID == v.numbers[1] })
	if i < 0 {
		return wire.Bank{}, errNoPage
	}
	return banks[i], nil
}

func (c *Console) connectorPage(v *visit) error {
	b, err := c.bank(v)
	if err != nil {
		return err
	}
	values, err := settings.Load(v, &c.DB.Reader, v.domain.ID)
	if err != nil {
		return err
	}
	v.setUp("Connectors")
	data := connectorData{Bank: b, Reading: readingFacts(b), Choices: mechanisms(b), MaySetUp: v.maySetUp()}
	data.OwnHidden, data.OwnMechanism, data.OwnDays = values[settings.ConnectorHidden(b.UUID)], string(b.Mechanism), b.SyncDays
	if v.problem != "" {
		data.OwnDays = v.field("days")
	}
	if b.Payments != nil {
		data.Paying, data.Amounts = payingFacts(*b.Payments), amounts(*b.Payments)
	}
	return c.send(v, "connector", b.Name, data)
}

// readingFacts are what a connector is and reads.
func readingFacts(b wire.Bank) []fact {
	var fields []string
	for _, f := range b.ConnectionFields {
		fields = append(fields, f.Name)
	}
	facts := []fact{
		{"UUID", b.UUID},
		{"Countries", strings.Join(b.Countries, ", ")},
		{"Reads", strings.Join(b.Capabilities, ", ")},
		{"Account types", listed(b.AccountTypes)},
		{"Used", listed(b.Usages)},
		{"Documents", strings.Join(b.Documents, ", ")},
		{"Signs in by", listed(mechanisms(b))},
		{"Asks for", strings.Join(fields, ", ")},
	}
	if len(b.Capabilities) > 0 {
		facts = append(facts, fact{"Months of history", cmp.Or(number(b.MonthsToFetch), "all there is")})
	}
	return slices.DeleteFunc(facts, func(f fact) bool { return f.Value == "" })
}

// number writes a number, empty for zero.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// payingFacts are which payments a connector carries.
func payingFacts(s payment.Settings) []fact {
	facts := []fact{
		{"Validated by", strings.Join(s.Mechanisms, ", ")},
		{"Beneficiaries", listed(s.Schemes)},
		{"Execution", listed(s.DateTypes)},
		{"Frequencies", listed(s.Frequencies)},
		{"Currencies", listed(s.Currencies)},
		{"Instructions at most", number(s.MaxInstructions)},
		{"Payer's account", string(s.PayerAccount)},
		{"May end in accepted", listed(s.PartialTracking)},
		{"Need a trusted beneficiary", listed(s.TrustedBeneficiary)},
		{"Days ahead at least", number(s.MinDays)},
		{"Days ahead at most", number(s.MaxDays)},
		{"Cancels", map[bool]string{true: "yes", false: "no"}[s.Cancellable]},
	}
	if s.OpenDaysOnly {
		facts = append(facts, fact{"Execution days", "open days only"})
	}
	return slices.DeleteFunc(facts, func(f fact) bool { return f.Value == "" })
}

// amounts are the bounds of payments by their type. Those of a connector are in
// units of its first currency.
func amounts(s payment.Settings) []amountsRow {
	var rows []amountsRow
	bound := func(bounds map[payment.DateType]int64, of payment.DateType) string {
		minor, set := bounds[of]
		if !set || len(s.Currencies) == 0 {
			return ""
		}
		return amountText(passerelle.Money{Minor: minor, Currency: s.Currencies[0]})
	}
	for _, of := range s.DateTypes {
		row := amountsRow{of, bound(s.Minimum, of), bound(s.Maximum, of)}
		if row.Minimum != "" || row.Maximum != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

// configureConnector changes what the domain wants of a connector.
func (c *Console) configureConnector(v *visit) error {
	b, err := c.bank(v)
	if err != nil {
		return err
	}
	if !v.maySetUp() {
		return errForbidden
	}
	hidden, mechanism, days := v.field("hidden"), v.field("mechanism"), strings.TrimSpace(v.field("days"))
	if !slices.Contains([]string{"", "0", "1"}, hidden) {
		return errForm
	}
	change := settings.ConnectorChange{Connector: b.UUID, Hidden: &hidden, Mechanism: &mechanism, SyncDays: &days}
	err = c.Aggregation.ConfigureConnectors(v, v.domain, []settings.ConnectorChange{change}, v.by(), c.connectorRecord(v, b))
	return c.after(v, err, v.path("/connectors/%d", b.ID), (*Console).connectorPage)
}

// configureSource changes what the domain wants of a source of a connector.
func (c *Console) configureSource(v *visit) error {
	b, err := c.bank(v)
	if err != nil {
		return err
	}
	if !v.maySetUp() {
		return errForbidden
	}
	disabled, change := v.field("disabled") == "1", settings.SourceChange{Connector: b.UUID, Source: v.numbers[2]}
	change.Disabled = &disabled
	if mechanism := v.field("mechanism"); mechanism != "" {
		change.Mechanism = &mechanism
	}
	err = c.Aggregation.ConfigureSource(v, v.domain, change, v.by(), c.connectorRecord(v, b))
	return c.after(v, err, v.path("/connectors/%d", b.ID), (*Console).connectorPage)
}

func (c *Console) connectorRecord(v *visit, b wire.Bank) store.Audit {
	return c.record(v, actConfigureConnector, "connector", b.ID)
}
