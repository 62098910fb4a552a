package documents

import (
	"context"
	"errors"
	"fmt"
	"io"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// maxAsked limits the files that the process fetches from a connector at the same time for waiting
// readers.
const maxAsked = 4

// OpenFile is an open file of a user, with its stored data.
type OpenFile struct {
	bankstore.StoredFile
	io.ReadSeekCloser
}

// Open opens a file of a user. It fetches a file that has not been fetched yet, and this fetch
// continues when the reader leaves. Open fails with Unavailable when the institution does not
// deliver the file now. It also fails with Unavailable when the process already fetches too many of
// the institution's files.
func (f *Documents) Open(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.FileID) (OpenFile, error) {
	file, err := f.file(ctx, d, user, id)
	if err == nil && file.Stored == nil {
		if err = f.fetchNow(ctx, d, file); err == nil {
			file, err = f.file(ctx, d, user, id)
		}
	}
	if err != nil {
		return OpenFile{}, err
	}
	if file.Stored == nil {
		return OpenFile{}, unfetched("The file has not come from the institution yet; try again later.")
	}
	body, err := f.Files.Open(ctx, id)
	return OpenFile{file, body}, err
}

func (f *Documents) file(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.FileID) (bankstore.StoredFile, error) {
	file, err := bankstore.From(f.DB).File(ctx, d.ID, user, id)
	if errors.Is(err, store.ErrNotFound) {
		return file, passerelle.Missing()
	}
	if err != nil {
		return file, fmt.Errorf("load file %d: %w", id, err)
	}
	return file, nil
}

// fetchNow fetches a file, or waits for a running fetch. It returns no error when the fetch fails:
// the caller then finds the file without content.
func (f *Documents) fetchNow(ctx context.Context, d passerelle.Domain, file bankstore.StoredFile) error {
	if under := f.active.running(file.ID); under != nil {
		return under.wait(ctx)
	}
	busy := unfetched("Too many files are being fetched; try again later.")
	if !f.active.enter(file.Connector) {
		return busy
	}
	ended := make(chan error, 1)
	begun := f.Background(file.Connector, func(ctx context.Context) {
		defer close(ended)
		ended <- f.fetchOne(ctx, d, file)
	})
	if !begun {
		f.active.leave(file.Connector)
		return busy
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fetchOne fetches a file for a reader. It calls f.active.leave at the end, because the reader has
// entered already.
func (f *Documents) fetchOne(ctx context.Context, d passerelle.Domain, file bankstore.StoredFile) error {
	defer f.active.leave(file.Connector)
	leased, err := f.active.begin(ctx, f.DB, file.Connector, func(tx *store.Tx, into *[]bankstore.LeasedFile) {
		bankstore.In(tx).ClaimFile(d.ID, file.ID, fetchLease, into)
	})
	if err != nil {
		return err
	}
	if len(leased) == 0 {
		if err := f.active.awaitClaims(ctx, file.Connector); err != nil {
			return err
		}
		return f.active.running(file.ID).wait(ctx)
	}
	return f.fetch(ctx, d, leased[0])
}

// unfetched returns the error for a file that cannot be fetched now.
func unfetched(message string) error {
	return &passerelle.Error{Kind: passerelle.Unavailable, Code: "unavailable", Message: message, RetryAfter: int(firstFetch.Seconds())}
}
