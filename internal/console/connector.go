package console

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/payment"
)

func (c *Console) connectorRoutes() []page.Route {
	return []page.Route{
		page.Get("domains/#/connectors", c.connectors),
		page.Get("domains/#/connectors/#", c.connectorPage),
		page.Post("domains/#/connectors/#", c.configureConnector),
		page.Post("domains/#/connectors/#/sources/#", c.configureSource),
	}
}

const actConfigureConnector = "configure connector"

// connectorRow is a connector in the list.
type connectorRow struct {
	ID                                       int64
	Name, Countries, Reads, Pays, Mechanisms string
	Hidden                                   bool
	// Disabled is the number of the connector's disabled sources.
	Disabled int
	// Disturbed is set when the connector's last calls failed. Expires is the time at which a
	// certificate in the bank file expires. Expires is empty when that time is far away. Expired
	// means that this time is over.
	Disturbed, Expired bool
	// Refused is set when the bank refuses the service's certificate, signature, role or clock.
	Refused bool
	Expires page.When
}

// connectorsData is the content of a page that lists the connectors that match the search.
type connectorsData struct {
	Search string
	Rows   []connectorRow
	Pager  page.Pager
}

// connectors lists the connectors of a domain, with the domain's own settings for each connector.
func (c *Console) connectors(pc *page.Context) error {
	banks, err := c.Aggregation.Banks(pc, pc.Domain)
	if err != nil {
		return err
	}
	data := connectorsData{Search: strings.TrimSpace(pc.Request.URL.Query().Get("search"))}
	banks = slices.DeleteFunc(banks, func(b wire.Bank) bool {
		return !strings.Contains(strings.ToLower(b.Name), strings.ToLower(data.Search)) && !b.Named(data.Search)
	})
	w := pc.Window(1)
	banks = page.Within(w, banks, func(b wire.Bank) int64 { return b.ID })
	banks, data.Pager = page.Paged(pc, w, banks, func(b wire.Bank) []any { return page.ByID(b.ID) })
	data.Rows = c.connectorRows(pc, banks)
	return pages.Send(pc, "connectors", "Banks", data)
}

func (c *Console) connectorRows(pc *page.Context, banks []wire.Bank) []connectorRow {
	rows := make([]connectorRow, len(banks))
	for i, b := range banks {
		rows[i] = connectorRow{ID: b.ID, Name: b.Name, Countries: countries(b.Countries), Reads: strings.Join(b.Capabilities, ", "), Mechanisms: listed(mechanisms(b)), Hidden: b.Hidden}
		rows[i].Disturbed = b.Disturbed
		if h, monitored := c.Aggregation.Connectors.Health(b.UUID); monitored {
			rows[i].Refused = h.Refused
			if first, soon := h.Expires(c.Now()); soon {
				rows[i].Expires, rows[i].Expired = pc.RealWhen(first.Until), first.Until.Before(c.Now())
			}
		}
		if b.Payments != nil {
			rows[i].Pays = listed(b.Payments.DateTypes)
		}
		for _, s := range b.Sources {
			if s.Disabled != nil {
				rows[i].Disabled++
			}
		}
	}
	return rows
}

// maxCountries is the largest number of countries that the list names for one connector.
const maxCountries = 6

func countries(all []string) string {
	if len(all) > maxCountries {
		return strconv.Itoa(len(all)) + " countries"
	}
	return strings.Join(all, ", ")
}

// mechanisms returns the mechanisms by which a user can authorise reading.
func mechanisms(b wire.Bank) []passerelle.AuthMechanism {
	var all []passerelle.AuthMechanism
	for _, s := range b.Sources {
		all = append(all, s.Mechanisms...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// listed joins words of the API with commas. It shows names such as first_open_day as words.
func listed[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = strings.ReplaceAll(string(word), "_", " ")
	}
	return strings.Join(texts, ", ")
}

// connectorData is the content of a connector's page.
type connectorData struct {
	wire.Bank
	Reading, Paying []page.DetailRow
	// Health describes the health of the bank. It is empty when the connector does not report it.
	Health  []page.DetailRow
	Refused bool
	Calls   []callRow
	// Channels lists the sources of the connector.
	Channels []channelRow
	Amounts  []amountsRow
	Choices  []passerelle.AuthMechanism
	// These are the domain's own settings. A text is empty where the connector's default applies.
	// OwnHidden is "1" for hidden and "0" for shown.
	OwnHidden, OwnMechanism, OwnDays string
	// Mistyped is the number of the source whose form has a mistake. It is zero for other forms.
	Mistyped int64
	MaySetUp bool
}

// channelRow is a source of a connector. Since is the time at which the domain disabled the source.
type channelRow struct {
	wire.Source
	Since page.When
	// Text describes the source in words, or is empty.
	Text string
}

func newChannelRow(pc *page.Context, s wire.Source, institution string) channelRow {
	row := channelRow{Source: s, Text: sourceText(s.Name, institution)}
	if s.Disabled == nil {
		return row
	}
	if at, err := passerelle.ParseDateTime("disabled", *s.Disabled, pc.Zone); err == nil {
		row.Since = pc.When(at)
	}
	return row
}

// callRow has the results of the recent calls of one kind.
type callRow struct {
	Call, Good, P95 string
	Calls           int
}

// certificates maps fields of bank files to the names of the operator's certificates in them.
var certificates = map[string]string{"tls.certificate": "Transport certificate", "signature.certificate": "Signing certificate"}

// addHealth adds the bank's health, as this process knows it.
func (c *Console) addHealth(pc *page.Context, data *connectorData) {
	h, monitored := c.Aggregation.Connectors.Health(data.UUID)
	if !monitored {
		return
	}
	state := "working"
	switch {
	case h.Open:
		state = "failing: not called, except for occasional test calls"
	case h.Elsewhere:
		state = "failing: another replica does not call it; this one still does"
	}
	if data.Refused = h.Refused; h.Refused {
		state = "refused by the bank: it does not accept the service's certificate, signature, role or clock"
	}
	data.Health = page.Details("State", state, "Failures in a row", page.OrNothing(h.Failures))
	data.Health = slices.Concat(data.Health, page.At("Last success", since(pc, h.LastSuccess)), page.At("Last failure", since(pc, h.LastFailure)))
	for _, one := range h.Certificates {
		remark, ends := "", " expires"
		if one.Until.Before(c.Now()) {
			ends = " expired"
		}
		if first, soon := h.Expires(c.Now()); soon && !one.Until.After(first.Until) {
			remark = "renew it"
		}
		data.Health = append(data.Health, page.AtWith(cmp.Or(certificates[one.Field], one.Field)+ends, pc.RealWhen(one.Until), remark)...)
	}
	for _, call := range h.Calls {
		data.Calls = append(data.Calls, callRow{call.Call, strconv.Itoa(100*call.Good/call.Window) + " %", page.Took(call.P95), call.Calls})
	}
}

// since converts an instant on the real clock, not on the domain's clock. It returns an empty value
// for the zero time.
func since(pc *page.Context, at time.Time) page.When {
	if at.IsZero() {
		return page.When{}
	}
	return pc.RealWhen(at)
}

// amountsRow has the limits for one type of payment.
type amountsRow struct {
	DateType         payment.DateType
	Minimum, Maximum string
}

// bank returns the connector in the address, with the domain's settings for that connector.
func (c *Console) bank(pc *page.Context) (wire.Bank, error) {
	banks, err := c.Aggregation.Banks(pc, pc.Domain)
	if err != nil {
		return wire.Bank{}, err
	}
	i := slices.IndexFunc(banks, func(b wire.Bank) bool { return b.ID == pc.Numbers[1] })
	if i < 0 {
		return wire.Bank{}, page.ErrNoPage
	}
	return banks[i], nil
}

func (c *Console) connectorPage(pc *page.Context) error {
	b, err := c.bank(pc)
	if err != nil {
		return err
	}
	values, err := settings.Load(pc, &c.DB.Reader, pc.Domain.ID)
	if err != nil {
		return err
	}
	data := connectorData{Bank: b, Reading: readingFacts(b), Choices: mechanisms(b), MaySetUp: pc.MaySetUp()}
	data.OwnHidden, data.OwnMechanism, data.OwnDays = values[settings.ConnectorHidden(b.UUID)], string(b.Mechanism), b.SyncDays
	if pc.Problem != "" && len(pc.Numbers) == 2 { // the address of a form about a source has another number
		data.OwnHidden, data.OwnMechanism, data.OwnDays = pc.Field("hidden"), pc.Field("mechanism"), pc.Field("days")
	} else if pc.Problem != "" {
		data.Mistyped = pc.Numbers[2]
	}
	if b.Payments != nil {
		data.Paying, data.Amounts = payingFacts(*b.Payments), amounts(*b.Payments)
	}
	institution := c.institutionWord(data.UUID)
	for _, s := range b.Sources {
		data.Channels = append(data.Channels, newChannelRow(pc, s, institution))
	}
	c.addHealth(pc, &data)
	return pages.Send(pc, "connector", b.Name, data)
}

// readingFacts returns the rows that describe a connector and the data that it reads.
func readingFacts(b wire.Bank) []page.DetailRow {
	var fields []string
	for _, f := range b.ConnectionFields {
		fields = append(fields, f.Name)
	}
	facts := page.Details(
		"UUID", b.UUID,
		"Countries", strings.Join(b.Countries, ", "),
		"Reads", strings.Join(b.Capabilities, ", "),
		"Account types", listed(b.AccountTypes),
		"For", forWhom(b.Usages),
		"Documents", strings.Join(b.Documents, ", "),
		"Sign-in", listed(mechanisms(b)),
		"Fields", strings.Join(fields, ", "),
	)
	if len(b.Capabilities) > 0 {
		facts = append(facts, page.Details("Months of history", cmp.Or(page.OrNothing(b.MonthsToFetch), "all available"))...)
	}
	return facts
}

// usages maps each usage of accounts to the people with such accounts.
var usages = map[passerelle.Usage]string{passerelle.Private: "individuals", passerelle.Organisation: "businesses", passerelle.Association: "associations"}

// forWhom returns the account holders for a list of usages, in words.
func forWhom(all []passerelle.Usage) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = cmp.Or(usages[one], string(one))
	}
	return strings.Join(texts, ", ")
}

// payingFacts returns the rows that describe the payments that a connector accepts.
func payingFacts(s payment.Settings) []page.DetailRow {
	facts := page.Details(
		"Validation", strings.Join(s.Mechanisms, ", "),
		"Beneficiaries", listed(s.Schemes),
		"Execution", listed(s.DateTypes),
		"Frequencies", listed(s.Frequencies),
		"Currencies", listed(s.Currencies),
		"Maximum instructions", page.OrNothing(s.MaxInstructions),
		"Payer's account", string(s.PayerAccount),
		"May end as accepted", listed(s.PartialTracking),
		"Requires a trusted beneficiary", listed(s.TrustedBeneficiary),
		"Minimum days ahead", page.OrNothing(s.MinDays),
		"Maximum days ahead", page.OrNothing(s.MaxDays),
		"Cancels", map[bool]string{true: "yes", false: "no"}[s.Cancellable],
	)
	if s.OpenDaysOnly {
		facts = append(facts, page.Details("Execution days", "open days only")...)
	}
	return facts
}

// amounts returns the limits for each type of payment, in the connector's first currency.
func amounts(s payment.Settings) []amountsRow {
	var rows []amountsRow
	bound := func(bounds map[payment.DateType]int64, of payment.DateType) string {
		minor, set := bounds[of]
		if !set || len(s.Currencies) == 0 {
			return ""
		}
		return page.Amount(passerelle.Money{Minor: minor, Currency: s.Currencies[0]})
	}
	for _, of := range s.DateTypes {
		row := amountsRow{of, bound(s.Minimum, of), bound(s.Maximum, of)}
		if row.Minimum != "" || row.Maximum != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

// configureConnector changes the domain's settings for a connector.
func (c *Console) configureConnector(pc *page.Context) error {
	b, err := c.bank(pc)
	if err != nil {
		return err
	}
	if !pc.MaySetUp() {
		return page.ErrForbidden
	}
	hidden, mechanism, days := pc.Field("hidden"), pc.Field("mechanism"), strings.TrimSpace(pc.Field("days"))
	if !slices.Contains([]string{"", "0", "1"}, hidden) {
		return page.ErrForm
	}
	change := settings.ConnectorChange{Connector: b.UUID, Hidden: &hidden, Mechanism: &mechanism, SyncDays: &days}
	err = c.Aggregation.ConfigureConnectors(pc, pc.Domain, []settings.ConnectorChange{change}, pc.By(), c.connectorRecord(pc, b))
	return pc.After(err, "The bank was changed in this domain.", pc.Path("/connectors/%d", b.ID), c.connectorPage)
}

// configureSource changes the domain's settings for a source of a connector.
func (c *Console) configureSource(pc *page.Context) error {
	b, err := c.bank(pc)
	if err != nil {
		return err
	}
	if !pc.MaySetUp() {
		return page.ErrForbidden
	}
	disabled, change := pc.Field("disabled") == "1", settings.SourceChange{Connector: b.UUID, Source: pc.Numbers[2]}
	change.Disabled = &disabled
	if mechanism := pc.Field("mechanism"); mechanism != "" {
		change.Mechanism = &mechanism
	}
	err = c.Aggregation.ConfigureSource(pc, pc.Domain, change, pc.By(), c.connectorRecord(pc, b))
	return pc.After(err, "The source was changed in this domain.", pc.Path("/connectors/%d", b.ID), c.connectorPage)
}

func (c *Console) connectorRecord(pc *page.Context, b wire.Bank) store.Audit {
	return pc.Record(actConfigureConnector, "connector", b.ID)
}
