package store

import (
	"context"
	"errors"
	"fmt"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/payment"
)

// paymentOrder is a sort key of lists of payments.
type paymentOrder struct {
	column string
	// optional is set for keys that may be null. Rows with a null key are last in both directions.
	optional bool
	// shared is set for keys that have the same value in very many payments.
	shared bool
}

// paymentOrders maps the names of the interface specification to sort keys. Each order has an index
// on the domain, the sort key and the id. Only the order of registration has further indexes, which
// begin with the domain and the value of a filter. For a filter and any other order, the database's
// planner chooses. It either sorts the selected payments, or reads all payments in order and skips
// those that the filter excludes.
var paymentOrders = map[string]paymentOrder{
	"id":                  {column: "id"},
	"register_date":       {column: "registered"},
	"validate_date":       {column: "validated", optional: true},
	"state":               {column: "state", shared: true},
	"connectors":          {column: "connector_name", optional: true, shared: true},
	"amount":              {column: "amount", shared: true},
	"instruction_count":   {column: "instruction_count", shared: true},
	"execution_date_type": {column: "date_type", shared: true},
	labelOrder:            {column: labelOrder, shared: true},
}

// labelOrder is the order of lists with a filter on the beginning of a label. Other lists cannot
// use it.
const labelOrder = "label"

// Listed is a payment in a page of a list, with its position in the list.
type Listed struct {
	*payment.Payment
	Place []any
}

// Payments reads a window of a domain's payments with their instructions and identities. If a
// payment changes between the queries, Payments reads it again. Payments fails for an unknown
// order. The order "label" and a filter by label require each other. Payments fails with
// ErrManyLines when the window has too many instructions, which is possible with more than 100
// payments.
func (r *Reader) Payments(ctx context.Context, f PaymentFilter, w Window, sensitive bool) ([]Listed, error) {
	order, known := paymentOrders[w.Order]
	if !known {
		return nil, fmt.Errorf("list payments: there is no order %q", w.Order)
	}
	if (w.Order == labelOrder) != (f.LabelStart != "") {
		return nil, fmt.Errorf("list payments: the order %q requires a filter by label, and the filter requires this order", labelOrder)
	}
	f, err := r.blinded(ctx, f)
	if err != nil {
		return nil, err
	}
	sql, args := f.page(w, order, r.rows.Dialect().EqualsApart)
	return r.listPayments(ctx, f.Domain, sensitive, sql, args)
}

// PaymentsByID reads the payments with these ids, the newest first. It ignores ids without a
// payment.
func (r *Reader) PaymentsByID(ctx context.Context, domain passerelle.DomainID, ids []passerelle.PaymentID, sensitive bool) ([]Listed, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, args := idList(domain, ids)
	return r.listPayments(ctx, domain, sensitive, `SELECT `+paymentColumns+`, registered FROM payment
		WHERE +domain_id = $1 AND id IN (`+list+`) ORDER BY registered DESC, id DESC`, args)
}

func (r *Reader) listPayments(ctx context.Context, domain passerelle.DomainID, sensitive bool, sql string, args []any) ([]Listed, error) {
	var page []*storedPayment
	listed, err := database.Collect(ctx, r.rows, func(row database.Row) (Listed, error) {
		var key any
		p, err := scanPayment(withMore{row, []any{&key}})
		if err == nil {
			err = r.openNumbers(p)
		}
		if err != nil {
			return Listed{}, err
		}
		page = append(page, p)
		return Listed{Payment: &p.Payment, Place: []any{key, int64(p.ID)}}, nil
	}, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("list payments: %w", err)
	}
	torn, err := r.loadParts(ctx, domain, page, sensitive)
	for _, p := range torn {
		whole, failure := r.Payment(ctx, domain, p.ID, sensitive)
		if failure != nil {
			return nil, errors.Join(err, failure)
		}
		p.Payment = *whole
	}
	return listed, err
}

// withMore scans additional columns after the columns that its caller expects.
type withMore struct {
	row  database.Row
	more []any
}

func (w withMore) Scan(dest ...any) error { return w.row.Scan(append(dest, w.more...)...) }

// CountPayments counts the payments that a filter selects. Without a filter it reads the number
// from counters. With a filter it stops counting at the argument atMost, which limits the cost.
func (r *Reader) CountPayments(ctx context.Context, f PaymentFilter, atMost int) (int64, error) {
	if f.Unfiltered() {
		return r.rows.Total(ctx, int64(f.Domain), "payment")
	}
	f, err := r.blinded(ctx, f)
	if err != nil {
		return 0, err
	}
	s, order := f.counted(), ""
	if f.PayerEnd != "" {
		order = " ORDER BY " + s.registered // otherwise PostgreSQL reads the index of complete account numbers, which also covers the last four characters
	}
	return database.One(ctx, r.rows, database.ScanInt, `SELECT count(*) FROM (SELECT 1 FROM `+s.From+` WHERE `+s.Conditions()+order+database.UpTo(atMost)+`) AS counted`, s.Args...)
}

// counted returns the selection for a count. The selection reads only instructions, if they
// suffice.
func (f PaymentFilter) counted() selection {
	s := f.among(f.selection())
	if s.lines != "" && len(s.Where) == 1 {
		s.From, s.Where = s.lines, []string{"TRUE"}
	}
	return s
}
