package aggregation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"passerelle"
	"passerelle/internal/store"
)

// EditDocument stores what the person sets of a document, and the file they give
// it, if any, in place of the one it has. A synchronisation overwrites none of
// it. A read-only document is a Conflict, unless the change ends that.
func (a *Aggregation) EditDocument(ctx context.Context, d passerelle.Domain, document passerelle.Document, e store.DocumentEdit, file []byte) error {
	if document.ReadOnly && (e.ReadOnly == nil || *e.ReadOnly) {
		return passerelle.Conflicting("the document is read-only; set readonly to false first")
	}
	now := a.now(d)
	if !e.None() {
		err := a.DB.Write(ctx, func(tx *store.Tx) error { return tx.EditDocument(d.ID, document.User, document.ID, e, now) })
		if err != nil {
			return editing(document, err)
		}
	}
	if file == nil {
		return nil
	}
	return a.upload(ctx, d, document, file)
}

func editing(document passerelle.Document, err error) error {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return passerelle.Missing() // withdrawn meanwhile
	}
	return fmt.Errorf("change document %d: %w", document.ID, err)
}

// upload keeps a file and gives it to a document. What it is its bytes say, not
// whoever sent it.
func (a *Aggregation) upload(ctx context.Context, d passerelle.Domain, document passerelle.Document, content []byte) error {
	now := a.now(d)
	f := store.StoredFile{User: document.User, MediaType: cleanType(http.DetectContentType(content)), Created: now, Size: int64(len(content))}
	if err := a.DB.Write(ctx, func(tx *store.Tx) error { return tx.BeginUpload(d.ID, &f, fetchLease) }); err != nil {
		return fmt.Errorf("number a file: %w", err)
	}
	if _, err := a.Files.Put(ctx, f.ID, bytes.NewReader(content)); err != nil {
		return err
	}
	err := a.DB.Write(ctx, func(tx *store.Tx) error {
		tx.ReplaceFile(d.ID, document.User, document.ID, f, now)
		tx.AfterCommit(a.Erase)
		return nil
	})
	if err != nil {
		return editing(document, err)
	}
	return nil
}
