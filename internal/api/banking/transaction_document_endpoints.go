package banking

import (
	"context"
	"errors"
	"net/http"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/wire"
)

func (s *Service) attachedRoutes() []httpapi.Route {
	route := func(method, rest, summary, doc string, e httpapi.Endpoint) httpapi.Route {
		pattern, aliases := everywhere("/transactions/{transactionId}/documents" + rest)
		return httpapi.Route{Method: method, Pattern: pattern, Aliases: aliases, Needs: ofUser, Endpoint: e, Summary: summary, Doc: doc}
	}
	attach := route(httpapi.Update, "", "Attach a document to a transaction", "Attaches one of the user's documents. The document's type must allow it, see /documenttypes. A transaction can have up to 20 documents. Attaching a document again changes nothing.", httpapi.Handle(s.attachDocument))
	attach.Errors = []string{"conflict"}
	return []httpapi.Route{
		route(http.MethodGet, "", "List the documents of a transaction", "Lists the documents that the end user attached, newest first.", httpapi.Handle(s.listAttached)),
		attach,
		route(http.MethodDelete, "", "Detach the documents of a transaction", "Detaches all documents. The documents themselves stay.", httpapi.Handle(s.detachDocuments)),
		route(http.MethodGet, "/{documentId}", "Read a document of a transaction", "The member url contains the address of the file.", httpapi.Handle(s.oneAttached)),
		route(http.MethodDelete, "/{documentId}", "Detach a document from a transaction", "Detaches the document. The document itself stays.", httpapi.Handle(s.detachDocument)),
	}
}

// attachedAt returns a filter for the documents of a transaction. It fails when the transaction
// does not exist.
func (s *Service) attachedAt(ctx context.Context, c *httpapi.Caller, in ofTransaction, all bool) (bankstore.DocumentFilter, error) {
	_, err := s.readTransaction(ctx, c, in, nil)
	return bankstore.DocumentFilter{Domain: c.Domain.ID, User: in.ID, Transaction: in.Transaction, All: all}, err
}

type listAttachedInput struct {
	ofTransaction
	documentQuery
}

func (s *Service) listAttached(ctx context.Context, c *httpapi.Caller, in listAttachedInput) (listDocumentsOutput, error) {
	there, err := s.attachedAt(ctx, c, in.ofTransaction, in.WithDisabled)
	if err != nil {
		return listDocumentsOutput{}, err
	}
	return s.documentPage(ctx, c, in.documentQuery, there)
}

type oneAttachedInput struct {
	ofTransaction
	httpapi.Expand[wire.Document]
	Document passerelle.DocumentID `path:"documentId"`
}

func (s *Service) oneAttached(ctx context.Context, c *httpapi.Caller, in oneAttachedInput) (wire.Document, error) {
	f, err := s.attachedAt(ctx, c, in.ofTransaction, false)
	if err != nil {
		return wire.Document{}, err
	}
	f.ID = in.Document
	return s.shownDocument(ctx, c, f, in.Expansion())
}

type attachInput struct {
	ofTransaction
	Document passerelle.DocumentID `body:"id_document,required" min:"1" doc:"id of one of the user's documents"`
}

func (s *Service) attachDocument(ctx context.Context, c *httpapi.Caller, in attachInput) (wire.Document, error) {
	if _, err := s.attachedAt(ctx, c, in.ofTransaction, false); err != nil {
		return wire.Document{}, err
	}
	d, err := s.selected(ctx, bankstore.DocumentFilter{Domain: c.Domain.ID, User: in.ID, ID: in.Document})
	if errors.Is(err, passerelle.NotFound) {
		return wire.Document{}, passerelle.InvalidField("id_document", "must be the id of one of the user's documents, see GET /users/me/documents")
	}
	if err != nil {
		return wire.Document{}, err
	}
	types, err := s.documentTypes(ctx, c)
	if err != nil {
		return wire.Document{}, err
	}
	if kind := types[passerelle.DocumentTypeNumber(d.Type)-1]; !kind.Attachable {
		return wire.Document{}, passerelle.InvalidField("id_document", "is a document of the type %s, which cannot be attached", kind.Name)
	}
	if err := s.Aggregation.AttachDocument(ctx, c.Domain, in.ID, in.Transaction, in.Document); err != nil {
		return wire.Document{}, err
	}
	return s.showDocument(ctx, c, d, nil)
}

func (s *Service) detachDocuments(ctx context.Context, c *httpapi.Caller, in ofTransaction) (httpapi.Nothing, error) {
	return s.detach(ctx, c, in, 0)
}

type detachInput struct {
	ofTransaction
	Document passerelle.DocumentID `path:"documentId"`
}

func (s *Service) detachDocument(ctx context.Context, c *httpapi.Caller, in detachInput) (httpapi.Nothing, error) {
	return s.detach(ctx, c, in.ofTransaction, in.Document)
}

// detach removes one document from a transaction. A zero id removes all documents.
func (s *Service) detach(ctx context.Context, c *httpapi.Caller, in ofTransaction, document passerelle.DocumentID) (httpapi.Nothing, error) {
	if _, err := s.readTransaction(ctx, c, in, nil); err != nil {
		return httpapi.Nothing{}, err
	}
	return httpapi.Nothing{}, s.Aggregation.DetachDocuments(ctx, c.Domain, in.ID, in.Transaction, document)
}
