package documents

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// removeBatch is how many files are removed at a time, and removeLease how long
// a crash in between delays the next try.
const (
	removeBatch = 100
	removeLease = 10 * time.Minute
)

// RemoveFiles removes the bytes of files that nobody has any more, and then what
// is known of them: a crash in between leaves what is known, and the files are
// removed by the next pass.
//
// One pass at a time is enough for a process, and who comes second knows after
// it that nothing is left.
func (f *Documents) RemoveFiles(ctx context.Context) error {
	f.removing.Lock()
	defer f.removing.Unlock()
	for ctx.Err() == nil {
		var over []int64
		err := f.DB.Write(ctx, func(tx *store.Tx) error {
			bankstore.In(tx).ClaimForgotten(removeLease, removeBatch, &over)
			return nil
		})
		if err != nil || len(over) == 0 {
			return err
		}
		for _, id := range over {
			if err := f.Files.Remove(ctx, passerelle.FileID(id)); err != nil {
				return err
			}
		}
		err = f.DB.Write(ctx, func(tx *store.Tx) error {
			bankstore.In(tx).ForgetFiles(over)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
