package store

import (
	"testing"

	"passerelle"
)

// TestListsOfAnyLength: what is kept of statements does not grow with every length
// that a list of ids may have, and each finds what is asked for and nothing else.
func TestListsOfAnyLength(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		h := newSavings(t, s)
		kept := func() (n int) {
			h.db.engine.words().texts.Range(func(any, any) bool { n++; return true })
			return n
		}
		before := kept()
		var ids []passerelle.ConnectionID
		for n := range 130 {
			found, err := h.db.ConnectionsByID(t.Context(), h.domain, 7, ids)
			if err != nil || n > 0 && len(found) != 1 || n == 0 && len(found) != 0 {
				t.Fatalf("among %d: %d connections (%v)", n, len(found), err)
			}
			ids = append(ids, h.connection.ID+passerelle.ConnectionID(n))
		}
		if more := kept() - before; more > 10 {
			t.Errorf("%d texts are kept of one statement", more)
		}
	})
}
