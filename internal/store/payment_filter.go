package store

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"passerelle"
)

// PaymentFilter selects payments of one domain. The zero value of every other
// field selects nothing away. Texts are compared as they are stored; account
// numbers may come with spaces and in small letters.
type PaymentFilter struct {
	Domain passerelle.DomainID
	// Only is the one payment that the caller's token reaches.
	Only          passerelle.PaymentID
	State         string
	ErrorCode     string
	BankPaymentID string
	Website       string
	DateType      string
	// Payer and Beneficiary are account numbers, Reference an end-to-end
	// identifier; of a bulk, one line is enough.
	Payer       string
	Beneficiary string
	Reference   string
	// Connectors are UUIDs of which the payment has one: nil for no filter,
	// empty for one that no payment passes. NoConnector selects payments
	// without any.
	Connectors  []string
	NoConnector bool
	// DateField is the date that From (inclusive) and Until (exclusive)
	// bound: "validate_date", or "register_date" when it is anything else.
	DateField   string
	From, Until time.Time
}

// selection is a filter in SQL: a source of rows, conditions, and arguments of
// which the first is the domain.
type selection struct {
	from  string
	where []string
	args  []any
	// registered and id are the columns of the list's own order.
	registered, id string
}

// and narrows the selection. The clause has a %d for the number of each value.
func (s selection) and(clause string, values ...any) selection {
	numbers := make([]any, len(values))
	for i := range values {
		numbers[i] = len(s.args) + 1 + i
	}
	s.where = append(slices.Clip(s.where), fmt.Sprintf(clause, numbers...))
	s.args = append(slices.Clip(s.args), values...)
	return s
}

func (s selection) conditions() string { return strings.Join(s.where, " AND ") }

// selection is what the filter selects, but for its connectors when there are
// several: each of them can be a list of its own.
func (f PaymentFilter) selection() selection {
	s := f.source()
	if f.Only != 0 {
		s = s.and("id = $%d", int64(f.Only))
	}
	for _, is := range []struct{ column, value string }{
		{"state", f.State},
		{"error_code", f.ErrorCode},
		{"bank_payment_id", f.BankPaymentID},
		{"website", f.Website},
		{"date_type", f.DateType},
		{"payer_identification", number(f.Payer)},
	} {
		if is.value != "" {
			s = s.and(is.column+" = $%d", is.value)
		}
	}
	return f.dates(f.connectors(s))
}

// source begins with the lines when the filter names a value of theirs, so that
// payments come in the order of registration straight from the index of lines.
func (f PaymentFilter) source() selection {
	s := selection{from: "payment", where: []string{"domain_id = $1"}, args: []any{int64(f.Domain)}, registered: "registered", id: "id"}
	const line = `(SELECT payment_id AS line_payment, registered AS line_registered FROM instruction
		WHERE domain_id = $1 AND %s = $2 AND %s) AS line JOIN payment ON payment.id = line_payment`
	beneficiary := number(f.Beneficiary)
	switch {
	case f.Reference != "":
		s.from, s.args = fmt.Sprintf(line, "reference_id", "new_reference"), append(s.args, f.Reference)
	case beneficiary != "":
		s.from, s.args = fmt.Sprintf(line, "beneficiary_identification", "new_beneficiary"), append(s.args, beneficiary)
	default:
		return s
	}
	s.registered, s.id = "line_registered", "line_payment"
	if f.Reference != "" && beneficiary != "" {
		s = s.and(`EXISTS (SELECT 1 FROM instruction other WHERE other.payment_id = payment.id AND other.beneficiary_identification = $%d)`, beneficiary)
	}
	return s
}

// number is an account number in the form in which it is stored.
func number(s string) string { return strings.ToUpper(strings.ReplaceAll(s, " ", "")) }

func (f PaymentFilter) connectors(s selection) selection {
	if f.NoConnector {
		s = s.and("connector_uuid IS NULL")
	}
	switch {
	case f.Connectors != nil && len(f.Connectors) == 0:
		return s.and("FALSE")
	case len(f.Connectors) == 1:
		return s.and("connector_uuid = $%d", f.Connectors[0])
	}
	return s
}

// among narrows a selection to several connectors at once.
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

// dates bounds a date. Nobody validates a payment before it is registered,
// which lets a list in the order of registration end where no more can come.
func (f PaymentFilter) dates(s selection) selection {
	column := f.dateColumn()
	if !f.From.IsZero() {
		s = s.and(column+" >= $%d", micros(f.From))
	}
	if !f.Until.IsZero() {
		s = s.and(column+" < $%d", micros(f.Until))
	}
	if !f.Until.IsZero() && column != "registered" {
		s = s.and(s.registered+" < $%d", micros(f.Until))
	}
	return s
}

func (f PaymentFilter) dateColumn() string {
	if f.DateField == "validate_date" {
		return "validated"
	}
	return "registered"
}

// unfiltered reports whether the filter selects the whole domain.
func (f PaymentFilter) unfiltered() bool {
	s := f.among(f.selection())
	return s.from == "payment" && len(s.where) == 1
}
