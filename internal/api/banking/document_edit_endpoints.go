package banking

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/wire"
)

func (s *Service) documentEditRoutes() []httpapi.Route {
	list, lists := documentsAnywhere("")
	one, ones := documentsAnywhere("/{documentId}")
	return []httpapi.Route{
		{
			Method: http.MethodPost, Pattern: list, Aliases: lists, Needs: ofUser, MaxBody: maxDocument, Creates: "document", Endpoint: httpapi.Handle(s.createDocument), Errors: []string{"conflict"},
			Summary: "Create a document", Doc: "Creates a document that did not come from the provider, under one of the user's subscriptions. Synchronisations do not change or remove it. A name is required. The type is other unless id_type names one. Send a file as a part of a multipart form, or in base64.",
		},
		{
			Method: httpapi.Update, Pattern: one, Aliases: ones, Needs: ofUser, MaxBody: maxDocument, Endpoint: httpapi.Handle(s.editDocument), Errors: []string{"conflict"},
			Summary: "Change a document", Doc: "Omitted members keep their values. Synchronisations do not overwrite the changes. Send a file as a part of a multipart form, or in base64. The type of the file is determined from its content. Fails with conflict when the document is read-only.",
		},
	}
}

// maxDocument is the largest body of a call that creates or changes a document, in bytes. The body
// includes the file.
const maxDocument = 10 << 20

type editDocumentInput struct {
	whichDocument
	documentFields
}

// documentFields contains the fields of documents that a call can set.
type documentFields struct {
	Type     *int64                           `body:"id_type" min:"1" doc:"see /documenttypes"`
	Category httpapi.Nullable[int64]          `body:"id_category" doc:"null for none"`
	Name     httpapi.Nullable[string]         `body:"name" max:"255" doc:"null restores the provider's name"`
	Date     httpapi.Nullable[string]         `body:"date" doc:"YYYY-MM-DD; null for none"`
	Due      httpapi.Nullable[string]         `body:"duedate" doc:"YYYY-MM-DD; null for none"`
	Total    httpapi.Nullable[httpapi.Number] `body:"total_amount" doc:"null for none"`
	Untaxed  httpapi.Nullable[httpapi.Number] `body:"untaxed_amount" doc:"null for none"`
	VAT      httpapi.Nullable[httpapi.Number] `body:"vat" doc:"null for none"`
	Income   *bool                            `body:"income" doc:"whether the total is incoming money"`
	ReadOnly *bool                            `body:"readonly" doc:"true prevents changes to the document until it is set to false"`
	File     httpapi.FileContent              `body:"file" doc:"the file, which replaces the document's present file"`
}

func (s *Service) editDocument(ctx context.Context, c *httpapi.Caller, in editDocumentInput) (wire.Document, error) {
	edit, err := in.edit()
	if err != nil {
		return wire.Document{}, err
	}
	before, err := s.document(ctx, c, in.whichDocument)
	if err != nil {
		return wire.Document{}, err
	}
	if err := s.Documents.EditDocument(ctx, c.Domain, before.Document, edit, in.File); err != nil {
		return wire.Document{}, err
	}
	after, err := s.document(ctx, c, in.whichDocument)
	if err != nil {
		return wire.Document{}, err
	}
	return s.showDocument(ctx, c, after, nil)
}

type createDocumentInput struct {
	documentPlace
	IDSubscription passerelle.SubscriptionID `body:"id_subscription" min:"1" doc:"subscription that the document belongs to; required unless the path names it"`
	documentFields
}

// createDocument creates a document that the provider does not have.
func (s *Service) createDocument(ctx context.Context, c *httpapi.Caller, in createDocumentInput) (wire.Document, error) {
	if _, err := s.documentsAt(ctx, c, in.documentPlace, false); err != nil {
		return wire.Document{}, err
	}
	into, err := in.subscription()
	if err != nil {
		return wire.Document{}, err
	}
	edit, err := in.edit()
	if err == nil && edit.Name.Value == nil {
		err = passerelle.MissingField("name", "is required")
	}
	if err != nil {
		return wire.Document{}, err
	}
	found, err := s.subscriptions(ctx, c, in.oneUserInput, bankstore.SubscriptionFilter{IDs: []passerelle.SubscriptionID{into}, Connection: in.Connection})
	if errors.Is(err, passerelle.NotFound) && in.Subscription == 0 {
		err = passerelle.InvalidField("id_subscription", "must be the id of an enabled subscription of the user, see GET /users/me/subscriptions")
	}
	if err != nil {
		return wire.Document{}, err
	}
	id, err := s.Documents.CreateDocument(ctx, c.Domain, found[0], edit, in.File)
	if err != nil {
		return wire.Document{}, err
	}
	return s.shownDocument(ctx, c, bankstore.DocumentFilter{Domain: c.Domain.ID, User: found[0].User, ID: id}, nil)
}

// subscription returns the subscription of the new document.
func (in createDocumentInput) subscription() (passerelle.SubscriptionID, error) {
	switch named := in.IDSubscription; {
	case in.Subscription == 0 && named == 0:
		return 0, passerelle.MissingField("id_subscription", "is required: a document belongs to a subscription")
	case in.Subscription != 0 && named != 0 && named != in.Subscription:
		return 0, passerelle.InvalidField("id_subscription", "must be %d, the subscription in the path, or be omitted", in.Subscription)
	}
	return cmp.Or(in.Subscription, in.IDSubscription), nil
}

func (in documentFields) edit() (bankstore.DocumentEdit, error) {
	e := bankstore.DocumentEdit{Income: in.Income, ReadOnly: in.ReadOnly}
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
	day := func(field string) func(string) (passerelle.Date, error) {
		return func(text string) (passerelle.Date, error) { return passerelle.ParseDate(field, text) }
	}
	amount := func(field string) func(httpapi.Number) (decimal.Decimal, error) {
		return func(n httpapi.Number) (decimal.Decimal, error) { return amountOf(field, n) }
	}
	return e, cmp.Or(
		own(&e.Name, in.Name, documentName),
		own(&e.Category, in.Category, documentCategory),
		own(&e.Date, in.Date, day("date")),
		own(&e.Due, in.Due, day("duedate")),
		own(&e.Total, in.Total, amount("total_amount")),
		own(&e.Untaxed, in.Untaxed, amount("untaxed_amount")),
		own(&e.VAT, in.VAT, amount("vat")),
	)
}

// own reads the value that a request sets for one field. Null clears the user's value.
func own[T ~string | ~int64 | ~bool, U any](into *bankstore.Own[U], supplied httpapi.Nullable[T], read func(T) (U, error)) error {
	if into.Set = supplied.Present; !supplied.Present || supplied.Null {
		return nil
	}
	value, err := read(supplied.Value)
	into.Value = &value
	return err
}

func documentName(name string) (string, error) {
	if name == "" {
		return "", passerelle.InvalidField("name", "must not be empty; null restores the provider's name")
	}
	return name, nil
}

func documentCategory(id int64) (int64, error) {
	if id < 1 {
		return 0, passerelle.InvalidField("id_category", "must be at least 1")
	}
	return id, nil
}

// amountOf parses the amount in a field.
func amountOf(field string, supplied httpapi.Number) (decimal.Decimal, error) {
	d, err := bound(field, string(supplied))
	if err != nil {
		return decimal.Decimal{}, err
	}
	if d == nil {
		return decimal.Decimal{}, passerelle.InvalidField(field, "must be a number, or null for none")
	}
	return *d, nil
}
