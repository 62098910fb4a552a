package aggregation

import (
	"context"
	"errors"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

// These are the limits of one pass over a domain: the users at a time, the rows of each kind in a
// transaction, and the number of transactions.
const (
	eraseUsers   = 100
	eraseBatch   = 1000
	eraseBatches = 100
)

// erasePause is the time between two checks whether the receiver of a deletion event has received
// the event.
const erasePause = time.Minute

// ExpireUsers deletes the temporary users of a domain who have expired. It keeps a user who becomes
// permanent at that moment.
func (a *Aggregation) ExpireUsers(ctx context.Context, d passerelle.Domain) error {
	for range eraseBatches {
		expired, err := a.DB.ExpiredUsers(ctx, d.ID, a.Now(), eraseUsers)
		if err != nil || len(expired) == 0 {
			return err
		}
		for _, u := range expired {
			if err := a.remove(ctx, d, u, time.UTC); err != nil && !errors.Is(err, store.ErrConflict) {
				return err
			}
		}
	}
	return nil
}

// EraseUsers erases the data of a domain's deleted users.
func (a *Aggregation) EraseUsers(ctx context.Context, d passerelle.Domain) error {
	for range eraseBatches {
		due, err := a.DB.ErasuresDue(ctx, d.ID, a.Now(), eraseUsers)
		if err != nil || len(due) == 0 {
			return err
		}
		for _, e := range due {
			now := a.Now()
			if err := a.DB.Erase(ctx, e, eraseBatch, d.Clock.Now(now), now, now.Add(erasePause)); err != nil {
				return err
			}
		}
	}
	return nil
}
