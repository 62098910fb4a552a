package aggregation

import (
	"context"
	"errors"
	"fmt"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// MaxCategories is how many categories a user may assign to a transaction.
const MaxCategories = 10

// EditTransaction stores a user's changes of a transaction. An edit that changes nothing writes
// nothing.
func (a *Aggregation) EditTransaction(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.TransactionID, e bankstore.TransactionEdit) error {
	if e.None() {
		return nil
	}
	err := a.DB.Write(ctx, func(tx *store.Tx) error {
		bankstore.In(tx).EditTransaction(d.ID, user, id, e, a.now(d))
		return nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return passerelle.Missing()
	}
	if err != nil {
		return fmt.Errorf("change transaction %d: %w", id, err)
	}
	return nil
}
