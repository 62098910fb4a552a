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

// Open returns the values with plain text in place of encrypted values. The argument prefix is the
// text before a value's name in the request: "fields." or an empty text.
func Open(ctx context.Context, r *store.Reader, d passerelle.Domain, prefix string, values map[string]string) (map[string]string, error) {
	plain := make(map[string]string, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		kid, encrypted := keys.Encrypted(values[name])
		if !encrypted {
			plain[name] = values[name]
			continue
		}
		value, err := decrypt(ctx, r, d, prefix+name, kid, values[name])
		if err != nil {
			return nil, err
		}
		plain[name] = value
	}
	return plain, nil
}

func decrypt(ctx context.Context, r *store.Reader, d passerelle.Domain, path, kid, value string) (string, error) {
	if kid == "" {
		return "", passerelle.InvalidField(path, "the header of the encrypted value must name its key as kid")
	}
	stored, err := r.FieldKey(ctx, d.ID, kid)
	if errors.Is(err, store.ErrNotFound) {
		return "", passerelle.InvalidField(path, "is encrypted for a key that does not belong to this domain; use the key from /publickey")
	}
	if err != nil {
		return "", fmt.Errorf("load a key for fields: %w", err)
	}
	key, err := keys.ParseFieldKey(stored.Private)
	if err != nil {
		return "", err
	}
	plain, err := key.Decrypt(value)
	if err != nil {
		return "", passerelle.InvalidField(path, "%s", err)
	}
	return plain, nil
}
