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
	// wantedEvents contains the events to which webhooks are subscribed. It is nil until the run
	// reads them. writeAll means that a webhook was registered later. The run then writes every
	// body.
	wantedEvents map[webhook.Event]bool
	writeAll     bool
	// stored is the number of final events that earlier units of the run have stored. listed is the
	// number of calls of add since finalEvents began.
	stored, listed int
	// report contains the content of the final events, once the run has ended.
	report report
}

// zone returns the time zone of the times in event bodies.
func (r *reporter) zone() *time.Location { return r.settings.Location() }

func (r *reporter) shownUser() wire.User { return wire.NewUser(r.lease.user, r.zone()) }

// The bodies of some events contain a whole history, and many clients do not need them. The service
// therefore checks whether a webhook is subscribed to an event before it writes the body.

// unwanted reports whether no webhook is subscribed to an event. Such an event is stored without a
// body. Events of a temporary user always get a body, because a webhook may be registered before
// the user becomes permanent.
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

// mostAtOnce is the number of final events that add collects before it stores them in a unit.
const mostAtOnce = 100

// add adds a final event to the events for the next unit. It stores these events once there are
// mostAtOnce. It leaves out an event that an earlier unit has stored.
func (r *reporter) add(ctx context.Context, events []store.EmittedEvent, e store.EmittedEvent) ([]store.EmittedEvent, error) {
	if r.listed++; r.listed <= r.stored {
		return events, nil
	}
	if events = append(events, e); len(events) < mostAtOnce {
		return events, nil
	}
	if err := r.lease.write(ctx, func(*store.Tx) error { return nil }, events...); err != nil {
		return nil, err
	}
	r.stored = r.listed
	return nil, nil
}

// writeWithEvents executes a unit of the run, and stores the events that the argument events
// returns. The unit fails with ErrWanted if a webhook was registered after r.unwanted checked
// the webhooks. In this case, writeWithEvents makes the events again, with all bodies. The run then
// writes all later bodies too.
func (r *reporter) writeWithEvents(ctx context.Context, events func() ([]store.EmittedEvent, error), fn func(tx *store.Tx) error) error {
	all, err := events()
	if err == nil {
		err = r.lease.write(ctx, fn, all...)
	}
	if !errors.Is(err, store.ErrWanted) || r.writeAll {
		return err
	}
	r.writeAll = true
	return r.writeWithEvents(ctx, events, fn)
}
