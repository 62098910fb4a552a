package aggregation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// The limits of the values that clients store for a transaction.
const (
	MaxInformations      = 100
	MaxInformationKey    = 100
	MaxInformationLength = 1000
)

// NoteInformations stores values for a transaction of a user by their keys, all or none.
func (a *Aggregation) NoteInformations(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.TransactionID, values map[string]string) error {
	full := &passerelle.Error{Kind: passerelle.Conflict, Code: "conflict", Message: fmt.Sprintf("At most %d values are noted about a transaction; delete one first.", MaxInformations)}
	return a.aboutTransaction(ctx, id, func(tx *store.Tx) error {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if err := bankstore.In(tx).SetInformation(d.ID, user, bankstore.Information{Transaction: id, Key: key, Value: values[key]}); err != nil {
				return err
			}
		}
		bankstore.In(tx).LimitInformations(d.ID, id, a.now(d), MaxInformations, full)
		return nil
	})
}

// ForgetInformations removes one value of a transaction, or all values when the id is zero.
func (a *Aggregation) ForgetInformations(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.TransactionID, information int64) error {
	return a.aboutTransaction(ctx, id, func(tx *store.Tx) error {
		bankstore.In(tx).DeleteInformations(d.ID, user, id, information)
		return nil
	})
}

func (a *Aggregation) aboutTransaction(ctx context.Context, id passerelle.TransactionID, fn func(tx *store.Tx) error) error {
	err := a.DB.Write(ctx, fn)
	var refused *passerelle.Error
	switch {
	case errors.Is(err, store.ErrNotFound):
		return passerelle.Missing()
	case err == nil, errors.As(err, &refused):
		return err
	}
	return fmt.Errorf("change what there is about transaction %d: %w", id, err)
}
