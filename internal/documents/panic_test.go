package documents_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"passerelle"
	"passerelle/internal/blob"
)

// broken is a store that panics when it stores one of its files.
type broken struct {
	blob.Store
	file passerelle.FileID
}

func (b *broken) Put(ctx context.Context, id passerelle.FileID, content io.Reader) (int64, error) {
	if id == b.file {
		panic("the store is broken")
	}
	return b.Store.Put(ctx, id, content)
}

// TestAPanicDelaysOnlyItsFile checks that a panic during a fetch does not end the process, counts as
// a failure of its file, and does not affect other files.
func TestAPanicDelaysOnlyItsFile(t *testing.T) {
	onEach(t, func(t *testing.T, c *fixture) {
		c.Files = &broken{c.Files, c.bills[c.quick][1].File}
		for _, n := range []int{4, 2, 0} {
			c.fetch(c.quick, n)
		}
		if stored, failed := c.count(c.quick, "stored IS NOT NULL"), c.count(c.quick, "failures = 1 AND lease_until = 0"); stored != bills-1 || failed != 1 {
			t.Errorf("%d files are stored and %d failed", stored, failed)
		}
		if !strings.Contains(c.log.String(), "the store is broken") {
			t.Errorf("the log says %s", c.log)
		}
	})
}
