package console

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/store"
	"passerelle/payment"
)

// listField is one field of the form that filters payments.
type listField struct {
	name, label string
	// kind is the type of the input. It is empty for a text.
	kind string
	// rare is set for a field that is collapsed at first.
	rare bool
	// personal is set for a field that filters by data that identifies people. In live domains,
	// this filter needs the right to reveal. Otherwise an operator could find masked data by
	// guessing.
	personal bool
	// choices returns the values to choose from. The function is nil for a text field. When there
	// are more values than a page shows, it may return only the first values.
	choices func(*Console, *page.Context) ([]choice, error)
	// among reports whether a value outside the returned choices is valid.
	among func(c *Console, pc *page.Context, value string) (bool, error)
	// take adds a value of the field to the filter of the list. The value is not empty. Errors name
	// the field by its label, as the page does.
	take func(*page.Context, *listing, string) error
}

// labelFor returns the label of the field when it has these choices. Without a list of choices,
// operators type the number or the name of one.
func (f listField) labelFor(all []choice) string {
	switch {
	case len(all) <= maxChoices:
		return f.label
	case f.among != nil:
		return f.label + " number"
	}
	return f.label + " name"
}

// Functions that check values use the labels of these fields.
const (
	labelNumber = "Number"
	labelFirst  = "From"
	labelLast   = "To"
	labelLeast  = "Minimum amount"
	labelMost   = "Maximum amount"
)

// choice is a value that a field may have.
type choice struct {
	Value, Label string
	Chosen       bool
}

// shownField is a field in the form that the page shows.
type shownField struct {
	Name, Label, Kind, Value string
	Choices                  []choice
	// Wrong is set when the page has a message about the value.
	Wrong bool
}

// listFields has the filters of the API, in their order on the page. TestFiltersAreThoseOfTheAPI
// lists the differences.
var listFields = []listField{
	{name: "id", label: labelNumber, take: takeNumber},
	{name: "reference", label: "End-to-end id", take: takeText(func(l *listing) *string { return &l.Reference })},
	{name: "label", label: "Label begins with", personal: true, take: takeLabel},
	{name: "state", label: "State", choices: choicesOf(payment.States(), page.StateWord.Word), take: takeText(func(l *listing) *string { return &l.State })},
	{name: "first", label: labelFirst, kind: "date", take: takeFirst},
	{name: "last", label: labelLast, kind: "date", take: takeLast},
	{name: "date", label: "Dates apply to", rare: true, choices: dateChoices, take: takeText(func(l *listing) *string { return &l.DateField })},
	{name: "code", label: "Error code", rare: true, choices: choicesOf(payment.ErrorCodes(), page.Code.Word), take: takeText(func(l *listing) *string { return &l.ErrorCode })},
	{name: "connector", label: "Connector", rare: true, choices: (*Console).connectorChoices, take: takeConnector},
	{name: "country", label: "Country", rare: true, choices: (*Console).countryChoices, take: func(*page.Context, *listing, string) error { return nil }},
	{name: "client", label: "Application", rare: true, choices: (*Console).clientChoices, among: (*Console).isClient, take: takeClient},
	{name: "type", label: "Execution", rare: true, choices: choicesOf(payment.DateTypes(), dateTypeText), take: takeText(func(l *listing) *string { return &l.DateType })},
	{name: "payer", label: "Payer's account, or its last four characters", rare: true, personal: true, take: takeAccount(
		func(l *listing) (*string, *string) { return &l.Payer, &l.PayerEnd })},
	{name: "beneficiary", label: "Beneficiary's account, or its last four characters", rare: true, personal: true, take: takeAccount(
		func(l *listing) (*string, *string) { return &l.Beneficiary, &l.BeneficiaryEnd })},
	{name: "least", label: labelLeast, rare: true, take: takeAmount(labelLeast, func(l *listing) *int64 { return &l.Least })},
	{name: "most", label: labelMost, rare: true, take: takeAmount(labelMost, func(l *listing) *int64 { return &l.Most })},
	{name: "bank", label: "Bank's reference", rare: true, take: takeText(func(l *listing) *string { return &l.BankPaymentID })},
	{name: "website", label: "Website", rare: true, take: takeText(func(l *listing) *string { return &l.Website })},
}

// today is the value of a date that means the day on which the page is opened. A bookmark of a view
// therefore stays right.
const today = "today"

// dayText returns the value of a date. It replaces today by this day.
func dayText(pc *page.Context, value string) string {
	if value == today {
		return pc.Now().In(pc.Zone).Format(time.DateOnly)
	}
	return value
}

// fieldValue returns the value of a field, without surrounding spaces.
func fieldValue(values url.Values, name string) string { return strings.TrimSpace(values.Get(name)) }

// showFields adds the fields of the form, with their values.
func (c *Console) showFields(pc *page.Context, values url.Values, data *listData) error {
	for _, field := range listFields {
		if field.personal && !maySearch(pc) {
			continue
		}
		shown := shownField{Name: field.name, Label: field.label, Kind: field.kind, Value: fieldValue(values, field.name)}
		if field.kind == "date" {
			shown.Value = dayText(pc, shown.Value)
		}
		if field.choices != nil {
			all, err := field.choices(c, pc)
			if err != nil {
				return err
			}
			shown.choose(all, field)
		}
		shown.Wrong = pc.Wrong == shown.Label
		data.Selected = data.Selected || shown.Value != ""
		if !field.rare {
			data.Fields = append(data.Fields, shown)
			continue
		}
		data.More = append(data.More, shown)
		data.Open = data.Open || shown.Value != ""
	}
	return nil
}

// maySearch reports whether the operator may filter by data that identifies people.
func maySearch(pc *page.Context) bool {
	return pc.Domain.Kind == passerelle.Sandbox || pc.MayReveal()
}

// maxChoices is the largest number of choices that a page lists for a field. A field with more
// choices is a text field.
const maxChoices = 100

func (f *shownField) choose(all []choice, field listField) {
	if f.Label = field.labelFor(all); len(all) > maxChoices {
		return
	}
	for _, one := range all {
		one.Chosen = one.Value == f.Value
		f.Choices = append(f.Choices, one)
	}
}

// maxFilter is the largest number of characters in a field.
const maxFilter = 200

// listing returns the list that a form selects. It fails with Invalid for a wrong value.
func (c *Console) listing(pc *page.Context, values url.Values) (listing, error) {
	list := listing{PaymentFilter: store.PaymentFilter{Domain: pc.Domain.ID}, order: "register_date"}
	for _, field := range listFields {
		value := fieldValue(values, field.name)
		if value == "" {
			continue
		}
		value, err := c.checkField(pc, field, value)
		if err != nil {
			return list, err
		}
		if field.personal && !maySearch(pc) {
			return list, passerelle.InvalidField(field.label, "filters by personal data, which in a live domain requires an operator with the right to see it and a second factor")
		}
		list.personal = list.personal || field.personal
		if err := field.take(pc, &list, value); err != nil {
			return list, err
		}
	}
	if country := fieldValue(values, "country"); country != "" {
		list.within(c.Initiation.ConnectorUUIDs([]string{country}))
	}
	list.arrange()
	return list, list.checkBounds()
}

// checkBounds fails when an upper bound is less than its lower bound.
func (l *listing) checkBounds() error {
	if l.Most != 0 && l.Most < l.Least {
		return passerelle.InvalidField(labelMost, "must not be less than the minimum amount")
	}
	return page.CheckDays(labelLast, l.From, l.Until)
}

// checkField checks the value of a field and returns it. In a field with choices, the input must be
// a choice, the label of a choice, or a value that among accepts.
func (c *Console) checkField(pc *page.Context, field listField, value string) (string, error) {
	if err := passerelle.CheckText(field.label, value, maxFilter); err != nil || field.choices == nil {
		return value, err
	}
	all, err := field.choices(c, pc)
	if err != nil {
		return value, err
	}
	i := slices.IndexFunc(all, func(one choice) bool { return one.Value == value })
	if i < 0 {
		i = slices.IndexFunc(all, func(one choice) bool { return strings.EqualFold(one.Label, value) })
	}
	if i >= 0 {
		return all[i].Value, nil
	}
	if field.among != nil && len(all) > maxChoices {
		if is, err := field.among(c, pc, value); is || err != nil {
			return value, err
		}
	}
	return value, passerelle.InvalidField(field.labelFor(all), "is not one of the options")
}

// within limits the list to the connectors in uuids.
func (l *listing) within(uuids []string) {
	if l.Connectors == nil {
		l.Connectors = uuids
		return
	}
	l.Connectors = slices.DeleteFunc(l.Connectors, func(one string) bool { return !slices.Contains(uuids, one) })
}

// arrange chooses an order for which the database has an index.
func (l *listing) arrange() {
	switch {
	case l.LabelStart != "":
		l.order = "label"
	case l.Least != 0 || l.Most != 0:
		l.order = "amount"
	case l.DateField == "validate_date" && !(l.From.IsZero() && l.Until.IsZero()):
		l.order = "validate_date"
	}
}

func takeText(of func(*listing) *string) func(*page.Context, *listing, string) error {
	return func(_ *page.Context, l *listing, value string) error {
		*of(l) = value
		return nil
	}
}

func takeNumber(_ *page.Context, l *listing, value string) error {
	id, err := strconv.ParseInt(value, 10, 64)
	if err != nil || id <= 0 {
		return passerelle.InvalidField(labelNumber, "must be the number of a payment")
	}
	l.Only = passerelle.PaymentID(id)
	return nil
}

func takeLabel(_ *page.Context, l *listing, value string) error {
	l.LabelStart = value
	return nil
}

func takeFirst(pc *page.Context, l *listing, value string) error {
	var err error
	l.From, err = page.DayStart(labelFirst, dayText(pc, value), pc.Zone, 0)
	return err
}

func takeLast(pc *page.Context, l *listing, value string) error {
	var err error
	l.Until, err = page.DayStart(labelLast, dayText(pc, value), pc.Zone, 1)
	return err
}

func takeConnector(_ *page.Context, l *listing, value string) error {
	if l.NoConnector = value == page.NoConnector; !l.NoConnector {
		l.Connectors = []string{value}
	}
	return nil
}

func takeClient(_ *page.Context, l *listing, value string) error {
	id, err := strconv.ParseInt(value, 10, 64)
	l.Client = passerelle.ClientID(id)
	return err
}

// endLength is the number of characters that searches and filters accept as an account's end.
const endLength = 4

// takeAccount returns the function for a field that contains a complete account number or its last
// characters.
func takeAccount(of func(*listing) (whole, end *string)) func(*page.Context, *listing, string) error {
	return func(_ *page.Context, l *listing, value string) error {
		whole, end := of(l)
		if len(value) == endLength {
			*end = value
			return nil
		}
		*whole = value
		return nil
	}
}

// takeAmount returns the function for a field that contains an amount with at most two decimals.
func takeAmount(label string, of func(*listing) *int64) func(*page.Context, *listing, string) error {
	return func(_ *page.Context, l *listing, value string) error {
		amount, err := passerelle.ParseMoney(label, value, "EUR")
		if err == nil && amount.Minor <= 0 {
			err = passerelle.InvalidField(label, "must be more than zero")
		}
		*of(l) = amount.Minor
		return err
	}
}

// choicesOf returns the choices of a field with these values. The label of a value v is word(v).
func choicesOf[T, W ~string](values []T, word func(W) string) func(*Console, *page.Context) ([]choice, error) {
	return func(*Console, *page.Context) ([]choice, error) {
		var all []choice
		for _, one := range values {
			all = append(all, choice{Value: string(one), Label: word(W(one))})
		}
		return all, nil
	}
}

func dateChoices(*Console, *page.Context) ([]choice, error) {
	return []choice{{Value: "register_date", Label: "registration"}, {Value: "validate_date", Label: "validation"}}, nil
}

func (c *Console) connectorChoices(pc *page.Context) ([]choice, error) {
	profiles, err := c.Initiation.Initiators(pc, pc.Domain)
	all := []choice{{Value: page.NoConnector, Label: "none chosen"}}
	for _, p := range profiles {
		all = append(all, choice{Value: p.UUID, Label: p.Name})
	}
	return all, err
}

func (c *Console) countryChoices(pc *page.Context) ([]choice, error) {
	profiles, err := c.Initiation.Initiators(pc, pc.Domain)
	var codes []string
	for _, p := range profiles {
		codes = append(codes, p.Countries...)
	}
	slices.Sort(codes)
	all, _ := choicesOf(slices.Compact(codes), strings.ToUpper)(c, pc)
	return all, err
}

func (c *Console) clientChoices(pc *page.Context) ([]choice, error) {
	clients, err := c.DB.ClientPage(pc, pc.Domain.ID, store.Window{Limit: maxChoices + 1})
	var all []choice
	for _, one := range clients {
		all = append(all, choice{Value: strconv.FormatInt(int64(one.ID), 10), Label: one.Name})
	}
	return all, err
}

// isClient reports whether a value is the number of an application.
func (c *Console) isClient(pc *page.Context, value string) (bool, error) {
	id, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return false, nil //nolint:nilerr // no application has this number
	}
	_, err = c.DB.Client(pc, pc.Domain.ID, passerelle.ClientID(id))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
