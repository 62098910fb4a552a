package filing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"passerelle"
	"passerelle/internal/store"
)

// EditDocument stores what the person sets of a document, with the file they
// give it, if any, in place of the one it has: all or nothing. A synchronisation
// overwrites none of it. A read-only document is a Conflict, unless the change
// ends that.
func (f *Filing) EditDocument(ctx context.Context, d passerelle.Domain, document passerelle.Document, e store.DocumentEdit, content []byte) error {
	if document.ReadOnly && (e.ReadOnly == nil || *e.ReadOnly) {
		return passerelle.Conflicting("the document is read-only; set readonly to false first")
	}
	if content != nil {
		uploaded, err := f.upload(ctx, d, document.User, content)
		if err != nil {
			return err
		}
		e.File = &uploaded
	}
	if e.None() {
		return nil
	}
	err := f.DB.Write(ctx, func(tx *store.Tx) error {
		if e.File != nil {
			tx.AfterCommit(f.Erase)
		}
		return tx.EditDocument(d.ID, document, e, f.now(d))
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return passerelle.Missing() // withdrawn meanwhile
	case errors.Is(err, store.ErrConflict):
		return &passerelle.Error{Kind: passerelle.Unavailable, Code: "unavailable", Message: "The file took too long to store; send it again.", RetryAfter: 1}
	case err != nil:
		return fmt.Errorf("change document %d: %w", document.ID, err)
	}
	return nil
}

// upload keeps a file that is to be given to a document; one that is not is
// removed again. What it is its bytes say, not whoever sent it.
func (f *Filing) upload(ctx context.Context, d passerelle.Domain, user passerelle.UserID, content []byte) (store.StoredFile, error) {
	now := f.now(d)
	file := store.StoredFile{User: user, MediaType: cleanType(http.DetectContentType(content)), Created: now, Stored: &now, Size: int64(len(content))}
	if err := f.DB.Write(ctx, func(tx *store.Tx) error { return tx.BeginUpload(d.ID, &file, fetchLease) }); err != nil {
		return file, fmt.Errorf("number a file: %w", err)
	}
	_, err := f.Files.Put(ctx, file.ID, bytes.NewReader(content))
	return file, err
}
