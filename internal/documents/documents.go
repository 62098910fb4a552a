// Package documents has the use cases of end users' files: fetching them from institutions,
// opening, replacing and removing them.
//
// It owns when a file is fetched, how many files of an institution are fetched at once, and what
// happens after a failure. A sync only stores which files exist. The first file is fetched after
// the sync has ended and has reported the documents. The package does not own where the bytes
// are (package blob), or which files an institution has (package aggregation).
//
// It fails with a *passerelle.Error when a caller can act on the error. If an institution does
// not deliver a file, the failure is stored with the file, and the file is fetched again after
// increasing pauses. If the connection of a file cannot be read, or the institution does not
// list the file, no failure is counted. The file then waits until a sync succeeds, which makes
// it due in the same transaction.
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
	// Files stores the bytes.
	Files blob.Store
	// Connectors contains the connectors of the deployment.
	Connectors *connector.Registry
	// Now is real time. A sandbox domain's clock converts it to the domain's time.
	Now func() time.Time
	// Erase wakes the loop that removes files.
	Erase func()
	// Background runs work for which a reader waits, and continues it when the reader leaves. It
	// returns false and runs nothing when too much such work is already running.
	Background func(work func(context.Context)) bool
	Log        *slog.Logger

	active activeFetches
	// removing is locked by the running call of RemoveFiles.
	removing sync.Mutex
}

// now returns the present instant of a domain, with the precision with which it is stored.
func (f *Documents) now(d passerelle.Domain) time.Time {
	return d.Clock.Now(f.Now()).Truncate(time.Microsecond)
}
