package aggregation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"passerelle"
	"passerelle/internal/store"
)

// These are the limits of the values that applications store for a user.
const (
	maxNotes     = 100
	maxNoteKey   = 255
	maxNoteValue = 4096
)

// SetConfig stores values of a user by their keys, and replaces earlier values of these keys. It
// stores all of them or none.
func (a *Aggregation) SetConfig(ctx context.Context, d passerelle.Domain, id passerelle.UserID, values map[string]string) error {
	keys := slices.Sorted(maps.Keys(values))
	for _, key := range keys {
		if key == "" {
			return passerelle.InvalidField("config", "a key must not be empty")
		}
		if err := passerelle.CheckLine("config", key, maxNoteKey); err != nil {
			return err
		}
		if err := passerelle.CheckText(key, values[key], maxNoteValue); err != nil {
			return err
		}
	}
	return a.note(ctx, d, id, func(tx *store.Tx) {
		for _, key := range keys {
			tx.SetUserSetting(d.ID, id, key, values[key])
		}
		tx.LimitUserSettings(id, maxNotes, passerelle.InvalidField("config", "a user has at most %d keys", maxNotes))
	})
}

// DeleteConfig removes a user's values for these keys.
func (a *Aggregation) DeleteConfig(ctx context.Context, d passerelle.Domain, id passerelle.UserID, keys []string) error {
	return a.note(ctx, d, id, func(tx *store.Tx) {
		for _, key := range slices.Sorted(slices.Values(keys)) {
			tx.DeleteUserSetting(d.ID, id, key)
		}
	})
}

func (a *Aggregation) note(ctx context.Context, d passerelle.Domain, id passerelle.UserID, write func(*store.Tx)) error {
	if _, err := a.User(ctx, d, id); err != nil {
		return err
	}
	err := a.DB.Write(ctx, func(tx *store.Tx) error {
		tx.HoldUser(d.ID, id)
		write(tx)
		return nil
	})
	if errors.Is(err, store.ErrConflict) {
		return passerelle.Missing()
	}
	if err != nil {
		return fmt.Errorf("store the configuration of user %d: %w", id, err)
	}
	return nil
}
