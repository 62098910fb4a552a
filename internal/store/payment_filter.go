package store

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"passerelle"
	"passerelle/internal/database"
)

// PaymentFilter selects payments of one domain. Domain is required. Any other field with its zero
// value does not filter. Texts must equal the stored texts, except LabelStart and account numbers.
// Account numbers may contain spaces and small letters.
type PaymentFilter struct {
	Domain passerelle.DomainID
	// Only is the single payment that the caller's token may access, zero for all.
	Only          passerelle.PaymentID
	State         string
	ErrorCode     string
	BankPaymentID string
	// Source is the channel of a payment, zero for any. It must be a source of one of
	// Connectors, because the search uses the index of connectors.
	Source   int64
	Website  string
	DateType string
	// Payer and Beneficiary are account numbers, and Reference is an end-to-end identifier. A bulk
	// payment matches when one of its instructions matches.
	Payer       string
	Beneficiary string
	Reference   string
	// PayerEnd and BeneficiaryEnd are the last four characters of an account number.
	PayerEnd       string
	BeneficiaryEnd string
	// LabelStart is the beginning of an instruction's label, in upper or lower case. A list with
	// this filter can only have the order "label".
	LabelStart string
	// Client is the application that registered the payment, zero for any.
	Client      passerelle.ClientID
	ClientState string // only together with Beneficiary, because no index contains it
	// Least and Most limit the amount in minor units. Both are inclusive, and zero means no limit.
	Least, Most int64

	// labels is the range of labels that the window reads, empty for all.
	labels labelRange
	// Connectors selects payments with one of the UUIDs. Nil means any. An empty list selects no
	// payments. NoConnector selects payments without a connector.
	Connectors  []string
	NoConnector bool
	// DateField names the date that From (inclusive) and Until (exclusive) limit. It is
	// "validate_date"; any other value means "register_date".
	DateField   string
	From, Until time.Time
}

// selection is a filter in SQL. Its first argument is the domain.
type selection struct {
	database.Selection
	// lines is a query for the instructions from which the search begins, one instruction for each
	// payment. It is empty when the search begins with payments.
	lines string
	// lookedUp means that the query finds payments by their ids only.
	lookedUp bool
	// registered and id are the columns of the default order, and label is the column of the
	// order by label.
	registered, id, label string
}

// itself is the condition that selects a single payment.
const itself = "id = $%d"

// byID makes the database read each payment by its id. Without statistics, a planner expects only a
// few rows in the whole domain, and might read the whole domain instead.
func (s selection) byID() selection {
	s.Where, s.lookedUp = append([]string{database.Opaque("domain_id = $1")}, s.Where[1:]...), true
	return s
}

// and adds a condition to the selection. Each %d in the clause stands for the number of a value's
// parameter.
func (s selection) and(clause string, values ...any) selection {
	if s.lookedUp && clause != itself && !strings.Contains(clause, "line_") {
		clause = database.Opaque(clause)
	}
	s.Selection = s.And(clause, values...)
	return s
}

// selection returns the conditions of the filter. It omits the condition on several connectors,
// because the payments of each connector can be read as a separate list.
func (f PaymentFilter) selection() selection {
	s := f.source()
	if f.Only != 0 {
		s = s.and(itself, int64(f.Only)).byID()
	}
	if end := number(f.PayerEnd); end != "" {
		s = s.and("payer_identification IS NOT NULL AND "+endOf("payer_identification")+" = $%d", end) // the same text as in the index
	}
	for _, is := range []struct {
		clause string
		value  int64
	}{
		{"client_id = $%d", int64(f.Client)}, {"amount >= $%d", f.Least}, {"amount <= $%d", f.Most}, {"source_id = $%d", f.Source},
	} {
		if is.value != 0 {
			s = s.and(is.clause, is.value)
		}
	}
	for _, is := range []struct{ column, value string }{
		{"state", f.State},
		{"error_code", f.ErrorCode},
		{"bank_payment_id", f.BankPaymentID},
		{"website", f.Website},
		{"client_state", f.ClientState},
		{"date_type", f.DateType},
		{"payer_identification", number(f.Payer)},
	} {
		if is.value != "" {
			s = s.and(is.column+" = $%d", is.value)
		}
	}
	return f.dates(f.connectors(s))
}

// endOf returns the expression that the indexes of the last four characters contain.
func endOf(column string) string { return "substr(" + column + ", length(" + column + ") - 3)" }

// lineFilter is a condition on an instruction. Each %d in its clause stands for the number of a
// value's parameter. The field `once` is a second condition, which holds for exactly one of the
// matching instructions of a payment.
type lineFilter struct {
	clause, once string
	values       []any
}

// lineFilters returns the conditions on instructions. The query searches instructions by the first
// condition.
func (f PaymentFilter) lineFilters() []lineFilter {
	var filters []lineFilter
	if start := database.Fold(f.LabelStart); start != "" {
		from, until := cmp.Or(f.labels.from, start), cmp.Or(f.labels.until, untilLabel(start))
		filters = append(filters, lineFilter{
			clause: "label_folded >= $%d AND label_folded < $%d", once: fmt.Sprintf("label_shared < %d", len(start)), values: []any{from, until},
		})
	}
	for _, is := range []struct{ column, once, value string }{
		{"reference_id", "new_reference", f.Reference},
		{"beneficiary_identification", "new_beneficiary", number(f.Beneficiary)},
		{endOf("beneficiary_identification"), "new_end", number(f.BeneficiaryEnd)},
	} {
		if is.value != "" {
			filters = append(filters, lineFilter{is.column + " = $%d", is.once, []any{is.value}})
		}
	}
	return filters
}

// labelRange is a range of folded labels. The limit `from` is inclusive, and `until` is exclusive.
type labelRange struct{ from, until string }

// untilLabel returns the exclusive end of the range of labels that begin with start.
func untilLabel(start string) string { return start + string(utf8.MaxRune) }

// towards leaves out the labels before the window's position, in the direction of reading. If the
// window reads upwards, its position becomes the lower limit; otherwise it becomes the upper limit.
// The position replaces the filter's own limit, because a database may use the wider of two lower
// or two upper limits.
func (f PaymentFilter) towards(w Window) PaymentFilter {
	key, from := "", w.From != nil
	if from {
		key, from = w.From[0].(string)
	}
	switch {
	case !from || key < database.Fold(f.LabelStart):
		return f
	case w.Descending != w.Backward:
		f.labels.until = min(key+"\x01", untilLabel(database.Fold(f.LabelStart))) // includes the key itself, but not longer labels that begin with the key
	default:
		f.labels.from = key
	}
	return f
}

// source returns the table that the query begins with, and the conditions on instructions. The
// query begins with the table of instructions if the filter selects by a value of the instructions.
// The indexes of this table return payments in the order of registration or, for a label, in the
// order of labels.
func (f PaymentFilter) source() selection {
	s := selection{
		Selection:  database.Selection{From: "payment", Where: []string{"domain_id = $1"}, Args: []any{int64(f.Domain)}},
		registered: "registered", id: "id",
	}
	filters := f.lineFilters()
	if len(filters) == 0 {
		return s
	}
	line := database.Selection{Where: []string{"domain_id = $1", filters[0].once}, Args: s.Args}.And(filters[0].clause, filters[0].values...)
	s.lines = `(SELECT payment_id AS line_payment, registered AS line_registered, label_folded AS line_label FROM instruction
		WHERE ` + line.Conditions() + `) AS line`
	s.From = s.lines + ` JOIN payment ON payment.id = line_payment`
	s = s.byID()
	s.Args, s.registered, s.id, s.label = line.Args, "line_registered", "line_payment", "line_label"
	for _, other := range filters[1:] {
		s = s.and(`EXISTS (SELECT 1 FROM instruction other WHERE other.payment_id = payment.id AND `+other.clause+`)`, other.values...)
	}
	return s
}

// separators removes the spaces and hyphens that account numbers in requests may have.
var separators = strings.NewReplacer(" ", "", "-", "")

// number returns an account number in stored form: in capital letters, without separators.
func number(s string) string { return strings.ToUpper(separators.Replace(s)) }

func (f PaymentFilter) connectors(s selection) selection {
	switch {
	case f.Connectors != nil && (len(f.Connectors) == 0 || f.NoConnector):
		return s.and("FALSE")
	case f.NoConnector:
		return s.and("connector_uuid IS NULL")
	case len(f.Connectors) == 1:
		return s.and("connector_uuid = $%d", f.Connectors[0])
	}
	return s
}

// among adds the condition on connectors to a selection, if the filter has several connectors.
func (f PaymentFilter) among(s selection) selection {
	if len(f.Connectors) < 2 {
		return s
	}
	values := make([]any, len(f.Connectors))
	for i, uuid := range f.Connectors {
		values[i] = uuid
	}
	return s.and("connector_uuid IN ("+strings.Repeat(", $%d", len(values))[2:]+")", values...)
}

// dates adds the conditions on a date. A payment is validated only after its registration. A list
// in the order of registration can therefore leave out the payments registered at Until or later.
func (f PaymentFilter) dates(s selection) selection {
	column := f.dateColumn()
	if !f.From.IsZero() {
		s = s.and(column+" >= $%d", database.Micros(f.From))
	}
	if !f.Until.IsZero() {
		s = s.and(column+" < $%d", database.Micros(f.Until))
	}
	if !f.Until.IsZero() && column != "registered" {
		s = s.and(s.registered+" < $%d", database.Micros(f.Until))
	}
	return s
}

func (f PaymentFilter) dateColumn() string {
	if f.DateField == "validate_date" {
		return "validated"
	}
	return "registered"
}

// bounds reports whether the filter limits the dates in a column.
func (f PaymentFilter) bounds(column string) bool {
	return column == f.dateColumn() && (!f.From.IsZero() || !f.Until.IsZero())
}

// Unfiltered reports whether the filter selects the whole domain.
func (f PaymentFilter) Unfiltered() bool {
	s := f.among(f.selection())
	return s.From == "payment" && len(s.Where) == 1
}
