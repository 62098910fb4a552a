package store

import (
	"fmt"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
)

// ownColumns are what a person set of a document, over what the provider says.
const ownColumns = `d.category, d.custom_type, d.custom_name, d.custom_date, d.custom_due, d.custom_total, d.custom_untaxed, d.custom_vat, d.custom_income`

// ownOfDocument is a row of ownColumns.
type ownOfDocument struct {
	category              *int64
	kind, name, date, due *string
	total, untaxed, vat   *string
	income                *bool
}

func (o *ownOfDocument) into() []any {
	return []any{&o.category, &o.kind, &o.name, &o.date, &o.due, &o.total, &o.untaxed, &o.vat, &o.income}
}

// over puts what the person set over the details.
func (o *ownOfDocument) over(d *passerelle.Document) error {
	d.Category = owner[int64](o.category)
	for _, own := range []struct {
		value *string
		put   func(string) error
	}{
		{o.kind, func(s string) error { d.Type = s; return nil }},
		{o.name, func(s string) error { d.Name = s; return nil }},
		{o.date, func(s string) error { return d.Date.UnmarshalText([]byte(s)) }},
		{o.due, func(s string) error { return d.Due.UnmarshalText([]byte(s)) }},
		{o.total, ownAmount(&d.Total)},
		{o.untaxed, ownAmount(&d.Untaxed)},
		{o.vat, ownAmount(&d.VAT)},
	} {
		if own.value == nil {
			continue
		}
		if err := own.put(*own.value); err != nil {
			return fmt.Errorf("read what was set of document %d: %w", d.ID, err)
		}
	}
	if o.income != nil {
		d.Income = *o.income
	}
	return nil
}

func ownAmount(into **decimal.Decimal) func(string) error {
	return func(s string) error {
		amount, err := decimal.Parse(s)
		*into = &amount
		return err
	}
}

// DocumentEdit is what a person may change of a document; nil leaves a thing as
// it is.
type DocumentEdit struct {
	Type, Name          *string
	Category            *int64
	Date, Due           *passerelle.Date
	Total, Untaxed, VAT *decimal.Decimal
	Income, ReadOnly    *bool
	// File is one that was uploaded, in place of the one it has.
	File *StoredFile
}

// None reports whether nothing is to be changed.
func (e DocumentEdit) None() bool { return e == DocumentEdit{} }

// EditDocument stores what the person set. ErrNotFound when the document is not
// there for them, or is read-only and stays so; ErrConflict when the time of the
// upload is over.
func (tx *Tx) EditDocument(domain passerelle.DomainID, user passerelle.UserID, id passerelle.DocumentID, e DocumentEdit, at time.Time) error {
	var total, scale *int64
	if e.Total != nil {
		value, err := coefficient(*e.Total)
		if err != nil {
			return fmt.Errorf("store the total of a document: %w", err)
		}
		digits := int64(e.Total.Scale())
		total, scale = &value, &digits
	}
	var file *int64
	if e.File != nil {
		tx.replaceFile(domain, user, id, *e.File)
		file = optionalID(e.File.ID)
	}
	tx.execOne(ErrNotFound, `UPDATE document SET custom_type = COALESCE($1, custom_type), type = COALESCE($1, type), custom_name = COALESCE($2, custom_name),
			category = COALESCE($3, category), custom_date = COALESCE($4, custom_date), date = COALESCE($4, date), custom_due = COALESCE($5, custom_due),
			custom_total = COALESCE($6, custom_total), total = COALESCE($7, total), total_scale = COALESCE($8, total_scale),
			custom_untaxed = COALESCE($9, custom_untaxed), custom_vat = COALESCE($10, custom_vat), custom_income = COALESCE($11, custom_income),
			readonly = COALESCE($12, readonly), last_update = $13, file_id = COALESCE($17, file_id)
		WHERE domain_id = $14 AND user_id = $15 AND id = $16 AND NOT (readonly AND COALESCE($12, TRUE))
			AND EXISTS (SELECT 1 FROM subscription s WHERE s.id = document.subscription_id AND s.epoch = document.epoch)`,
		e.Type, e.Name, e.Category, dayText(e.Date), dayText(e.Due), amountText(e.Total), total, scale, amountText(e.Untaxed), amountText(e.VAT), e.Income, e.ReadOnly, micros(at),
		int64(domain), int64(user), int64(id), file)
	return nil
}

func dayText(d *passerelle.Date) *string {
	if d == nil {
		return nil
	}
	return optionalDate(*d)
}

func amountText(d *decimal.Decimal) *string {
	if d == nil {
		return nil
	}
	text := d.String()
	return &text
}
