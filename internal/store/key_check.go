package store

import (
	"bytes"
	"context"
	"crypto/hmac"
	"errors"
	"fmt"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
)

// ErrOtherKeys reports that the key file is not the one the secrets of the
// database were sealed with.
var ErrOtherKeys = errors.New("the key file does not belong to this database: its secrets were sealed with other keys; restore the key file it was made with")

// keyCheckPlace is where the value that proves the keys is.
var keyCheckPlace = keys.Place{Table: "key_check", Column: "sealed", Row: 1}

// BindKeys ties a database that has not been served from to the keys at hand,
// and fails with ErrOtherKeys when it is tied to others. The value it leaves
// stays under the master key it was sealed with: a key file that has lost this
// key has lost the secrets of that time as well.
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

// Seal seals a value of the unit, which is undone when the database was put under
// keys that are not at hand meanwhile: nobody could open the value once the key that
// sealed it is retired. Who has read the key file before is Unavailable then.
func (tx *Tx) Seal(p keys.Place, plain []byte) ([]byte, error) {
	if err := tx.proveKeys(); err != nil {
		return nil, err
	}
	return tx.keys.Seal(p, plain)
}

// Unseal opens what Seal sealed, and fails when it was altered or its key is not at hand.
func (r *Reader) Unseal(p keys.Place, sealed []byte) ([]byte, error) { return r.keys.Open(p, sealed) }

// proveKeys has the unit undone when the keys are others, once.
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

// stillProven finds the value that proves the keys when it is the one that was seen last.
const stillProven = `SELECT only_row FROM key_check WHERE sealed = $1`

// prove reads the value that proves the keys; there is none in a database that is tied
// to none.
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

// proveAgain returns the value that proves the keys now, if they are at hand.
func (db *DB) proveAgain(ctx context.Context) ([]byte, error) {
	if err := db.prove(ctx); err != nil {
		return nil, err
	}
	return *db.proof.Load(), nil
}

// proven opens the value that proves the keys, unless it was the same the last time.
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

// CheckKeys reports whether the database is tied to the keys at hand, by
// ErrOtherKeys or by ErrNotFound when it is tied to none.
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

// provenBy depends on the fixed key; sealing it involves the master key too.
func provenBy(ring *keys.Ring) []byte { return ring.MAC("key check", nil) }
