// Package documents has the use cases of end users' files. It fetches files from institutions, and
// opens, replaces and removes them.
//
// The package decides when to fetch a file, how many files of an institution to fetch at the same
// time, and what happens after a failure. A sync only stores which files exist. The fetch of the
// first file begins after the sync has ended and has reported the documents. Package blob owns the
// location of the bytes. Package aggregation owns the list of an institution's files.
//
// The package fails with a *passerelle.Error when a caller can act on the error. When an
// institution does not deliver a file, the package stores the failure with the file. It repeats the
// fetch after increasing pauses. When a file's connection cannot be read, or the institution does
// not list the file, the package counts no failure. The file then waits for a successful sync. The
// transaction of that sync makes the file due.
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
	// Connectors has the connectors of the deployment.
	Connectors *connector.Registry
	// Now returns the real time. A sandbox domain's clock converts it to the domain's time.
	Now func() time.Time
	// Erase wakes the loop that removes files.
	Erase func()
	// Background runs work for which a reader waits. The work continues when the reader leaves.
	// Background returns false and runs nothing when too much such work is already running.
	Background func(connector string, work func(context.Context)) bool
	Log        *slog.Logger

	active activeFetches
	// removing is the mutex that the running call of RemoveFiles locks.
	removing sync.Mutex
}

// now returns the current instant of a domain, with the precision of stored instants.
func (f *Documents) now(d passerelle.Domain) time.Time {
	return d.Clock.Now(f.Now()).Truncate(time.Microsecond)
}
