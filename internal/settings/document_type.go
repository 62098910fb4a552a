package settings

import (
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

// DocumentType is a type of documents, with the domain's settings for it.
type DocumentType struct {
	ID   int64
	Name string
	// Attachable is set when users can attach a document of this type to a transaction.
	Attachable bool
}

// DocumentTypes returns all types of documents, ordered by number.
func DocumentTypes(ctx context.Context, r *store.Reader, domain passerelle.DomainID) ([]DocumentType, error) {
	own, err := r.DocumentTypes(ctx, domain)
	if err != nil {
		return nil, fmt.Errorf("list the types of documents: %w", err)
	}
	names := passerelle.DocumentTypes()
	all := make([]DocumentType, len(names))
	for i, name := range names {
		all[i] = DocumentType{ID: int64(i) + 1, Name: name, Attachable: true}
	}
	for _, t := range own {
		at := &all[t.Number-1]
		if t.Name != nil {
			at.Name = *t.Name
		}
		if t.Attachable != nil {
			at.Attachable = *t.Attachable
		}
	}
	return all, nil
}

// ChangeDocumentType changes a domain's settings for a document type. It records who changed them.
// It fails with NotFound for an unknown type.
func ChangeDocumentType(ctx context.Context, db *store.DB, domain passerelle.DomainID, change store.DocumentTypeChange, by string, now time.Time) error {
	if change.Number > int64(len(passerelle.DocumentTypes())) {
		return passerelle.Missing()
	}
	err := db.Write(ctx, func(tx *store.Tx) error {
		tx.ChangeDocumentType(domain, change, by, now)
		return nil
	})
	if err != nil {
		return fmt.Errorf("change document type %d: %w", change.Number, err)
	}
	return nil
}
