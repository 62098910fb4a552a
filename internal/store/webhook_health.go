package store

import (
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// Health sums up the requests to one webhook or to all webhooks of a domain over 24 hours.
type Health struct {
	// Requests is the number of requests, and Successes is the number of accepted requests.
	Requests, Successes int64
	// Reached is the number of requests that reached the receiver, and Duration their total time.
	Reached  int64
	Duration time.Duration
}

// Average returns the mean time of the requests that reached the receiver. It is zero without such
// requests.
func (h Health) Average() time.Duration {
	return h.Duration / time.Duration(max(h.Reached, 1))
}

// healthHours is the number of hours that a Health covers, including the current one.
const healthHours = 24

// hourOf returns the number of hours from 1970 to an instant of a domain's time.
func hourOf(t time.Time) int64 { return t.Unix() / 3600 }

// Health sums up the requests to a domain's webhooks in the 24 hours up to the domain's instant.
// All hours are complete except the last. The map has no entry for a webhook without requests.
func (r *Reader) Health(ctx context.Context, domain passerelle.DomainID, now time.Time, webhooks ...passerelle.WebhookID) (map[passerelle.WebhookID]Health, error) {
	found := make(map[passerelle.WebhookID]Health, len(webhooks))
	if len(webhooks) == 0 {
		return found, nil
	}
	list, args := idList(domain, webhooks)
	err := r.rows.Each(ctx, fmt.Sprintf(`SELECT webhook_id, CAST(SUM(requests) AS BIGINT), CAST(SUM(successes) AS BIGINT), CAST(SUM(reached) AS BIGINT), CAST(SUM(duration) AS BIGINT)
		FROM webhook_health WHERE domain_id = $1 AND webhook_id IN (%s) AND hour > $%d AND hour <= $%d GROUP BY webhook_id`,
		list, len(args)+1, len(args)+2), append(args, hourOf(now)-healthHours, hourOf(now)), func(row database.Row) (bool, error) {
		var (
			id       passerelle.WebhookID
			h        Health
			duration int64
		)
		err := row.Scan(&id, &h.Requests, &h.Successes, &h.Reached, &duration)
		h.Duration = time.Duration(duration) * time.Microsecond
		found[id] = h
		return true, err
	})
	return found, err
}

// countHealth adds requests to the counters of the hours in which they began.
func (tx *Tx) countHealth(w Webhook, batch []DeliveryAttempt) {
	hours := map[int64]Health{}
	for _, a := range batch {
		h := hours[hourOf(a.At)]
		h.Requests++
		if a.Reached {
			h.Reached, h.Duration = h.Reached+1, h.Duration+a.Duration
		}
		if a.Failure == "" {
			h.Successes++
		}
		hours[hourOf(a.At)] = h
	}
	for hour, h := range hours {
		tx.unit.Exec(`INSERT INTO webhook_health (webhook_id, hour, domain_id, requests, successes, reached, duration) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (webhook_id, hour) DO UPDATE SET requests = webhook_health.requests + excluded.requests,
			successes = webhook_health.successes + excluded.successes, reached = webhook_health.reached + excluded.reached, duration = webhook_health.duration + excluded.duration`,
			int64(w.ID), hour, int64(w.Domain), h.Requests, h.Successes, h.Reached, h.Duration.Microseconds())
	}
}
