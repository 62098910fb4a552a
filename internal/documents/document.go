package documents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// EditDocument stores a user's changes of a document. With content, it also stores a file that
// replaces the current file. EditDocument applies the complete change or fails. No sync overwrites
// the changes. EditDocument fails with Conflict when the document is read-only before and after the
// change.
func (f *Documents) EditDocument(ctx context.Context, d passerelle.Domain, document passerelle.Document, e bankstore.DocumentEdit, content []byte) error {
	if document.ReadOnly && (e.ReadOnly == nil || *e.ReadOnly) {
		return passerelle.Conflicting("the document is read-only; set readonly to false first")
	}
	if err := f.withFile(ctx, d, document.User, &e, content); err != nil || e.None() {
		return err
	}
	return f.write(ctx, document.ID, func(tx *store.Tx) error { return f.edit(tx, d, document, e) })
}

// CreateDocument creates a document that the provider does not have, and returns its id. The
// document belongs to a subscription, and gets the details and the file of the edit, if any.
// CreateDocument fails with NotFound when the user does not share the subscription.
func (f *Documents) CreateDocument(ctx context.Context, d passerelle.Domain, under bankstore.StoredSubscription, e bankstore.DocumentEdit, content []byte) (passerelle.DocumentID, error) {
	var (
		id  passerelle.DocumentID
		err error
	)
	if err := f.withFile(ctx, d, under.User, &e, content); err != nil {
		return 0, err
	}
	err = f.write(ctx, 0, func(tx *store.Tx) error {
		created, err := bankstore.In(tx).CreateManualDocument(d.ID, under, f.now(d))
		if err != nil {
			return err
		}
		id = created.ID
		bankstore.In(tx).CountDocuments(d.ID, under, 1)
		return f.edit(tx, d, created, e)
	})
	return id, err
}

// withFile stores content as a file, and adds the file to an edit.
func (f *Documents) withFile(ctx context.Context, d passerelle.Domain, user passerelle.UserID, e *bankstore.DocumentEdit, content []byte) error {
	if content == nil {
		return nil
	}
	uploaded, err := f.upload(ctx, d, user, content)
	e.File = &uploaded
	return err
}

func (f *Documents) edit(tx *store.Tx, d passerelle.Domain, document passerelle.Document, e bankstore.DocumentEdit) error {
	if e.File != nil {
		tx.AfterCommit(f.Erase)
	}
	return bankstore.In(tx).EditDocument(d.ID, document, e, f.now(d))
}

// write stores an edit, and converts errors of the store to errors for clients. The id is zero for
// a new document.
func (f *Documents) write(ctx context.Context, id passerelle.DocumentID, fn func(tx *store.Tx) error) error {
	err := f.DB.Write(ctx, fn)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return passerelle.Missing() // the user no longer shares the document
	case errors.Is(err, store.ErrConflict):
		return &passerelle.Error{Kind: passerelle.Unavailable, Code: "unavailable", Message: "Other data changed while the document was being stored; send it again.", RetryAfter: 1}
	case err != nil:
		return fmt.Errorf("change document %d: %w", id, err)
	}
	return nil
}

// upload stores a file for a document. A later pass of RemoveFiles removes the file if no document
// gets it. The content determines the media type, because the type that the sender names may be
// wrong.
func (f *Documents) upload(ctx context.Context, d passerelle.Domain, user passerelle.UserID, content []byte) (bankstore.StoredFile, error) {
	now := f.now(d)
	file := bankstore.StoredFile{User: user, MediaType: cleanType(http.DetectContentType(content)), Created: now, Stored: &now, Size: int64(len(content))}
	if err := f.DB.Write(ctx, func(tx *store.Tx) error { return bankstore.In(tx).BeginUpload(d.ID, &file, fetchLease) }); err != nil {
		return file, fmt.Errorf("number a file: %w", err)
	}
	_, err := f.Files.Put(ctx, file.ID, bytes.NewReader(content))
	return file, err
}
