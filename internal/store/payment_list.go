package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"passerelle"
	"passerelle/payment"
)

// PaymentFilter selects payments of one domain. The zero value of every other
// field selects nothing away.
type PaymentFilter struct {
	Domain passerelle.DomainID
	// Only is the one payment that the caller's token reaches.
	Only  passerelle.PaymentID
	State string
	// DateField is the date that From (inclusive) and Until (exclusive)
	// bound: "validate_date", or "register_date" when it is anything else.
	DateField   string
	From, Until time.Time
}

// PaymentOrders are the sort keys of the list, by the names of the interface
// specification. Each has an index that begins with the domain.
var PaymentOrders = map[string]string{
	"id":            "id",
	"register_date": "registered",
	"state":         "state",
	"amount":        "amount",
}

// Window is the part of a list to be read: Limit rows in Order, from after the
// position From (the value of the order's key, and the id) on, or before it
// when Backward, the nearest first. Descending turns the order.
type Window struct {
	Order      string
	Descending bool
	Limit      int
	Offset     int64
	From       []any
	Backward   bool
}

// Listed is a payment of a page with its place in the order.
type Listed struct {
	*payment.Payment
	Place []any
}

// where writes the conditions of a filter and their arguments.
func (f PaymentFilter) where() (string, []any) {
	clauses, args := []string{"domain_id = $1"}, []any{int64(f.Domain)}
	add := func(clause string, value any) {
		args = append(args, value)
		clauses = append(clauses, fmt.Sprintf(clause, len(args)))
	}
	if f.Only != 0 {
		add("id = $%d", int64(f.Only))
	}
	if f.State != "" {
		add("state = $%d", f.State)
	}
	if !f.From.IsZero() {
		add(f.dateColumn()+" >= $%d", micros(f.From))
	}
	if !f.Until.IsZero() {
		add(f.dateColumn()+" < $%d", micros(f.Until))
	}
	return strings.Join(clauses, " AND "), args
}

func (f PaymentFilter) dateColumn() string {
	if f.DateField == "validate_date" {
		return "validated"
	}
	return "registered"
}

// unfiltered reports whether the filter selects the whole domain.
func (f PaymentFilter) unfiltered() bool {
	return f == PaymentFilter{Domain: f.Domain, DateField: f.DateField}
}

// Payments reads a window of a domain's payments with their lines and
// identities: one query for each of the three, whatever the number of rows. An
// order that is not of PaymentOrders is an error.
func (r *Reader) Payments(ctx context.Context, f PaymentFilter, w Window, sensitive bool) ([]Listed, error) {
	column, known := PaymentOrders[w.Order]
	if !known {
		return nil, fmt.Errorf("list payments: there is no order %q", w.Order)
	}
	sql, args := f.page(w, column)
	return r.listPayments(ctx, f.Domain, sensitive, sql, args)
}

func (f PaymentFilter) page(w Window, column string) (sql string, args []any) {
	where, args := f.where()
	direction, compare := "ASC", ">"
	if w.Descending != w.Backward {
		direction, compare = "DESC", "<"
	}
	if w.From != nil {
		where += fmt.Sprintf(" AND (%s, id) %s ($%d, $%d)", column, compare, len(args)+1, len(args)+2)
		args = append(args, w.From...)
	}
	sql = fmt.Sprintf(`SELECT %s, %s FROM payment WHERE %s ORDER BY %s %s, id %s LIMIT $%d OFFSET $%d`,
		paymentColumns, column, where, column, direction, direction, len(args)+1, len(args)+2)
	return sql, append(args, w.Limit, w.Offset)
}

func (r *Reader) listPayments(ctx context.Context, domain passerelle.DomainID, sensitive bool, sql string, args []any) ([]Listed, error) {
	var page []*storedPayment
	listed, err := collect(ctx, r, func(row scanner) (Listed, error) {
		var key any
		p, err := scanPayment(withKey{row, &key})
		if err != nil {
			return Listed{}, err
		}
		page = append(page, p)
		return Listed{Payment: &p.Payment, Place: []any{key, int64(p.ID)}}, nil
	}, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("list payments: %w", err)
	}
	return listed, r.loadParts(ctx, domain, page, sensitive)
}

// withKey scans one more column, the sort key, after those of the row.
type withKey struct {
	row scanner
	key *any
}

func (w withKey) Scan(dest ...any) error { return w.row.Scan(append(dest, w.key)...) }

// CountPayments is the exact number of payments that a filter selects. Without
// a filter it is read from counters; with one, the matches are counted.
func (r *Reader) CountPayments(ctx context.Context, f PaymentFilter) (int64, error) {
	if f.unfiltered() {
		return r.total(ctx, f.Domain, "payment")
	}
	where, args := f.where()
	return one(ctx, r, func(row scanner) (int64, error) {
		var n int64
		err := row.Scan(&n)
		return n, err
	}, `SELECT count(*) FROM payment WHERE `+where, args...)
}
