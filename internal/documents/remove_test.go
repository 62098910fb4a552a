package documents_test

import (
	"context"
	"errors"
	"testing"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/blob"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// stubborn is a store that does not remove one of its files.
type stubborn struct {
	blob.Store
	file passerelle.FileID
}

var errStubborn = errors.New("the file is locked")

func (s *stubborn) Remove(ctx context.Context, id passerelle.FileID) error {
	if id == s.file {
		return errStubborn
	}
	return s.Store.Remove(ctx, id)
}

// TestOneFileDoesNotDelayTheRemovalOfOthers checks that the files of a user are removed although
// the store does not remove one of them, and that this file is removed later.
func TestOneFileDoesNotDelayTheRemovalOfOthers(t *testing.T) {
	onEach(t, func(t *testing.T, c *fixture) {
		for _, n := range []int{4, 2, 0} {
			c.fetch(c.quick, n)
		}
		c.write(func(tx *store.Tx) error {
			bankstore.In(tx).DisableSubscriptions(c.domain.ID, c.of[c.quick].User, noon, c.of[c.quick])
			return nil
		})
		for more := true; more; {
			var err error
			more, err = bankstore.EraseWithdrawn(t.Context(), c.DB, 100)
			must(t, err)
		}
		whole := c.Files
		c.Files = &stubborn{whole, c.bills[c.quick][0].File}
		if err := c.RemoveFiles(t.Context()); !errors.Is(err, errStubborn) {
			t.Errorf("the first pass: %v", err)
		}
		must(t, c.RemoveFiles(t.Context()))
		if n := c.count(c.quick, "TRUE"); n != 1 {
			t.Errorf("%d files are left, want only the stubborn one", n)
		}
		c.Files = whole
		must(t, c.RemoveFiles(t.Context()))
		if n := c.count(c.quick, "TRUE"); n != 1 {
			t.Errorf("the file is tried again at once")
		}
		storetest.Break(t, c.url, `UPDATE stored_file SET due = 0 WHERE due IS NOT NULL`)
		must(t, c.RemoveFiles(t.Context()))
		must(t, whole.Each(t.Context(), 10, func(left []passerelle.FileID) error {
			t.Errorf("the contents of %v are left", left)
			return nil
		}))
		if n := c.count(c.quick, "TRUE"); n != 0 {
			t.Errorf("%d files are left", n)
		}
	})
}
