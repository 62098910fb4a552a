// Package aggregation holds what can be done with the end users of a domain:
// creating them, keeping those who come to stay, what applications note about
// them, and deleting them with everything they had.
//
// It owns the events about users and when those of a temporary user are sent:
// when it becomes permanent, in the same transaction, or never. It does not own
// the tokens of users, which package access makes in the transactions of this
// one, nor sending events (package delivery), nor fetching the files that it finds
// (package documents).
//
// It fails with *passerelle.Error where the caller is at fault; a user who is
// not there, or whose time is over, is NotFound. A deletion is complete at once
// for whoever looks: what the user had is unreachable in that transaction and
// erased soon after, in bounded batches.
package aggregation

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/store"
)

// Aggregation does the use cases of users. Every field is required.
type Aggregation struct {
	DB *store.DB
	// Connectors are those of the deployment.
	Connectors *connector.Registry
	// Now is real time; each domain's clock turns it into its own.
	Now func() time.Time
	// Wake tells the sender of webhooks that deliveries are due, Erase the loop that
	// erases that there is something to be erased.
	Wake, Erase func()
	// Sync tells the loop that reads in the background that something is due, Fetch
	// the one that fetches the files of a connector, which its UUID names.
	Sync  func()
	Fetch func(connector string)
	// Background runs what nobody waits for, and is false when there is too much
	// of it.
	Background func(work func(context.Context)) bool
	// LeaseTimeout is how long a change waits for a connection that is being read.
	LeaseTimeout time.Duration
	// Name tells this process from all that share the database.
	Name string
	Log  *slog.Logger

	runs atomic.Int64
	// passes has a channel for each domain, with room for the one call of
	// SyncDue that is under way.
	passes sync.Map
}

// now is the present instant of a domain, as exact as it can be stored.
func (a *Aggregation) now(d passerelle.Domain) time.Time {
	return d.Clock.Now(a.Now()).Truncate(time.Microsecond)
}
