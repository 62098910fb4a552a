package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"passerelle"
	"passerelle/internal/protocol"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// documentRoutes are the same two calls below a user, one of their subscriptions
// and one of their connections.
func (s *Service) documentRoutes() []protocol.Route {
	return slices.Concat(
		documentsBelow("", protocol.Handle(listDocuments[documentsOfUser](s)), protocol.Handle(oneDocument[documentOfUser](s))),
		documentsBelow("/subscriptions/{subscriptionId}", protocol.Handle(listDocuments[documentsOfSubscription](s)), protocol.Handle(oneDocument[documentOfSubscription](s))),
		documentsBelow("/connections/{connectionId}", protocol.Handle(listDocuments[documentsOfConnection](s)), protocol.Handle(oneDocument[documentOfConnection](s))),
		[]protocol.Route{{
			Method: http.MethodGet, Pattern: "/documenttypes", Needs: public, Endpoint: protocol.Handle(documentTypes),
			Summary: "List the types of documents",
		}},
	)
}

func documentsBelow(place string, list, one protocol.Endpoint) []protocol.Route {
	short := place + "/documents"
	long := "/users/{userId}" + short
	const item = "/{documentId}"
	return []protocol.Route{
		{
			Method: http.MethodGet, Pattern: long, Aliases: []string{short}, Needs: ofUser, Endpoint: list,
			Summary: "List documents", Doc: "The newest first. All bounds belong to the range; a document without a total is outside of any bound of it.",
		},
		{
			Method: http.MethodGet, Pattern: long + item, Aliases: []string{short + item}, Needs: ofUser, Endpoint: one,
			Summary: "Read a document",
		},
	}
}

// documentPlace is where documents are looked for.
type documentPlace struct {
	user         passerelle.UserID
	connection   passerelle.ConnectionID   // zero for all
	subscription passerelle.SubscriptionID // zero for all
}

type inSubscription struct {
	oneUserInput
	Subscription passerelle.SubscriptionID `path:"subscriptionId"`
}

func (in oneUserInput) documents() documentPlace { return documentPlace{user: in.ID} }

func (in inSubscription) documents() documentPlace {
	return documentPlace{user: in.ID, subscription: in.Subscription}
}

func (in inConnection) documents() documentPlace {
	return documentPlace{user: in.ID, connection: in.Connection}
}

// The inputs of the calls: a place, and what the call takes.
type (
	documentsOfUser struct {
		oneUserInput
		documentQuery
	}
	documentsOfSubscription struct {
		inSubscription
		documentQuery
	}
	documentsOfConnection struct {
		inConnection
		documentQuery
	}
	documentOfUser struct {
		oneUserInput
		whichDocument
		protocol.Expand `names:"type"`
	}
	documentOfSubscription struct {
		inSubscription
		whichDocument
		protocol.Expand `names:"type"`
	}
	documentOfConnection struct {
		inConnection
		whichDocument
		protocol.Expand `names:"type"`
	}
)

type documentQuery struct {
	protocol.Page
	protocol.DateRange
	protocol.All
	protocol.Expand `names:"type"`
	Type            *int64          `query:"id_type" min:"1" doc:"only documents of this type, see /documenttypes"`
	MinAmount       protocol.Number `query:"min_amount" doc:"least total"`
	MaxAmount       protocol.Number `query:"max_amount" doc:"greatest total"`
}

func (q documentQuery) query() documentQuery { return q }

type whichDocument struct {
	protocol.All
	Document passerelle.DocumentID `path:"documentId"`
}

func (in whichDocument) which() whichDocument { return in }

type listDocumentsOutput struct {
	Documents []wire.Document `json:"documents"`
	FirstDate *string         `json:"first_date" doc:"of all documents that are there"`
	LastDate  *string         `json:"last_date" doc:"of all documents that are there"`
	protocol.Listing
}

// listOfDocuments is one of the three inputs of the list.
type listOfDocuments interface {
	documents() documentPlace
	query() documentQuery
}

func listDocuments[In listOfDocuments](s *Service) func(context.Context, *protocol.Caller, In) (listDocumentsOutput, error) {
	return func(ctx context.Context, c *protocol.Caller, in In) (listDocumentsOutput, error) {
		q := in.query()
		if c.Strict && !q.LimitGiven() {
			return listDocumentsOutput{}, passerelle.MissingField("limit", "is required, from 1 to 1000")
		}
		there, err := s.documentsAt(ctx, c, in.documents(), q.WithDisabled)
		if err != nil {
			return listDocumentsOutput{}, err
		}
		return s.documentPage(ctx, c, q, there)
	}
}

// documentsAt selects all documents of a place, which must be there.
func (s *Service) documentsAt(ctx context.Context, c *protocol.Caller, at documentPlace, all bool) (store.DocumentFilter, error) {
	f := store.DocumentFilter{Domain: c.Domain.ID, User: at.user, Connection: at.connection, Subscription: at.subscription, All: all}
	owner := oneUserInput{at.user}
	if _, err := owner.theirs(c); err != nil {
		return f, err
	}
	if at.connection != 0 {
		_, err := s.Aggregation.Connection(ctx, c.Domain, at.user, at.connection)
		return f, err
	}
	if at.subscription != 0 {
		found, err := s.subscriptions(ctx, c, owner, store.SubscriptionFilter{IDs: []passerelle.SubscriptionID{at.subscription}, All: all})
		if err != nil {
			return f, err
		}
		f.Epoch = found[0].Epoch
	}
	return f, nil
}

func (s *Service) documentPage(ctx context.Context, c *protocol.Caller, q documentQuery, there store.DocumentFilter) (listDocumentsOutput, error) {
	f, err := q.filter(c, there)
	if err != nil {
		return listDocumentsOutput{}, err
	}
	rows, listing, err := protocol.Turn(ctx, q.Page,
		func(ctx context.Context, w protocol.Window) ([]store.StoredDocument, error) {
			return s.DB.Documents(ctx, f, window(w))
		},
		func(d store.StoredDocument) protocol.Position { return d.Place() },
		func(ctx context.Context) (int64, error) { return s.DB.CountDocuments(ctx, f) })
	if err != nil {
		return listDocumentsOutput{}, fmt.Errorf("list documents of user %d: %w", f.User, err)
	}
	out := listDocumentsOutput{Documents: make([]wire.Document, len(rows)), Listing: listing}
	for i, d := range rows {
		out.Documents[i] = s.showDocument(c, d, q.Expansion())
	}
	out.FirstDate, out.LastDate, err = s.documentDays(ctx, there)
	return out, err
}

// filter narrows to what all parameters select.
func (q documentQuery) filter(c *protocol.Caller, f store.DocumentFilter) (store.DocumentFilter, error) {
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
	if f.Least, err = bound("min_amount", string(q.MinAmount)); err != nil {
		return f, err
	}
	f.Most, err = bound("max_amount", string(q.MaxAmount))
	return f, err
}

// documentDays are the days of the oldest and the newest document, or nil where
// there is none.
func (s *Service) documentDays(ctx context.Context, f store.DocumentFilter) (first, last *string, err error) {
	for _, end := range []struct {
		day      **string
		backward bool
	}{{&first, true}, {&last, false}} {
		found, err := s.DB.Documents(ctx, f, store.Window{Limit: 1, Backward: end.backward})
		if err != nil {
			return nil, nil, fmt.Errorf("find the first and the last document of user %d: %w", f.User, err)
		}
		for _, d := range found {
			*end.day = &d.Day
		}
	}
	return first, last, nil
}

func (s *Service) showDocument(c *protocol.Caller, d store.StoredDocument, e protocol.Expansion) wire.Document {
	shown := s.Aggregation.ShowDocument(c.Domain, d.Document, c.Location)
	if e.Has("type") {
		shown.Type = &wire.DocumentTypes()[passerelle.DocumentTypeNumber(d.Type)-1]
	}
	return shown
}

// readOfDocument is one of the three inputs of reading a document.
type readOfDocument interface {
	documents() documentPlace
	which() whichDocument
	Expansion() protocol.Expansion
}

func oneDocument[In readOfDocument](s *Service) func(context.Context, *protocol.Caller, In) (wire.Document, error) {
	return func(ctx context.Context, c *protocol.Caller, in In) (wire.Document, error) {
		named := in.which()
		f, err := s.documentsAt(ctx, c, in.documents(), named.WithDisabled)
		if err != nil {
			return wire.Document{}, err
		}
		f.ID = named.Document
		found, err := s.DB.Documents(ctx, f, store.Window{Limit: 1})
		if err != nil {
			return wire.Document{}, fmt.Errorf("load document %d: %w", f.ID, err)
		}
		if len(found) == 0 {
			return wire.Document{}, passerelle.Missing()
		}
		return s.showDocument(c, found[0], in.Expansion()), nil
	}
}

type documentTypesOutput struct {
	Types []wire.DocumentType `json:"documenttypes"`
	Total int                 `json:"total"`
}

func documentTypes(context.Context, *protocol.Caller, protocol.Nothing) (documentTypesOutput, error) {
	types := wire.DocumentTypes()
	return documentTypesOutput{Types: types, Total: len(types)}, nil
}
