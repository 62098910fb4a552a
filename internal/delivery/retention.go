package delivery

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

const (
	// healthKept is the time for which the hourly counts of requests to webhooks are stored.
	healthKept = 30 * 24 * time.Hour
	// purgeBatch and purgeBatches limit each call of the store, as [store.Retention] describes. The
	// next purge continues.
	purgeBatch   = 1000
	purgeBatches = 1000
)

// KeptSince returns the instant since which all events of a domain are stored, even finished
// events.
func KeptSince(values settings.Values, now time.Time) time.Time {
	return now.AddDate(0, 0, -int(values.Int(settings.RetentionDays)))
}

// Purge removes finished events of a domain, with their records, when they are older than the
// domain's setting allows. It also gives up the undelivered deliveries of webhooks that were
// deleted more than a day ago. Other undelivered events stay at any age.
func (d *Delivery) Purge(ctx context.Context, domain passerelle.Domain) error {
	values, err := settings.Load(ctx, &d.DB.Reader, domain.ID)
	if err != nil {
		return err
	}
	now := d.now(domain)
	if err := d.DB.PurgeUndeliverable(ctx, domain.ID, now, purgeBatch, purgeBatches); err != nil {
		return err
	}
	return d.DB.PurgeEvents(ctx, store.Retention{
		Domain: domain.ID, Events: KeptSince(values, now), Health: now.Add(-healthKept),
		Batch: purgeBatch, Batches: purgeBatches,
	})
}
