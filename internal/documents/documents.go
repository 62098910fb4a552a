// Package documents holds what can be done with the files of end users: fetching
// them from institutions, opening them, replacing them, removing those that
// nobody has any more.
//
// It owns when a file is fetched, how many of an institution's at once, and what
// becomes of one that does not come. A synchronisation stores which files there
// are and fetches none: it is over, and tells of the documents, before the first
// is asked for. It does not own where bytes are (package blob), nor which files
// an institution has, which package aggregation finds out.
//
// It fails with *passerelle.Error where a caller can do something about it. A
// file that an institution does not give is no error: that is on record with the
// file, and it is fetched again after a while, longer each time. One whose
// connection cannot be read, or that is not shown for now, waits without a failure
// until a visit ends well, which makes it due in the same transaction.
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
	// Erase tells the loop that removes files that there is something to be
	// removed.
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
