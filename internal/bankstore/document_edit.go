package bankstore

import (
	"fmt"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// ownColumns are the values that the user set for a document. They take precedence over the
// provider's values.
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

// applyTo replaces the provider's values in a document with the user's values.
func (o *ownOfDocument) applyTo(d *passerelle.Document) error {
	d.Category = database.ID[int64](o.category)
	for _, own := range []struct {
		value *string
		put   func(string) error
	}{
		{o.kind, func(s string) error { d.Type = s; return nil }},
		{o.name, func(s string) error { d.Name = s; return nil }},
		{o.date, ownDay(&d.Date)},
		{o.due, ownDay(&d.Due)},
		{o.total, ownAmount(&d.Total)},
		{o.untaxed, ownAmount(&d.Untaxed)},
		{o.vat, ownAmount(&d.VAT)},
	} {
		if own.value == nil {
			continue
		}
		if err := own.put(*own.value); err != nil {
			return fmt.Errorf("read the changed fields of document %d: %w", d.ID, err)
		}
	}
	if o.income != nil {
		d.Income = *o.income
	}
	return nil
}

// A day or an amount that the user cleared is stored as an empty text. The provider's value
// therefore does not appear again.

func ownDay(into *passerelle.Date) func(string) error {
	return func(s string) error {
		if *into = (passerelle.Date{}); s == "" {
			return nil
		}
		return into.UnmarshalText([]byte(s))
	}
}

func ownAmount(into **decimal.Decimal) func(string) error {
	return func(s string) error {
		if *into = nil; s == "" {
			return nil
		}
		amount, err := decimal.Parse(s)
		*into = &amount
		return err
	}
}

// Own is a user's change of one value: no change, a new value, or a cleared value.
type Own[T any] struct {
	Set   bool
	Value *T
}

// DocumentEdit contains the values of a document that a user may change. When the user clears the
// name, the provider's name appears again. Any other cleared value stays empty.
type DocumentEdit struct {
	Type                *string
	Name                Own[string]
	Category            Own[int64]
	Date, Due           Own[passerelle.Date]
	Total, Untaxed, VAT Own[decimal.Decimal]
	Income, ReadOnly    *bool
	// File is an uploaded file that replaces the present file.
	File *StoredFile
}

// None reports whether the edit changes nothing.
func (e DocumentEdit) None() bool { return e == DocumentEdit{} }

// EditDocument stores a user's changes. Write fails with ErrConflict when the upload has expired.
// It fails with ErrNotFound when the user has no such document, or when the document is read-only
// before and after the edit.
func (tx Tx) EditDocument(domain passerelle.DomainID, d passerelle.Document, e DocumentEdit, at time.Time) error {
	var total, scale *int64
	if e.Total.Value != nil {
		value, err := coefficient(*e.Total.Value)
		if err != nil {
			return fmt.Errorf("store the total of a document: %w", err)
		}
		digits := int64(e.Total.Value.Scale())
		total, scale = &value, &digits
	}
	var file *int64
	if e.File != nil {
		tx.replaceFile(domain, d.User, d.ID, *e.File)
		file = database.OptionalID(e.File.ID)
	}
	own := dayText(e.Date)
	listed := own
	if own != nil && *own == "" {
		listed = new(documentDay(passerelle.DocumentDetails{}, d.Found))
	}
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE document SET custom_type = COALESCE($1, custom_type), type = COALESCE($1, type), custom_name = CASE WHEN $2 THEN $3 ELSE custom_name END,
			category = CASE WHEN $4 THEN $5 ELSE category END, custom_due = COALESCE($6, custom_due),
			custom_total = COALESCE($7, custom_total), total = CASE WHEN $8 THEN $9 ELSE total END, total_scale = CASE WHEN $8 THEN $10 ELSE total_scale END,
			custom_untaxed = COALESCE($11, custom_untaxed), custom_vat = COALESCE($12, custom_vat), custom_income = COALESCE($13, custom_income),
			readonly = COALESCE($14, readonly), last_update = $15, file_id = COALESCE($16, file_id),
			custom_date = COALESCE($20, custom_date), date = COALESCE($21, date)
		WHERE +domain_id = $17 AND +user_id = $18 AND id = $19 AND NOT (readonly AND COALESCE($14, TRUE))
			AND EXISTS (SELECT 1 FROM subscription s WHERE s.id = document.subscription_id AND s.epoch = document.epoch)`,
		e.Type, e.Name.Set, e.Name.Value, e.Category.Set, e.Category.Value, dayText(e.Due), amountText(e.Total), e.Total.Set, total, scale,
		amountText(e.Untaxed), amountText(e.VAT), e.Income, e.ReadOnly, database.Micros(at), file, int64(domain), int64(d.User), int64(d.ID),
		own, listed)
	return nil
}

// dayText returns a day in stored form. The result is empty when the user cleared the day, and nil
// when the day does not change.
func dayText(day Own[passerelle.Date]) *string {
	return ownText(day, passerelle.Date.String)
}

func amountText(amount Own[decimal.Decimal]) *string {
	return ownText(amount, decimal.Decimal.String)
}

func ownText[T any](own Own[T], text func(T) string) *string {
	if !own.Set {
		return nil
	}
	said := ""
	if own.Value != nil {
		said = text(*own.Value)
	}
	return &said
}
