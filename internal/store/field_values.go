package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
)

// SetFieldValues stores the values of payment fields that arrived before the payer validated the
// payment. It replaces earlier values.
func (tx *Tx) SetFieldValues(domain passerelle.DomainID, id passerelle.PaymentID, fields map[string]string) error {
	sealed, err := tx.sealJSON(fieldValuesPlace(domain, id), fields)
	if err != nil {
		return fmt.Errorf("seal payment fields: %w", err)
	}
	tx.unit.ExecOne(ErrNotFound, `INSERT INTO payment_given (payment_id, domain_id, fields) VALUES ($1, $2, $3)
		ON CONFLICT (payment_id) DO UPDATE SET fields = excluded.fields WHERE payment_given.domain_id = excluded.domain_id`,
		int64(id), int64(domain), sealed)
	return nil
}

// FieldValues loads the values that SetFieldValues stored. Without stored values, the map is empty.
func (r *Reader) FieldValues(ctx context.Context, domain passerelle.DomainID, id passerelle.PaymentID) (map[string]string, error) {
	sealed, err := database.One(ctx, r.rows, func(row database.Row) ([]byte, error) {
		var sealed []byte
		err := row.Scan(&sealed)
		return sealed, err
	}, `SELECT fields FROM payment_given WHERE +domain_id = $1 AND payment_id = $2`, int64(domain), int64(id))
	if errors.Is(err, ErrNotFound) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	plain, err := r.keys.Open(fieldValuesPlace(domain, id), sealed)
	if err != nil {
		return nil, fmt.Errorf("open the fields of payment %d: %w", id, err)
	}
	var fields map[string]string
	err = json.Unmarshal(plain, &fields)
	return fields, err
}

func fieldValuesPlace(domain passerelle.DomainID, id passerelle.PaymentID) keys.Place {
	return keys.Place{Domain: int64(domain), Table: "payment_given", Column: "fields", Row: int64(id)}
}
