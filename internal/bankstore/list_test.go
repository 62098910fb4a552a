package bankstore_test

import (
	"context"
	"testing"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/database"
)

// TestListsOfAnyLength checks that id lists of 130 lengths use at most ten statement texts, because
// each text stays in a cache. Each list with the connection's id must find the connection.
func TestListsOfAnyLength(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h := newUserAccounts(t, s)
		texts := map[string]bool{}
		h.db.Database.Observe(func(_ context.Context, statements []database.Statement) error {
			for _, statement := range statements {
				texts[statement.SQL] = true
			}
			return nil
		})
		var ids []passerelle.ConnectionID
		for n := range 130 {
			found, err := bankstore.From(h.db).ConnectionsByID(t.Context(), h.domain, 7, ids)
			if err != nil || n > 0 && len(found) != 1 || n == 0 && len(found) != 0 {
				t.Fatalf("among %d: %d connections (%v)", n, len(found), err)
			}
			ids = append(ids, h.Connection.ID+passerelle.ConnectionID(n))
		}
		if len(texts) > 10 {
			t.Errorf("one statement has %d texts, each of which is kept", len(texts))
		}
	})
}
