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

// EditDocument stores a user's changes of a document and, if there is one, a file that replaces
// the present one: all or nothing. No sync overwrites them. A read-only document is a Conflict,
// unless the change ends that.
func (f *Documents) EditDocument(ctx context.Context, d passerelle.Domain, document passerelle.Document, e bankstore.DocumentEdit, content []byte) error {
	if document.ReadOnly && (e.ReadOnly == nil || *e.ReadOnly) {
		return passerelle.Conflicting("the document is read-only; set readonly to false first")
	}
	if err := f.withFile(ctx, d, document.User, &e, content); err != nil || e.None() {
		return err
	}
	return f.write(ctx, document.ID, func(tx *store.Tx) error { return f.edit(tx, d, document, e) })
}

// CreateDocument creates a document that the provider does not have, under a subscription, with
// the person's details and file, if any, and returns its id. It fails with NotFound when the
// subscription is not shared.
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

// withFile adds a file to an edit.
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

// write stores an edit. The id is zero for a new document.
func (f *Documents) write(ctx context.Context, id passerelle.DocumentID, fn func(tx *store.Tx) error) error {
	err := f.DB.Write(ctx, fn)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return passerelle.Missing() // the document is no longer shared
	case errors.Is(err, store.ErrConflict):
		return &passerelle.Error{Kind: passerelle.Unavailable, Code: "unavailable", Message: "Other data changed while the document was being stored; send it again.", RetryAfter: 1}
	case err != nil:
		return fmt.Errorf("change document %d: %w", id, err)
	}
	return nil
}

// upload stores a file for a document. The file is removed again when no document gets it. Its
// content decides its type, and not the type that the sender names.
func (f *Documents) upload(ctx context.Context, d passerelle.Domain, user passerelle.UserID, content []byte) (bankstore.StoredFile, error) {
	now := f.now(d)
	file := bankstore.StoredFile{User: user, MediaType: cleanType(http.DetectContentType(content)), Created: now, Stored: &now, Size: int64(len(content))}
	if err := f.DB.Write(ctx, func(tx *store.Tx) error { return bankstore.In(tx).BeginUpload(d.ID, &file, fetchLease) }); err != nil {
		return file, fmt.Errorf("number a file: %w", err)
	}
	_, err := f.Files.Put(ctx, file.ID, bytes.NewReader(content))
	return file, err
}
