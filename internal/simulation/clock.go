package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

// maxAdvance is the longest time by which one change may advance the clock.
const maxAdvance = 400 * 24 * time.Hour

// maxAhead is the longest time by which a clock may be ahead of real time. A time.Duration, such as
// passerelle.Clock.Offset, ends at 292 years.
const maxAhead = 250 * 365 * 24 * time.Hour

// ClockChange is a change of a clock. Exactly one of Advance, Set and Freeze must be set.
type ClockChange struct {
	// Advance is a duration in the format of passerelle.ParseDuration.
	Advance string
	// Set is an instant in the format of passerelle.ParseDateTime, in Zone.
	Set  string
	Zone *time.Location
	// Freeze stops the clock if it is true, and lets the clock run if it is false.
	Freeze *bool
}

// Move changes the clock of a sandbox, and does the due work with the same limit as Run. It returns
// the domain with the new clock.
func (l *Simulation) Move(ctx context.Context, d passerelle.Domain, c ClockChange, acts ...store.Audit) (passerelle.Domain, Result, error) {
	leave, err := l.enter(d)
	if err != nil {
		return d, Result{}, err
	}
	defer leave()
	return l.move(ctx, d, c, acts)
}

func (l *Simulation) move(ctx context.Context, d passerelle.Domain, c ClockChange, acts []store.Audit) (passerelle.Domain, Result, error) {
	moved, err := c.apply(d.Clock, l.Now())
	if err != nil {
		return d, Result{}, err
	}
	err = l.DB.Write(ctx, func(tx *store.Tx) error {
		tx.SetClock(d.ID, d.Clock, moved)
		return tx.Audit(acts...)
	})
	if errors.Is(err, store.ErrConflict) {
		return d, Result{}, passerelle.Conflicting("Another call moved the clock at the same time; read the clock and try again.")
	}
	if err != nil {
		return d, Result{}, fmt.Errorf("move the clock of domain %d: %w", d.ID, err)
	}
	d.Clock = moved
	ran, err := l.runUntilIdle(ctx, d)
	return d, ran, err
}

// apply returns the clock after the change. It fails unless exactly one of Advance, Set and Freeze
// is set.
func (c ClockChange) apply(clock passerelle.Clock, real time.Time) (passerelle.Clock, error) {
	asked := 0
	for _, supplied := range []bool{c.Advance != "", c.Set != "", c.Freeze != nil} {
		if supplied {
			asked++
		}
	}
	now := clock.Now(real)
	switch {
	case asked == 0:
		return clock, passerelle.MissingField("advance", "give exactly one of advance, set and freeze")
	case asked > 1:
		return clock, passerelle.InvalidField("advance", "give exactly one of advance, set and freeze")
	case c.Freeze != nil:
		return frozen(now, real, *c.Freeze), nil
	}
	to, err := c.target(now, real)
	if err != nil {
		return clock, err
	}
	return frozen(to, real, clock.Frozen != nil), nil
}

// frozen returns a clock that shows the instant now, either stopped or running.
func frozen(now, real time.Time, still bool) passerelle.Clock {
	if still {
		return passerelle.Clock{Frozen: &now}
	}
	return passerelle.Clock{Offset: now.Sub(real)}
}

// target returns the instant that Advance or Set requests. It fails for an instant in the past. It
// also fails for an instant so far in the future that the due work would take too long, and for an
// instant that is more than maxAhead after the real time.
func (c ClockChange) target(now, real time.Time) (time.Time, error) {
	field, to := "advance", now
	if c.Set != "" {
		field = "set"
		instant, err := passerelle.ParseDateTime(field, c.Set, c.Zone)
		if err != nil {
			return to, err
		}
		to = instant
	} else {
		length, err := passerelle.ParseDuration(field, c.Advance)
		if err != nil {
			return to, err
		}
		to = to.Add(length)
	}
	if to.Before(now) {
		return to, passerelle.InvalidField(field, "the clock cannot go back; it is %s", passerelle.FormatDateTime(now, c.Zone))
	}
	if to.Sub(now) > maxAdvance {
		return to, passerelle.InvalidField(field, "at most 400d at a time")
	}
	if to.Sub(real) > maxAhead {
		return to, passerelle.InvalidField(field, "the clock can be at most 250 years ahead")
	}
	return to, nil
}
