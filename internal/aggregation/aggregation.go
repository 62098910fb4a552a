// Package aggregation contains the use cases of end users. It creates and deletes users, makes
// temporary users permanent, connects users to institutions, and reads their data.
//
// It owns the events about users. Events of a temporary user are held. The transaction that makes
// the user permanent releases them. If the user stays temporary, they are never sent. The package
// does not own user tokens (package access), the sending of events (package delivery), or the
// fetching of files (package documents).
//
// Its methods fail with *passerelle.Error for mistakes of the caller. Most methods fail with
// NotFound for a user who does not exist or has expired. A deletion immediately hides the user's
// data. Loops erase the data soon after, in small batches.
package aggregation

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankcall"
	"passerelle/internal/notification"
	"passerelle/internal/presence"
	"passerelle/internal/store"
	"passerelle/internal/syncqueue"
)

// Aggregation has the use cases of users. A field is required unless its comment says otherwise.
type Aggregation struct {
	DB *store.DB
	// Connectors contains the connectors of the deployment.
	Connectors *connector.Registry
	// Now returns the real time. The clock of a sandbox domain converts it to the domain's time.
	Now func() time.Time
	// Wake wakes the sender of webhooks. Erase wakes the loop that erases withdrawn data.
	Wake, Erase func()
	// Sync wakes the loop that reads connections in the background. Fetch wakes the loop that
	// fetches files from a connector. Its argument is the UUID of the connector.
	Sync  func()
	Fetch func(connector string)
	// Background runs work that no caller waits for. It returns false and does nothing when too
	// much work is running, in all or with this connector.
	Background func(connector string, work func(context.Context)) bool
	// Outlast returns the context of work that continues when its client leaves, and a function to
	// call at the end of the work. The context ends when the process stops. If Outlast is nil, the
	// context does not end.
	Outlast func(context.Context) (context.Context, func())
	// Notifications creates the addresses to which institutions send reports. Nil means none.
	Notifications *notification.Notifications
	// LeaseTimeout is the time for which a change waits while a connection is being read.
	LeaseTimeout time.Duration
	// Name differs from the names of all other processes on the database.
	Name string
	Log  *slog.Logger

	runs atomic.Int64
	// devices contains, by connection, the devices of users who shared data through this process.
	// The next read of the connection in this process removes the entry.
	devices presence.Devices
	// passes contains a channel of capacity 1 for each domain. A running call of SyncDue fills it.
	passes sync.Map
	queues syncqueue.Queues[*batch]
	// callers counts the requests that wait for institutions. Payments have their own limit.
	callers bankcall.Callers
}

// now returns the present instant of a domain, with the precision of stored instants.
func (a *Aggregation) now(d passerelle.Domain) time.Time {
	return d.Clock.Now(a.Now()).Truncate(time.Microsecond)
}
