package banking

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

func (s *Service) documentRoutes() []httpapi.Route {
	list, lists := documentsAnywhere("")
	one, ones := documentsAnywhere("/{documentId}")
	file, files := documentsAnywhere("/{documentId}/file")
	_, named := documentsAnywhere("/{documentId}/file/{name}")
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: list, Aliases: lists, Needs: ofUser, Endpoint: httpapi.Handle(s.listDocuments),
			Summary: "List documents", Doc: "Lists documents, newest first. Ranges include their bounds. Documents without a total are excluded when min_amount or max_amount is given.",
		},
		{
			Method: http.MethodGet, Pattern: one, Aliases: ones, Needs: ofUser, Endpoint: httpapi.Handle(s.oneDocument),
			Summary: "Read a document",
		},
		{
			Method: http.MethodGet, Pattern: file, Aliases: slices.Concat(files, []string{file + "/{name}"}, named), Needs: ofUser, Endpoint: httpapi.Handle(s.documentFile),
			Errors:  []string{"rangeNotSatisfiable"},
			Summary: "Download the file of a document", Doc: "Returns the file, whole or in ranges. The path may end with a file name. If the service does not have the file yet, the call fetches it from the provider, which takes a while. Fails with 503 and Retry-After when the provider does not deliver it.",
		},
	}
}

// documentsAnywhere returns the patterns for the documents of a user, a subscription and a
// connection, in long and short form.
func documentsAnywhere(rest string) (string, []string) {
	var aliases []string
	rest = "/documents" + rest
	for _, place := range []string{"/subscriptions/{subscriptionId}", "/connections/{connectionId}", "/connections/{connectionId}/subscriptions/{subscriptionId}"} {
		aliases = append(aliases, "/users/{userId}"+place+rest, place+rest)
	}
	return "/users/{userId}" + rest, append(aliases, rest)
}

// documentPlace identifies the user in a path, and the connection and subscription if the path
// names them.
type documentPlace struct {
	oneUserInput
	Connection   passerelle.ConnectionID   `path:"connectionId,optional"`
	Subscription passerelle.SubscriptionID `path:"subscriptionId,optional"`
}

type whichDocument struct {
	documentPlace
	httpapi.All
	Document passerelle.DocumentID `path:"documentId"`
}

type listDocumentsInput struct {
	documentPlace
	documentQuery
}

type documentQuery struct {
	httpapi.Paging
	httpapi.DateRange
	httpapi.All
	httpapi.Expand[wire.Document]
	Type         *int64         `query:"id_type" min:"1" doc:"only documents of this type, see /documenttypes"`
	MinAmount    httpapi.Number `query:"min_amount" doc:"lowest total"`
	MaxAmount    httpapi.Number `query:"max_amount" doc:"highest total"`
	MinTimestamp string         `query:"min_timestamp" doc:"earliest timestamp, a DateTime or a date"`
	MaxTimestamp string         `query:"max_timestamp" doc:"latest timestamp, a DateTime or a date"`
}

type listDocumentsOutput struct {
	Documents []wire.Document `json:"documents"`
	FirstDate *string         `json:"first_date" doc:"of all stored documents"`
	LastDate  *string         `json:"last_date" doc:"of all stored documents"`
	httpapi.Listing
}

func (s *Service) listDocuments(ctx context.Context, c *httpapi.Caller, in listDocumentsInput) (listDocumentsOutput, error) {
	there, err := s.documentsAt(ctx, c, in.documentPlace, in.WithDisabled)
	if err != nil {
		return listDocumentsOutput{}, err
	}
	return s.documentPage(ctx, c, in.documentQuery, there)
}

// documentsAt returns a filter for all documents of a place. It fails when the place does not
// exist.
func (s *Service) documentsAt(ctx context.Context, c *httpapi.Caller, at documentPlace, all bool) (bankstore.DocumentFilter, error) {
	f := bankstore.DocumentFilter{Domain: c.Domain.ID, User: at.ID, Connection: at.Connection, Subscription: at.Subscription, All: all}
	if _, err := at.theirs(c); err != nil {
		return f, err
	}
	if at.Connection != 0 {
		if _, err := s.Aggregation.Connection(ctx, c.Domain, at.ID, at.Connection); err != nil {
			return f, err
		}
	}
	if at.Subscription != 0 {
		which := bankstore.SubscriptionFilter{IDs: []passerelle.SubscriptionID{at.Subscription}, Connection: at.Connection, All: all}
		found, err := s.subscriptions(ctx, c, at.oneUserInput, which)
		if err != nil {
			return f, err
		}
		f.Epoch = found[0].Epoch
	}
	return f, nil
}

func (s *Service) documentPage(ctx context.Context, c *httpapi.Caller, q documentQuery, there bankstore.DocumentFilter) (listDocumentsOutput, error) {
	if err := q.RequireLimit(c); err != nil {
		return listDocumentsOutput{}, err
	}
	f, err := q.filter(c, there)
	if err != nil {
		return listDocumentsOutput{}, err
	}
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, q.Paging,
		func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]bankstore.StoredDocument, error) {
			return bankstore.From(r).Documents(ctx, f, w.OfRows())
		},
		func(d bankstore.StoredDocument) httpapi.Position { return d.Place() },
		func(ctx context.Context, r *store.Reader) (int64, error) {
			return bankstore.From(r).CountDocuments(ctx, f)
		})
	if err != nil {
		return listDocumentsOutput{}, fmt.Errorf("list documents of user %d: %w", f.User, err)
	}
	shown, err := s.embedding(c).documents(ctx, rows, q.Expansion())
	if err != nil {
		return listDocumentsOutput{}, err
	}
	out := listDocumentsOutput{Documents: shown.list, Listing: listing}
	out.FirstDate, out.LastDate, err = s.documentDays(ctx, there)
	return out, err
}

// filter narrows f by the query parameters.
func (q documentQuery) filter(c *httpapi.Caller, f bankstore.DocumentFilter) (bankstore.DocumentFilter, error) {
	if !q.From().IsZero() {
		f.From = passerelle.DateOf(q.From(), c.Location)
	}
	if !q.Until().IsZero() {
		f.Until = passerelle.DateOf(q.Until(), c.Location).AddDays(-1)
	}
	if q.Type != nil {
		f.Types = []string{}
		if names := passerelle.DocumentTypes(); *q.Type <= int64(len(names)) {
			f.Types = append(f.Types, names[*q.Type-1])
		}
	}
	var err error
	if f, err = q.stamps(c, f); err != nil {
		return f, err
	}
	if f.Least, err = bound("min_amount", string(q.MinAmount)); err != nil {
		return f, err
	}
	f.Most, err = bound("max_amount", string(q.MaxAmount))
	return f, err
}

// stamps narrows f by the requested timestamps. Requested timestamps are in whole seconds.
func (q documentQuery) stamps(c *httpapi.Caller, f bankstore.DocumentFilter) (bankstore.DocumentFilter, error) {
	var err error
	f.Zone = c.Location
	if q.MinTimestamp != "" {
		if f.Since, err = passerelle.ParseInstant("min_timestamp", q.MinTimestamp, c.Location); err != nil {
			return f, err
		}
	}
	if q.MaxTimestamp != "" {
		_, f.Before, err = passerelle.ParseInterval("max_timestamp", q.MaxTimestamp, c.Location)
	}
	return f, err
}

// documentDays returns the days of the oldest and the newest document, or nil without documents.
func (s *Service) documentDays(ctx context.Context, f bankstore.DocumentFilter) (*string, *string, error) {
	var (
		first *string
		last  *string
	)
	for _, end := range []struct {
		day      **string
		backward bool
	}{{&first, true}, {&last, false}} {
		found, err := bankstore.From(s.DB).Documents(ctx, f, store.Window{Limit: 1, Backward: end.backward})
		if err != nil {
			return nil, nil, fmt.Errorf("find the first and the last document of user %d: %w", f.User, err)
		}
		for _, d := range found {
			*end.day = &d.Day
		}
	}
	return first, last, nil
}

type oneDocumentInput struct {
	whichDocument
	httpapi.Expand[wire.Document]
}

func (s *Service) oneDocument(ctx context.Context, c *httpapi.Caller, in oneDocumentInput) (wire.Document, error) {
	f, err := s.documentsAt(ctx, c, in.documentPlace, in.WithDisabled)
	if err != nil {
		return wire.Document{}, err
	}
	f.ID = in.Document
	return s.shownDocument(ctx, c, f, in.Expansion())
}

// shownDocument renders the one document that a filter selects.
func (s *Service) shownDocument(ctx context.Context, c *httpapi.Caller, f bankstore.DocumentFilter, e httpapi.Expansion) (wire.Document, error) {
	d, err := s.selected(ctx, f)
	if err != nil {
		return wire.Document{}, err
	}
	return s.showDocument(ctx, c, d, e)
}

// showDocument renders a document with the requested expansions.
func (s *Service) showDocument(ctx context.Context, c *httpapi.Caller, d bankstore.StoredDocument, e httpapi.Expansion) (wire.Document, error) {
	shown, err := s.embedding(c).documents(ctx, []bankstore.StoredDocument{d}, e)
	return shown.list[0], err
}

// document loads the document that the path names.
func (s *Service) document(ctx context.Context, c *httpapi.Caller, in whichDocument) (bankstore.StoredDocument, error) {
	f, err := s.documentsAt(ctx, c, in.documentPlace, in.WithDisabled)
	if err != nil {
		return bankstore.StoredDocument{}, err
	}
	f.ID = in.Document
	return s.selected(ctx, f)
}

// selected returns the one document that a filter selects.
func (s *Service) selected(ctx context.Context, f bankstore.DocumentFilter) (bankstore.StoredDocument, error) {
	found, err := bankstore.From(s.DB).Documents(ctx, f, store.Window{Limit: 1})
	if err != nil {
		return bankstore.StoredDocument{}, fmt.Errorf("load document %d: %w", f.ID, err)
	}
	if len(found) == 0 {
		return bankstore.StoredDocument{}, passerelle.Missing()
	}
	return found[0], nil
}

type documentFileInput struct {
	whichDocument
	Name string `path:"name,optional" doc:"any file name"`
}

func (s *Service) documentFile(ctx context.Context, c *httpapi.Caller, in documentFileInput) (httpapi.Content, error) {
	d, err := s.document(ctx, c, in.whichDocument)
	if err != nil {
		return httpapi.Content{}, err
	}
	return s.download(ctx, c, d.User, d.File, d.Name)
}
