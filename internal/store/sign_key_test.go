package store_test

import (
	"bytes"
	"testing"

	"passerelle/internal/database"
	"passerelle/internal/store"
)

// TestSignKeys checks that the newest key signs and that earlier keys are deprecated. The private
// key must be sealed, and only NewestSignKey must return it.
func TestSignKeys(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		none, err := s.db.NewestSignKey(t.Context(), s.domain)
		wantNotFound(t, none, err)
		first := store.SignKey{Domain: s.domain, Number: 1, Public: "a", Private: []byte("private half"), Created: now}
		second := store.SignKey{Domain: s.domain, Number: 2, Public: "b", Private: []byte("another"), Created: now}
		for _, key := range []*store.SignKey{&first, &second} {
			s.write(func(tx *store.Tx) error { return tx.AddSignKey(key) })
			got, err := s.db.NewestSignKey(t.Context(), s.domain)
			wantSame(t, *key, got, err)
		}
		taken := store.SignKey{Domain: s.domain, Number: 2, Public: "c", Created: now}
		wantError(t, s.try(func(tx *store.Tx) error { return tx.AddSignKey(&taken) }), store.ErrDuplicate)

		shownFirst := store.SignKey{ID: first.ID, Domain: s.domain, Number: 1, Public: "a", Created: now, Deprecated: true}
		shownSecond := store.SignKey{ID: second.ID, Domain: s.domain, Number: 2, Public: "b", Created: now}
		all, err := s.db.SignKeys(t.Context(), s.domain, 10)
		wantSame(t, []store.SignKey{shownSecond, shownFirst}, all, err)
		got, err := s.db.SignKey(t.Context(), s.domain, first.ID)
		wantSame(t, shownFirst, got, err)
		foreign, err := s.db.SignKey(t.Context(), s.other, first.ID)
		wantNotFound(t, foreign, err)

		sealed, err := database.One(t.Context(), s.db.Rows(), func(row database.Row) (b []byte, err error) { return b, row.Scan(&b) },
			`SELECT private FROM sign_key WHERE number = 1`)
		if err != nil || bytes.Contains(sealed, first.Private) {
			t.Errorf("the private half is not sealed (%v)", err)
		}
		if err := s.sql(`UPDATE sign_key SET private = $1`, []byte("spoilt")); err != nil {
			t.Fatal(err)
		}
		_, err = s.db.NewestSignKey(t.Context(), s.domain)
		wantError(t, err, store.ErrSealed)
	})
}
