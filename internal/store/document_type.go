package store

import (
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// DocumentTypeSetting contains a domain's settings for one type of documents. A nil field is not
// set.
type DocumentTypeSetting struct {
	// Number is the number of the type. Types are numbered from 1.
	Number     int64
	Name       *string
	Attachable *bool
}

// DocumentTypes lists the types of documents for which a domain has settings, by number.
func (r *Reader) DocumentTypes(ctx context.Context, domain passerelle.DomainID) ([]DocumentTypeSetting, error) {
	return database.Collect(ctx, r.rows, func(row database.Row) (DocumentTypeSetting, error) {
		var t DocumentTypeSetting
		err := row.Scan(&t.Number, &t.Name, &t.Attachable)
		return t, err
	}, `SELECT number, name, attachable FROM document_type WHERE domain_id = $1 ORDER BY number`, int64(domain))
}

// DocumentTypeChange changes a domain's settings for a type of documents. A field changes only when
// its Set field is true. A nil value then removes the setting.
type DocumentTypeChange struct {
	DocumentTypeSetting
	SetName, SetAttachable bool
}

// ChangeDocumentType stores a domain's settings for a type. It records the change in the same table
// as changes of configuration keys.
func (tx *Tx) ChangeDocumentType(domain passerelle.DomainID, c DocumentTypeChange, by string, now time.Time) {
	tx.HoldSettings(domain)
	if c.SetName {
		tx.recordOfType(domain, c.Number, "name", "name", c.Name, by, now)
	}
	if c.SetAttachable {
		tx.recordOfType(domain, c.Number, "attacheable", "CASE attachable WHEN TRUE THEN '1' WHEN FALSE THEN '0' END", flagText(c.Attachable), by, now)
	}
	tx.unit.Exec(`INSERT INTO document_type (domain_id, number, name, attachable) VALUES ($1, $2, $3, $4)
		ON CONFLICT (domain_id, number) DO UPDATE SET name = CASE WHEN $5 THEN excluded.name ELSE document_type.name END,
			attachable = CASE WHEN $6 THEN excluded.attachable ELSE document_type.attachable END`,
		int64(domain), c.Number, c.Name, c.Attachable, c.SetName, c.SetAttachable)
}

// recordOfType records a change of one setting of a type. It records nothing when the value
// stays the same.
func (tx *Tx) recordOfType(domain passerelle.DomainID, number int64, name, column string, value *string, by string, now time.Time) {
	tx.unit.Exec(`INSERT INTO setting_change (domain_id, key, previous_value, new_value, type, changed_by, at)
		SELECT CAST($1 AS BIGINT), CAST($2 AS TEXT), previous.value, CAST($3 AS TEXT),
			CASE WHEN previous.value IS NULL THEN 'add' WHEN CAST($3 AS TEXT) IS NULL THEN 'delete' ELSE 'update' END, CAST($4 AS TEXT), CAST($5 AS BIGINT)
		FROM (SELECT MAX(`+column+`) AS value FROM document_type WHERE domain_id = $1 AND number = $6) AS previous
		WHERE previous.value IS DISTINCT FROM CAST($3 AS TEXT)`,
		int64(domain), fmt.Sprintf("documenttypes.%d.%s", number, name), value, by, database.Micros(now), number)
}

func flagText(flag *bool) *string {
	if flag == nil {
		return nil
	}
	text := "0"
	if *flag {
		text = "1"
	}
	return &text
}
