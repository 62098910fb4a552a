package store

import (
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
)

// SignKey is a key pair with which the service signs its responses in a domain.
type SignKey struct {
	ID     int64
	Domain passerelle.DomainID
	// Number counts the keys of a domain from 1. The service signs with the key that has the
	// highest number.
	Number int64
	// Public is in PEM, and Private in PKCS #8.
	Public  string
	Private []byte
	Created time.Time
	// Deprecated is set when the key no longer signs.
	Deprecated bool
}

func signKeyPlace(domain passerelle.DomainID, id int64) keys.Place {
	return keys.Place{Domain: int64(domain), Table: "sign_key", Column: "private", Row: id}
}

// AddSignKey stores a key pair, with its private key sealed, and deprecates earlier keys. Write
// fails with ErrDuplicate when the number is in use.
func (tx *Tx) AddSignKey(k *SignKey) error {
	id, err := tx.unit.NewID("sign_key")
	if err != nil {
		return err
	}
	k.ID = id
	sealed, err := tx.Seal(signKeyPlace(k.Domain, id), k.Private)
	if err != nil {
		return fmt.Errorf("encrypt a key for responses: %w", err)
	}
	tx.unit.Exec(`UPDATE sign_key SET deprecated = TRUE WHERE domain_id = $1 AND number < $2`, int64(k.Domain), k.Number)
	tx.unit.ExecOne(ErrConflict, `INSERT INTO sign_key (id, domain_id, number, public, private, created) VALUES ($1, $2, $3, $4, $5, $6)`,
		id, int64(k.Domain), k.Number, k.Public, sealed, database.Micros(k.Created))
	return nil
}

// NewestSignKey returns the key pair that signs. It fails with ErrNotFound when the domain has no
// key pair.
func (r *Reader) NewestSignKey(ctx context.Context, domain passerelle.DomainID) (SignKey, error) {
	type row struct {
		SignKey
		sealed []byte
	}
	found, err := database.One(ctx, r.rows, func(from database.Row) (row, error) {
		var k row
		var created int64
		err := from.Scan(&k.ID, &k.Domain, &k.Number, &k.Public, &k.sealed, &created)
		k.Created = database.Instant(created)
		return k, err
	}, `SELECT id, domain_id, number, public, private, created FROM sign_key WHERE domain_id = $1 ORDER BY number DESC LIMIT 1`, int64(domain))
	if err != nil {
		return SignKey{}, err
	}
	found.Private, err = r.keys.Open(signKeyPlace(domain, found.ID), found.sealed)
	if err != nil {
		return SignKey{}, fmt.Errorf("%w: key %d for responses: %w", ErrSealed, found.ID, err)
	}
	return found.SignKey, nil
}

const selectSignKey = `SELECT id, domain_id, number, public, created, deprecated FROM sign_key WHERE domain_id = $1 `

// scanSignKey reads a key pair without its private key.
func scanSignKey(from database.Row) (SignKey, error) {
	var k SignKey
	var created int64
	err := from.Scan(&k.ID, &k.Domain, &k.Number, &k.Public, &created, &k.Deprecated)
	k.Created = database.Instant(created)
	return k, err
}

// SignKeys lists at most `limit` keys of a domain, newest first. The private keys are not loaded.
func (r *Reader) SignKeys(ctx context.Context, domain passerelle.DomainID, limit int) ([]SignKey, error) {
	return database.Collect(ctx, r.rows, scanSignKey, selectSignKey+`ORDER BY number DESC LIMIT $2`, int64(domain), limit)
}

// SignKey returns a domain's key but does not load the private key. It fails with ErrNotFound when
// the key does not exist.
func (r *Reader) SignKey(ctx context.Context, domain passerelle.DomainID, id int64) (SignKey, error) {
	return database.One(ctx, r.rows, scanSignKey, selectSignKey+`AND id = $2`, int64(domain), id)
}
