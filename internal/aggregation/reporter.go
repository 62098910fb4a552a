package aggregation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"passerelle/connector"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// reporter writes the events of a run from stored data.
type reporter struct {
	lease      *lease
	profile    connector.Profile
	settings   settings.Values
	connectors *connector.Registry
	log        *slog.Logger
	// wantedEvents are the events that webhooks are subscribed to, nil before they were read.
	// writeAll means that a webhook was added since, so that every body is written.
	wantedEvents map[webhook.Event]bool
	writeAll     bool
	// report has the content of the final events, once the run has ended.
	report report
}

// zone returns the time zone of the times in event bodies.
func (r *reporter) zone() *time.Location { return r.settings.Location() }

func (r *reporter) shownUser() wire.User { return wire.NewUser(r.lease.user, r.zone()) }

// The bodies of some events are as long as a history, and many services do not need them. So the
// service checks whether a webhook is subscribed to an event before it writes a body.

// unwanted reports that no webhook is subscribed to an event, which is then stored without a
// body. Events of a temporary user are always written, because a webhook may be registered
// before the user becomes permanent.
func (r *reporter) unwanted(ctx context.Context, e *store.EmittedEvent) (bool, error) {
	if r.lease.user.Permanent == nil || r.writeAll {
		return false, nil
	}
	if r.wantedEvents == nil {
		wanted, err := r.lease.db.WantedEvents(ctx, r.lease.domain.ID, r.lease.user.ID)
		if err != nil {
			return false, fmt.Errorf("list the events that webhooks want: %w", err)
		}
		r.wantedEvents = wanted
	}
	e.Unwanted = !r.wantedEvents[e.Name]
	return e.Unwanted, nil
}

// writeWithEvents executes a unit of the run with events that are written for it. When a webhook
// was registered after the check, it writes these bodies again, and all later ones.
func (r *reporter) writeWithEvents(ctx context.Context, events func() ([]store.EmittedEvent, error), fn func(tx *store.Tx) error) error {
	all, err := events()
	if err != nil {
		return err
	}
	err = r.lease.write(ctx, fn, all...)
	if !errors.Is(err, store.ErrWanted) || r.writeAll {
		return err
	}
	r.writeAll = true
	return r.writeWithEvents(ctx, events, fn)
}
