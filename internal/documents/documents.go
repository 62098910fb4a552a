// Package documents has the use cases of end users' files: fetching them from institutions,
// opening, replacing and removing them.
//
// It owns when a file is fetched, how many of an institution are fetched at once, and what
// happens after a failure. A sync only stores which files exist. It has ended, and has
// reported the documents, before the first file is fetched. The package does not own where
// bytes are (package blob) or which files an institution has (package aggregation).
//
// It fails with *passerelle.Error where a caller can act on it. A file that an institution
// does not deliver is no error: the failure is stored with the file, and it is fetched again
// after increasing pauses. A file whose connection cannot be read, or that the institution
// does not show for now, waits without a failure until a sync succeeds, which makes it due
// in the same transaction.
package documents

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/blob"
	"passerelle/internal/store"
)

// Documents does the use cases of files. Every field is required.
type Documents struct {
	DB *store.DB
	// Files keeps the bytes.
	Files blob.Store
	// Connectors are those of the deployment.
	Connectors *connector.Registry
	// Now is real time; each domain's clock turns it into its own.
	Now func() time.Time
	// Erase wakes the loop that removes files.
	Erase func()
	// Background runs what a reader waits for, and goes on with it when the
	// reader leaves; it is false when there is too much of it.
	Background func(work func(context.Context)) bool
	Log        *slog.Logger

	active activeFetches
	// removing is held by the one call of RemoveFiles that is under way.
	removing sync.Mutex
}

// now is the present instant of a domain, as exact as it can be stored.
func (f *Documents) now(d passerelle.Domain) time.Time {
	return d.Clock.Now(f.Now()).Truncate(time.Microsecond)
}
