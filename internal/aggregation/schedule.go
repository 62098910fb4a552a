package aggregation

import (
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/settings"
)

const (
	// With the setting RetryWrongpass, the service tries an established connection again half a day
	// after a wrong password, and then every week. Institutions sometimes refuse correct passwords,
	// and they lock an account after a few failures.
	firstWrongpass = 12 * time.Hour
	laterWrongpass = 7 * 24 * time.Hour
	// In a state that needs no action, the service tries again after an hour. Each later pause is
	// twice as long, up to a day.
	firstRetry = time.Hour
	lastRetry  = 24 * time.Hour
)

// next returns the time at which the connection is next read without a request. It returns nil when
// the connection is read only on request.
func (run *syncRun) next(now time.Time, o connector.Outcome) *time.Time {
	wait, wanted := run.pause(o)
	if !wanted || !run.lease.c.Active || run.profile.Data.TakesFiles || !run.settings.On(settings.AutosyncEnabled) {
		return nil
	}
	next := now.Add(max(wait, o.RetryAfter))
	return &next
}

func (run *syncRun) pause(o connector.Outcome) (time.Duration, bool) {
	switch {
	case o.State == "":
		return run.spread(run.frequency()), true
	case o.State == passerelle.Wrongpass && run.settings.On(settings.RetryWrongpass) && run.lease.c.Established != nil:
		if run.lease.c.Failures <= 1 {
			return firstWrongpass, true
		}
		return laterWrongpass, true
	case o.State.Resolution() == passerelle.ByRetry, o.State == passerelle.ActionNeeded && o.RetryAfter > 0:
		return backoff(run.lease.c.Failures), true
	}
	return 0, false
}

// frequency returns the interval between reads of a healthy connection.
func (run *syncRun) frequency() time.Duration {
	if own, set := settings.DaysOf(run.profile.SyncDays); set {
		return own
	}
	return run.settings.Days(settings.AutosyncFrequency)
}

// backoff returns the pause after this number of consecutive failures. The number is at least 1.
func backoff(failures int64) time.Duration {
	return min(firstRetry<<min(failures-1, 5), lastRetry)
}

// spread shortens a pause by up to a tenth. The part depends on the connection and its number of
// runs. Connections that were created together are therefore read at different times.
func (run *syncRun) spread(pause time.Duration) time.Duration {
	const parts = 1024
	share := (int64(run.lease.c.ID)*2654435761 + run.lease.sync) % parts
	return pause - pause/10*time.Duration(share)/parts
}
