package bankdata

import (
	"context"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/protocol"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// maxDocument is how large the body of a change is at most, with its file.
const maxDocument = 10 << 20

type editDocumentInput struct {
	whichDocument
	Type     *int64          `body:"id_type" min:"1" doc:"see /documenttypes"`
	Category *int64          `body:"id_category" min:"1"`
	Name     *string         `body:"name" max:"255"`
	Date     *string         `body:"date" doc:"YYYY-MM-DD"`
	Due      *string         `body:"duedate" doc:"YYYY-MM-DD"`
	Total    protocol.Number `body:"total_amount"`
	Untaxed  protocol.Number `body:"untaxed_amount"`
	VAT      protocol.Number `body:"vat"`
	Income   *bool           `body:"income" doc:"whether the total is money that came in"`
	ReadOnly *bool           `body:"readonly" doc:"true keeps the document as it is until it is set to false"`
	File     protocol.File   `body:"file" doc:"replaces the file of the document"`
}

func (s *Service) editDocument(ctx context.Context, c *protocol.Caller, in editDocumentInput) (wire.Document, error) {
	edit, err := in.edit()
	if err != nil {
		return wire.Document{}, err
	}
	before, err := s.document(ctx, c, in.whichDocument)
	if err != nil {
		return wire.Document{}, err
	}
	if err := s.Filing.EditDocument(ctx, c.Domain, before.Document, edit, in.File); err != nil {
		return wire.Document{}, err
	}
	after, err := s.document(ctx, c, in.whichDocument)
	if err != nil {
		return wire.Document{}, err
	}
	return s.showDocument(c, after, nil), nil
}

func (in editDocumentInput) edit() (store.DocumentEdit, error) {
	e := store.DocumentEdit{Name: in.Name, Category: in.Category, Income: in.Income, ReadOnly: in.ReadOnly}
	if in.Type != nil {
		names := passerelle.DocumentTypes()
		if *in.Type > int64(len(names)) {
			return e, passerelle.InvalidField("id_type", "must be the id of a document type, from 1 to %d", len(names))
		}
		e.Type = &names[*in.Type-1]
	}
	if in.File != nil && len(in.File) == 0 {
		return e, passerelle.InvalidField("file", "must not be empty")
	}
	for _, day := range []struct {
		field, text string
		into        **passerelle.Date
	}{{"date", textOf(in.Date), &e.Date}, {"duedate", textOf(in.Due), &e.Due}} {
		if day.text == "" {
			continue
		}
		read, err := passerelle.ParseDate(day.field, day.text)
		if err != nil {
			return e, err
		}
		*day.into = &read
	}
	for _, amount := range []struct {
		field string
		value protocol.Number
		into  **decimal.Decimal
	}{{"total_amount", in.Total, &e.Total}, {"untaxed_amount", in.Untaxed, &e.Untaxed}, {"vat", in.VAT, &e.VAT}} {
		var err error
		if *amount.into, err = bound(amount.field, string(amount.value)); err != nil {
			return e, err
		}
	}
	return e, nil
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
