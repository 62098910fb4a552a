package aggregation

import (
	"context"
	"errors"
	"fmt"

	"passerelle/internal/store"
)

// The bodies of some events are as long as a history, and many services do not need them. So the
// service checks whether a webhook is subscribed to an event before it writes a body.

// unwanted reports that no webhook is subscribed to an event, which is then stored without a
// body. Events of a temporary user are always written, because a webhook may be registered
// before the user becomes permanent.
func (run *syncRun) unwanted(ctx context.Context, e *store.EmittedEvent) (bool, error) {
	if run.user.Permanent == nil || run.writeAll {
		return false, nil
	}
	if run.wantedEvents == nil {
		wanted, err := run.DB.WantedEvents(ctx, run.domain.ID, run.user.ID)
		if err != nil {
			return false, fmt.Errorf("list the events that webhooks want: %w", err)
		}
		run.wantedEvents = wanted
	}
	e.Unwanted = !run.wantedEvents[e.Name]
	return e.Unwanted, nil
}

// writeWithEvents executes a unit of the run with events that are written for it. When a webhook
// was registered after the check, it writes these bodies again, and all later ones.
func (run *syncRun) writeWithEvents(ctx context.Context, events func() ([]store.EmittedEvent, error), fn func(tx *store.Tx) error) error {
	all, err := events()
	if err != nil {
		return err
	}
	err = run.write(ctx, fn, all...)
	if !errors.Is(err, store.ErrWanted) || run.writeAll {
		return err
	}
	run.writeAll = true
	return run.writeWithEvents(ctx, events, fn)
}
