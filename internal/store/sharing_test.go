package store

import (
	"errors"
	"testing"

	"passerelle"
)

// TestUnitsOfSharedTransactions: those that only add rows share one, but for those
// that are to be undone when a limit is reached.
func TestUnitsOfSharedTransactions(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		for name, c := range map[string]struct {
			unit func(tx *Tx) error
			want bool
		}{
			"a token": {func(tx *Tx) error { return tx.CreateToken(&Token{}) }, true},
			"an act":  {func(tx *Tx) error { return tx.Audit(Audit{At: now}) }, true},
			"what is sealed": {func(tx *Tx) error {
				if err := tx.CreateToken(&Token{ID: 9, Domain: s.domain}); err != nil {
					return err
				}
				return tx.KeepUserToken(Token{ID: 9, Domain: s.domain}, "text")
			}, true},
			"a category": {func(tx *Tx) error { return tx.CreateCategory(s.domain, &passerelle.Category{}, 1, ErrConflict) }, false},
			"a change":   {func(tx *Tx) error { tx.DisableOperator(1, &now); return nil }, false},
		} {
			var got bool
			stop := errors.New("stop")
			err := s.db.Write(t.Context(), func(tx *Tx) error {
				if err := c.unit(tx); err != nil {
					return err
				}
				got = tx.unit.OnlyAdds()
				return stop
			})
			if !errors.Is(err, stop) || got != c.want {
				t.Errorf("%s shares a transaction: %t, %v", name, got, err)
			}
		}
	})
}
