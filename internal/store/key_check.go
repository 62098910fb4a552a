package store

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"

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
		tx.exec(`INSERT INTO key_check (only_row, sealed) VALUES (1, $1) ON CONFLICT (only_row) DO NOTHING`, sealed)
		return nil
	})
	if err != nil {
		return fmt.Errorf("tie the database to its keys: %w", err)
	}
	return db.CheckKeys(ctx)
}

// CheckKeys reports whether the database is tied to the keys at hand, by
// ErrOtherKeys or by ErrNotFound when it is tied to none.
func (r *Reader) CheckKeys(ctx context.Context) error {
	sealed, err := one(ctx, r, func(row scanner) (sealed []byte, err error) {
		err = row.Scan(&sealed)
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
