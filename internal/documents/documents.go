// Package documents has the use cases of end users' files: fetching them from institutions,
// opening, replacing and removing them.
//
// It owns when a file is fetched, how many files of an institution are fetched at once, and what
// happens after a failure. A sync only stores which files exist. It has ended, and has reported
// the documents, before the first file is fetched. The package does not own where bytes are
// (package blob) or which files an institution has (package aggregation).
//
// It fails with *passerelle.Error when a caller can act on the error. A file that an institution
// does not deliver is no error: the failure is stored with the file, which is fetched again
// after increasing pauses. A file whose connection cannot be read, or that the institution does
// not list, waits without a failure until a sync succeeds and makes it due in the same
// transaction.
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

// Documents implements the use cases of files. Every field is required.
type Documents struct {
	DB *store.DB
	// Files keeps the bytes.
	Files blob.Store
	// Connectors has the connectors of the deployment.
	Connectors *connector.Registry
	// Now is real time. A sandbox domain's clock converts it to the domain's time.
	Now func() time.Time
	// Erase wakes the loop that removes files.
	Erase func()
	// Background runs work that a reader waits for, and continues when the reader leaves. It
	// returns false, and runs nothing, when too much such work runs already.
	Background func(work func(context.Context)) bool
	Log        *slog.Logger

	active activeFetches
	// removing is held by the running call of RemoveFiles.
	removing sync.Mutex
}

// now returns the present instant of a domain, in the precision in which it is stored.
func (f *Documents) now(d passerelle.Domain) time.Time {
	return d.Clock.Now(f.Now()).Truncate(time.Microsecond)
}
