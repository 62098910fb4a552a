// Package jwe decrypts the field values that clients encrypt, for payments and connections.
//
// The package decrypts a value with the key that the value names in kid. The packages keys and
// store own the keys. The package does not decide whether plain text is allowed, or which values
// are valid: the callers decide that. For a wrong value, the package fails with a *passerelle.Error
// that names the field. Its errors never contain the value.
package jwe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"passerelle"
	"passerelle/internal/keys"
	"passerelle/internal/store"
)

// maxEncrypted is the largest number of encrypted values in one request. Each of them takes about a
// millisecond to decrypt.
const maxEncrypted = 100

// Open returns the values with plain text in place of encrypted values. The prefix is the text
// before a value's name in the request: "fields." or an empty text. Open loads each key once.
func Open(ctx context.Context, r *store.Reader, d passerelle.Domain, prefix string, values map[string]string) (map[string]string, error) {
	plain, opened, encrypted := make(map[string]string, len(values)), map[string]*keys.FieldKey{}, 0
	for _, name := range slices.Sorted(maps.Keys(values)) {
		kid, is := keys.Encrypted(values[name])
		if !is {
			plain[name] = values[name]
			continue
		}
		if encrypted++; encrypted > maxEncrypted {
			return nil, passerelle.InvalidField(prefix+name, "at most %d values may be encrypted", maxEncrypted)
		}
		var err error
		if opened[kid] == nil {
			opened[kid], err = load(ctx, r, d, prefix+name, kid)
		}
		if err != nil {
			return nil, err
		}
		if plain[name], err = opened[kid].Decrypt(values[name]); err != nil {
			return nil, passerelle.InvalidField(prefix+name, "%s", err)
		}
	}
	return plain, nil
}

func load(ctx context.Context, r *store.Reader, d passerelle.Domain, path, kid string) (*keys.FieldKey, error) {
	if kid == "" {
		return nil, passerelle.InvalidField(path, "the header of the encrypted value must name its key as kid")
	}
	stored, err := r.FieldKey(ctx, d.ID, kid)
	if errors.Is(err, store.ErrNotFound) {
		return nil, passerelle.InvalidField(path, "is encrypted for a key that does not belong to this domain; use the key from /publickey")
	}
	if err != nil {
		return nil, fmt.Errorf("load a key for fields: %w", err)
	}
	return keys.ParseFieldKey(stored.Private)
}
