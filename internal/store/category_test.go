package store_test

import (
	"testing"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// TestSequenceCheckIgnoresBuiltInCategories checks that SequencesBehind reports the sequence for
// users' categories only after the test resets the sequence. The ids of these categories follow the
// ids of built-in categories, which the sequence does not count.
func TestSequenceCheckIgnoresBuiltInCategories(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		s.write(func(tx *store.Tx) error {
			tx.Unit().Exec(`INSERT INTO end_user (id, domain_id, platform, created, permanent, version) VALUES (7, $1, 'sharedAccess', 1, 1, 1)`, int64(s.domain))
			return nil
		})
		for want := passerelle.FirstOwnCategory; want < passerelle.FirstOwnCategory+3; want++ {
			c := passerelle.Category{User: 7, Name: "Pets"}
			s.write(func(tx *store.Tx) error { return bankstore.In(tx).CreateCategory(s.domain, &c, 10, store.ErrConflict) })
			if c.ID != want {
				t.Errorf("category %d, want %d", c.ID, want)
			}
		}
		if behind, err := s.db.SequencesBehind(t.Context()); err != nil || len(behind) > 0 {
			t.Errorf("behind: %q, %v", behind, err)
		}
		if err := s.sql(`UPDATE sequence SET next = 1 WHERE name = 'category'`); err != nil {
			t.Fatal(err)
		}
		if behind, err := s.db.SequencesBehind(t.Context()); err != nil || len(behind) != 1 || behind[0] != "category" {
			t.Errorf("behind: %q, %v", behind, err)
		}
	})
}
