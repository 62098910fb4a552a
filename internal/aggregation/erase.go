package aggregation

import (
	"context"
	"errors"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

// These constants limit one pass over a domain: the users in a page, the rows of each kind in a
// transaction, and the number of pages.
const (
	eraseUsers   = 100
	eraseBatch   = 1000
	eraseBatches = 100
)

// erasePause is the time between two tries to erase the data of a user.
const erasePause = time.Minute

// ExpireUsers deletes the temporary users of a domain who have expired. It keeps a user who becomes
// permanent while ExpireUsers runs.
func (a *Aggregation) ExpireUsers(ctx context.Context, d passerelle.Domain) error {
	return store.EachPending(ctx, eraseBatches, func(failed int) ([]passerelle.User, error) {
		return a.DB.ExpiredUsers(ctx, d.ID, a.Now(), failed, eraseUsers)
	}, func(u passerelle.User) error {
		if err := a.remove(ctx, d, u, time.UTC); !errors.Is(err, store.ErrConflict) {
			return err
		}
		return nil
	})
}

// EraseUsers erases the data of a domain's deleted users, except bank data. EraseWithdrawn erases
// bank data.
func (a *Aggregation) EraseUsers(ctx context.Context, d passerelle.Domain) error {
	return store.EachPending(ctx, eraseBatches, func(failed int) ([]store.Erasure, error) {
		return a.DB.ErasuresDue(ctx, d.ID, a.Now(), failed, eraseUsers)
	}, func(e store.Erasure) error {
		now := a.Now()
		return a.DB.Erase(ctx, e, eraseBatch, d.Clock.Now(now), now, now.Add(erasePause))
	})
}
