package initiation

import (
	"context"
	"errors"
	"time"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// lastDay returns an instant. A payment that has waited since this instant, or longer, expires now.
// The second result is false in a domain in which payments do not expire.
func lastDay(values settings.Values, now time.Time) (time.Time, bool) {
	days := values.Int(settings.ExpireDays)
	return now.AddDate(0, 0, -int(days)), days > 0
}

// expire ends a payment that has waited too long for a definitive status. It does nothing when the
// payment has changed in the meantime, or when its bank may be responding now. In a live domain, it
// also does nothing while the service may send the order again.
func (i *Initiation) expire(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID) error {
	values, err := settings.Load(ctx, &i.DB.Reader, d.ID)
	if err != nil {
		return err
	}
	s, err := i.bankSession(ctx, d, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrSealed) {
		return err
	}
	p, now := s.payment, i.now(d)
	since, expiring := lastDay(values, now)
	if from := p.ExpiresFrom(); !expiring || from == nil || from.After(since) {
		return nil
	}
	if busy, err := i.inProgress(ctx, s); err != nil || busy {
		return err
	}
	steps, err := p.Expire(now)
	if err != nil {
		return err
	}
	return i.commit(ctx, d, p, steps, nil, nothingElse)
}

// inProgress reports whether the bank may be responding now or, in a live domain, the service may
// send the order again. A payment in a sandbox expires even if its order may be sent again, because
// orders there move no money.
func (i *Initiation) inProgress(ctx context.Context, s bankSession) (bool, error) {
	if s.attempt.State == store.AttemptOpen || s.domain.Kind != passerelle.Live {
		return s.attempt.State == store.AttemptOpen, nil
	}
	return i.mayArrive(ctx, s)
}
