package store

import (
	"bytes"
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
)

// ErrOtherKeys reports that the secrets of the database were sealed with a different key file.
var ErrOtherKeys = errors.New("the key file does not belong to this database: its secrets were sealed with other keys; restore the key file it was made with")

// keyCheckPlace is the place of the key proof, a value by which a process proves that it has the
// keys of the database.
var keyCheckPlace = keys.Place{Table: "key_check", Column: "sealed", Row: 1}

// BindKeys binds a new database to the present keys: it stores the encrypted key proof. It fails
// with ErrOtherKeys when the database is bound to other keys. A key file that cannot decrypt the
// key proof lacks the master key, and cannot decrypt the secrets under that master key either.
func (db *DB) BindKeys(ctx context.Context) error {
	sealed, err := db.keys.Seal(keyCheckPlace, provenBy(db.keys))
	if err != nil {
		return fmt.Errorf("seal the value that proves the keys: %w", err)
	}
	err = db.Write(ctx, func(tx *Tx) error {
		tx.unit.Exec(`INSERT INTO key_check (only_row, sealed) VALUES (1, $1) ON CONFLICT (only_row) DO NOTHING`, sealed)
		return nil
	})
	if err != nil {
		return fmt.Errorf("tie the database to its keys: %w", err)
	}
	return db.CheckKeys(ctx)
}

// Seal encrypts a value that the unit stores. Write fails with passerelle.Unavailable when this
// process lacks the keys to which the database is bound. Without this check, a process with an old
// key file could store a value that nobody can decrypt after its key is retired.
func (tx *Tx) Seal(p keys.Place, plain []byte) ([]byte, error) {
	if err := tx.proveKeys(); err != nil {
		return nil, err
	}
	return tx.keys.Seal(p, plain)
}

// sealJSON encrypts a value as JSON. It fails like Seal.
func (tx *Tx) sealJSON(p keys.Place, value any) ([]byte, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return tx.Seal(p, plain)
}

// Unseal decrypts a value that Seal encrypted. It fails when the value was altered or its key is
// missing.
func (r *Reader) Unseal(p keys.Place, sealed []byte) ([]byte, error) { return r.keys.Open(p, sealed) }

// proveKeys adds a statement to the unit. This statement checks whether the key proof is the one
// that this process has read. If the key proof has changed, the unit runs again with the new proof.
// The unit fails when this process cannot decrypt the new proof. A second call in a unit does
// nothing.
func (tx *Tx) proveKeys() error {
	var err error
	if tx.seals {
		return nil
	}
	tx.seals = true
	if tx.db.proof.Load() == nil {
		err = tx.db.prove(tx.ctx)
	}
	if proof := tx.db.proof.Load(); proof != nil {
		tx.unit.Require(stillProven, *proof, tx.db.proveAgain)
	}
	return err
}

// stillProven selects a row only if the key proof has not changed since it was last read.
const stillProven = `SELECT only_row FROM key_check WHERE sealed = $1`

// prove reads and checks the key proof. It accepts an unbound database, which has no key proof.
func (db *DB) prove(ctx context.Context) error {
	sealed, err := database.One(ctx, db.rows, func(row database.Row) ([]byte, error) {
		var sealed []byte
		err := row.Scan(&sealed)
		return sealed, err
	}, `SELECT sealed FROM key_check`)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the value that proves the keys: %w", err)
	}
	return db.proven(sealed)
}

// proveAgain reads the key proof again, and returns it if this process has the keys.
func (db *DB) proveAgain(ctx context.Context) ([]byte, error) {
	if err := db.prove(ctx); err != nil {
		return nil, err
	}
	return *db.proof.Load(), nil
}

// proven checks that this process has the keys, by decrypting the key proof. It does not decrypt
// the same key proof twice.
func (db *DB) proven(sealed []byte) error {
	if last := db.proof.Load(); last != nil && bytes.Equal(*last, sealed) {
		return nil
	}
	if _, err := db.keys.Open(keyCheckPlace, sealed); err != nil {
		return fmt.Errorf("%w: %w (%w)", passerelle.Unavailable, ErrOtherKeys, err)
	}
	sealed = bytes.Clone(sealed)
	db.proof.Store(&sealed)
	return nil
}

// CheckKeys checks that the database is bound to the present keys. CheckKeys fails with
// ErrOtherKeys when the database is bound to other keys, and with ErrNotFound when the database is
// unbound.
func (r *Reader) CheckKeys(ctx context.Context) error {
	sealed, err := database.One(ctx, r.rows, func(row database.Row) ([]byte, error) {
		var sealed []byte
		err := row.Scan(&sealed)
		return sealed, err
	}, `SELECT sealed FROM key_check`)
	if err != nil {
		return fmt.Errorf("read the value that proves the keys: %w", err)
	}
	plain, err := r.keys.Open(keyCheckPlace, sealed)
	if err != nil {
		return fmt.Errorf("%w (%w)", ErrOtherKeys, err)
	}
	if !hmac.Equal(plain, provenBy(r.keys)) {
		return fmt.Errorf("%w (the fixed key is another one)", ErrOtherKeys)
	}
	return nil
}

// provenBy returns the plain text of the key proof. The text depends on the fixed key of the ring,
// and its encryption uses the master key. CheckKeys therefore proves both keys: it decrypts the key
// proof and compares the text.
func provenBy(ring *keys.Ring) []byte { return ring.MAC("key check", nil) }
