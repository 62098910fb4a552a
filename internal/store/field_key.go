package store

import (
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
)

// StoredFieldKey is a key pair. Clients of a domain encrypt field values with the public key.
type StoredFieldKey struct {
	ID     int64
	Domain passerelle.DomainID
	// Number counts the keys of a domain from 1. Clients get the public key of the highest number.
	Number  int64
	KeyID   string
	Private []byte
	Created time.Time
}

func fieldKeyPlace(domain passerelle.DomainID, id int64) keys.Place {
	return keys.Place{Domain: int64(domain), Table: "field_key", Column: "private", Row: id}
}

// AddFieldKey stores a key pair, with its private key sealed. Write fails with ErrDuplicate when
// the number is in use.
func (tx *Tx) AddFieldKey(k *StoredFieldKey) error {
	id, err := tx.unit.NewID("field_key")
	if err != nil {
		return err
	}
	k.ID = id
	sealed, err := tx.Seal(fieldKeyPlace(k.Domain, id), k.Private)
	if err != nil {
		return fmt.Errorf("seal a key for fields: %w", err)
	}
	tx.unit.ExecOne(ErrConflict, `INSERT INTO field_key (id, domain_id, number, kid, private, created) VALUES ($1, $2, $3, $4, $5, $6)`,
		id, int64(k.Domain), k.Number, k.KeyID, sealed, database.Micros(k.Created))
	return nil
}

func (r *Reader) scanFieldKey(row database.Row) (StoredFieldKey, error) {
	var (
		k       StoredFieldKey
		sealed  []byte
		created int64
	)
	if err := row.Scan(&k.ID, &k.Domain, &k.Number, &k.KeyID, &sealed, &created); err != nil {
		return k, err
	}
	k.Created = database.Instant(created)
	private, err := r.keys.Open(fieldKeyPlace(k.Domain, k.ID), sealed)
	if err != nil {
		return k, fmt.Errorf("%w: key %d for fields: %w", ErrSealed, k.ID, err)
	}
	k.Private = private
	return k, nil
}

const selectFieldKey = `SELECT id, domain_id, number, kid, private, created FROM field_key WHERE domain_id = $1 `

// NewestFieldKey returns the key pair with the highest number. It fails with ErrNotFound when the
// domain has no key pair.
func (r *Reader) NewestFieldKey(ctx context.Context, domain passerelle.DomainID) (StoredFieldKey, error) {
	return database.One(ctx, r.rows, r.scanFieldKey, selectFieldKey+`ORDER BY number DESC LIMIT 1`, int64(domain))
}

// FieldKey returns the key pair with the key id kid. It fails with ErrNotFound when no key pair has
// this id.
func (r *Reader) FieldKey(ctx context.Context, domain passerelle.DomainID, kid string) (StoredFieldKey, error) {
	return database.One(ctx, r.rows, r.scanFieldKey, selectFieldKey+`AND kid = $2`, int64(domain), kid)
}
