package documents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// removeBatch is the largest number of files that RemoveFiles claims at once. removeLease is the
// delay of the next attempt after a failure or a crash during the removal.
const (
	removeBatch = 100
	removeLease = 10 * time.Minute
)

// RemoveFiles removes the content of files to which no document or attachment refers. It then
// removes the rows of these files. After a crash between the two steps, a later pass still finds
// the rows.
//
// RemoveFiles stops at a file that it cannot remove, because the store may be unreachable. The next
// pass continues with the other files. It does not try this file again until removeLease is over.
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
		if err := f.remove(ctx, over); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// remove removes claimed files, up to a file that it cannot remove.
func (f *Documents) remove(ctx context.Context, claimed []int64) error {
	for i, id := range claimed {
		if err := f.Files.Remove(ctx, passerelle.FileID(id)); err != nil {
			return errors.Join(fmt.Errorf("remove file %d: %w", id, err), f.forget(ctx, claimed[:i], claimed[i+1:]))
		}
	}
	return f.forget(ctx, claimed, nil)
}

// forget removes the rows of removed files, and releases the files that a pass did not reach.
func (f *Documents) forget(ctx context.Context, removed, others []int64) error {
	return f.DB.Write(ctx, func(tx *store.Tx) error {
		bankstore.In(tx).ForgetFiles(removed)
		bankstore.In(tx).ReleaseForgotten(others)
		return nil
	})
}
