package aggregation

import (
	"context"
	"fmt"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// MaxAttached is how many documents a transaction may have.
const MaxAttached = 20

// AttachDocument attaches a document of a user to one of their transactions. It does nothing
// when the document is attached already. It fails with NotFound when the user does not share
// either of them, and with Conflict beyond MaxAttached documents.
func (a *Aggregation) AttachDocument(ctx context.Context, d passerelle.Domain, user passerelle.UserID, to passerelle.TransactionID, document passerelle.DocumentID) error {
	full := &passerelle.Error{Kind: passerelle.Conflict, Code: "conflict", Message: fmt.Sprintf("At most %d documents are attached to a transaction; detach one first.", MaxAttached)}
	return a.aboutTransaction(ctx, to, func(tx *store.Tx) error {
		return bankstore.In(tx).AttachDocument(d.ID, user, to, document, a.now(d), MaxAttached, full)
	})
}

// DetachDocuments detaches a document, or all documents when it is zero, from a transaction of a
// user. The documents stay.
func (a *Aggregation) DetachDocuments(ctx context.Context, d passerelle.Domain, user passerelle.UserID, from passerelle.TransactionID, document passerelle.DocumentID) error {
	return a.aboutTransaction(ctx, from, func(tx *store.Tx) error {
		bankstore.In(tx).DetachDocuments(d.ID, user, from, document, a.now(d))
		return nil
	})
}
