package store

import (
	"context"

	"passerelle"
)

// DocumentType is what a domain says of a type of documents; nil where it says
// nothing.
type DocumentType struct {
	// Number is the type's, from 1.
	Number     int64
	Name       *string
	Attachable *bool
}

// DocumentTypes lists the types of documents of which a domain says something, by
// number.
func (r *Reader) DocumentTypes(ctx context.Context, domain passerelle.DomainID) ([]DocumentType, error) {
	return collect(ctx, r, func(row scanner) (t DocumentType, err error) {
		err = row.Scan(&t.Number, &t.Name, &t.Attachable)
		return t, err
	}, `SELECT number, name, attachable FROM document_type WHERE domain_id = $1 ORDER BY number`, int64(domain))
}

// DocumentTypeChange is what a domain says of a type from now on. What is not set
// stays as it is; nil is that it says nothing any more.
type DocumentTypeChange struct {
	DocumentType
	SetName, SetAttachable bool
}

// ChangeDocumentType stores what a domain says of a type.
func (tx *Tx) ChangeDocumentType(domain passerelle.DomainID, c DocumentTypeChange) {
	tx.exec(`INSERT INTO document_type (domain_id, number, name, attachable) VALUES ($1, $2, $3, $4)
		ON CONFLICT (domain_id, number) DO UPDATE SET name = CASE WHEN $5 THEN excluded.name ELSE document_type.name END,
			attachable = CASE WHEN $6 THEN excluded.attachable ELSE document_type.attachable END`,
		int64(domain), c.Number, c.Name, c.Attachable, c.SetName, c.SetAttachable)
}
