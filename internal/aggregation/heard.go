package aggregation

import (
	"context"
	"errors"
	"fmt"

	"passerelle/internal/store"
)

// The bodies of some events are as long as a history, and many services want none
// of them: whether somebody does is asked before one is written.

// unheard reports that nobody wants an event, which then gets no body. What a
// temporary user has is for whoever listens once they are permanent.
func (v *visit) unheard(ctx context.Context, e *store.Event) (bool, error) {
	if v.user.Permanent == nil || v.listened {
		return false, nil
	}
	if v.heard == nil {
		heard, err := v.DB.Heard(ctx, v.domain.ID, v.user.ID)
		if err != nil {
			return false, fmt.Errorf("list the events that webhooks want: %w", err)
		}
		v.heard = heard
	}
	e.Unheard = !v.heard[e.Name]
	return e.Unheard, nil
}

// telling executes a unit of the visit with events that are written for it. When
// a webhook was registered since it was asked who listens, they are written anew,
// and so is all that follows.
func (v *visit) telling(ctx context.Context, events func() ([]store.Event, error), fn func(tx *store.Tx) error) error {
	all, err := events()
	if err != nil {
		return err
	}
	err = v.write(ctx, fn, all...)
	if !errors.Is(err, store.ErrHeard) || v.listened {
		return err
	}
	v.listened = true
	return v.telling(ctx, events, fn)
}
