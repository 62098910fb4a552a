package documents

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// removeBatch is the largest number of files that RemoveFiles claims at once. removeLease is the
// delay of the next attempt after a crash during the removal.
const (
	removeBatch = 100
	removeLease = 10 * time.Minute
)

// RemoveFiles removes the content of files to which no document or attachment refers. It then
// removes the rows of these files. After a crash between the two steps, a later pass still finds
// the rows.
//
// A process runs only one pass at a time. A caller that waits for another pass usually finds no
// files left.
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
