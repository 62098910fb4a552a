// Package aggregation has the use cases of end users: creating and deleting them, making
// temporary users permanent, connecting them to institutions, and reading their data.
//
// It owns the events about users. The events of a temporary user are sent in the transaction
// that makes the user permanent, or never. It does not own user tokens (package access),
// sending events (package delivery), or fetching files (package documents).
//
// It fails with *passerelle.Error for mistakes of the caller. It fails with NotFound for a user
// who does not exist or has expired. A deletion hides the user's data in its transaction, and
// loops erase the data soon after in small batches.
package aggregation

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/notification"
	"passerelle/internal/store"
)

// Aggregation has the use cases of users. Every field is required.
type Aggregation struct {
	DB *store.DB
	// Connectors has the connectors of the deployment.
	Connectors *connector.Registry
	// Now returns the real time. The clock of a sandbox domain converts it to the domain's time.
	Now func() time.Time
	// Wake wakes the sender of webhooks. Erase wakes the loop that erases withdrawn data.
	Wake, Erase func()
	// Sync wakes the loop that reads connections in the background. Fetch wakes the loop that
	// fetches the files of a connector, named by its UUID.
	Sync  func()
	Fetch func(connector string)
	// Background runs work that no caller waits for. It returns false when too much is
	// running.
	Background func(work func(context.Context)) bool
	// Notifications makes the addresses to which institutions send reports; nil for none.
	Notifications *notification.Notifications
	// LeaseTimeout is how long a change waits for a connection that is being read.
	LeaseTimeout time.Duration
	// Name differs from the names of all other processes on the database.
	Name string
	Log  *slog.Logger

	runs atomic.Int64
	// devices contains, by connection, the device of the user who shared an account, until the
	// next read.
	devices sync.Map
	// passes contains a channel of capacity 1 for each domain. A running call of SyncDue fills
	// it.
	passes sync.Map
}

// now returns the present instant of a domain, in the precision of stored instants.
func (a *Aggregation) now(d passerelle.Domain) time.Time {
	return d.Clock.Now(a.Now()).Truncate(time.Microsecond)
}
