package aggregation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// These constants limit the categories, documents and values that a user, or a client for the user,
// adds to a transaction.
const (
	MaxCategories   = 10
	MaxAttached     = 20
	MaxInformations = 100
)

// EditTransaction stores a user's changes of a transaction. An empty edit writes nothing.
// EditTransaction fails with NotFound when the user has no such transaction.
func (a *Aggregation) EditTransaction(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.TransactionID, e bankstore.TransactionEdit) error {
	if e.None() {
		return nil
	}
	return a.aboutTransaction(ctx, id, func(tx *store.Tx) error { bankstore.In(tx).EditTransaction(d.ID, user, id, e, a.now(d)); return nil })
}

// AttachDocument attaches a document of a user to one of the user's transactions. It also succeeds
// when the document is already attached. It fails with NotFound when the user does not share the
// document or the transaction, and with Conflict beyond MaxAttached documents.
func (a *Aggregation) AttachDocument(ctx context.Context, d passerelle.Domain, user passerelle.UserID, to passerelle.TransactionID, document passerelle.DocumentID) error {
	full := &passerelle.Error{Kind: passerelle.Conflict, Code: "conflict", Message: fmt.Sprintf("At most %d documents are attached to a transaction; detach one first.", MaxAttached)}
	return a.aboutTransaction(ctx, to, func(tx *store.Tx) error {
		return bankstore.In(tx).AttachDocument(d.ID, user, to, document, a.now(d), MaxAttached, full)
	})
}

// DetachDocuments detaches a document from a transaction of a user. If document is zero, it
// detaches all documents. It does not delete any document.
func (a *Aggregation) DetachDocuments(ctx context.Context, d passerelle.Domain, user passerelle.UserID, from passerelle.TransactionID, document passerelle.DocumentID) error {
	return a.aboutTransaction(ctx, from, func(tx *store.Tx) error {
		bankstore.In(tx).DetachDocuments(d.ID, user, from, document, a.now(d))
		return nil
	})
}

// NoteInformations stores values for a transaction of a user, by key. It stores all of them or
// none. It fails with NotFound when the user has no such transaction, and with Conflict when the
// transaction would have more than MaxInformations values.
func (a *Aggregation) NoteInformations(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.TransactionID, values map[string]string) error {
	full := &passerelle.Error{Kind: passerelle.Conflict, Code: "conflict", Message: fmt.Sprintf("At most %d values are noted about a transaction; delete one first.", MaxInformations)}
	return a.aboutTransaction(ctx, id, func(tx *store.Tx) error {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if err := bankstore.In(tx).SetInformation(d.ID, user, bankstore.Information{Transaction: id, Key: key, Value: values[key]}); err != nil {
				return err
			}
		}
		bankstore.In(tx).LimitInformations(d.ID, id, a.now(d), MaxInformations, full)
		return nil
	})
}

// ForgetInformations removes one value of a transaction. If information is zero, it removes all
// values.
func (a *Aggregation) ForgetInformations(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.TransactionID, information int64) error {
	return a.aboutTransaction(ctx, id, func(tx *store.Tx) error { bankstore.In(tx).DeleteInformations(d.ID, user, id, information); return nil })
}

// aboutTransaction stores the changes of fn to a user's transaction. It fails with NotFound when
// the transaction does not exist, and with the error of fn when this error is meant for the client.
func (a *Aggregation) aboutTransaction(ctx context.Context, id passerelle.TransactionID, fn func(tx *store.Tx) error) error {
	err := a.DB.Write(ctx, fn)
	var refused *passerelle.Error
	switch {
	case errors.Is(err, store.ErrNotFound):
		return passerelle.Missing()
	case err == nil, errors.As(err, &refused):
		return err
	}
	return fmt.Errorf("change transaction %d: %w", id, err)
}
