package store_test

import (
	"errors"
	"testing"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// TestUnitsOfSharedTransactions: those that only add rows share one, but for those
// that are to be undone when a limit is reached.
func TestUnitsOfSharedTransactions(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		for name, c := range map[string]struct {
			unit func(tx *store.Tx) error
			want bool
		}{
			"a token": {func(tx *store.Tx) error { return tx.CreateToken(&store.Token{}) }, true},
			"an act":  {func(tx *store.Tx) error { return tx.Audit(store.Audit{At: now}) }, true},
			"what is sealed": {func(tx *store.Tx) error {
				if err := tx.CreateToken(&store.Token{ID: 9, Domain: s.domain}); err != nil {
					return err
				}
				return tx.KeepUserToken(store.Token{ID: 9, Domain: s.domain}, "text")
			}, true},
			"a category": {func(tx *store.Tx) error {
				return bankstore.In(tx).CreateCategory(s.domain, &passerelle.Category{}, 1, store.ErrConflict)
			}, false},
			"a change": {func(tx *store.Tx) error { tx.DisableOperator(1, &now); return nil }, false},
		} {
			var got bool
			stop := errors.New("stop")
			err := s.db.Write(t.Context(), func(tx *store.Tx) error {
				if err := c.unit(tx); err != nil {
					return err
				}
				got = tx.Unit().OnlyAdds()
				return stop
			})
			if !errors.Is(err, stop) || got != c.want {
				t.Errorf("%s shares a transaction: %t, %v", name, got, err)
			}
		}
	})
}
