package store

import (
	"context"
	"errors"
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

// Health sums up the requests to a domain's webhooks in the 24 hours up to the instant `now`, in
// the domain's time. All hours are complete except the last. The map has no entry for a webhook
// without requests.
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
func (tx *Tx) countHealth(domain passerelle.DomainID, batch []DeliveryAttempt) {
	counters := map[[2]int64]Health{} // by webhook and hour
	for _, a := range batch {
		of := [2]int64{int64(a.Webhook), hourOf(a.At)}
		h := counters[of]
		h.Requests++
		if a.Reached {
			h.Reached, h.Duration = h.Reached+1, h.Duration+a.Duration
		}
		if a.Failure == "" {
			h.Successes++
		}
		counters[of] = h
	}
	for of, h := range counters {
		tx.unit.Exec(`INSERT INTO webhook_health (webhook_id, hour, domain_id, requests, successes, reached, duration) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (webhook_id, hour) DO UPDATE SET requests = webhook_health.requests + excluded.requests,
			successes = webhook_health.successes + excluded.successes, reached = webhook_health.reached + excluded.reached, duration = webhook_health.duration + excluded.duration`,
			of[0], of[1], int64(domain), h.Requests, h.Successes, h.Reached, h.Duration.Microseconds())
	}
}

// MaxWaiting limits the counting of a webhook's waiting deliveries.
const MaxWaiting = 1000

// Outage describes the failures of a webhook's receiver.
type Outage struct {
	// Since is the time of the first failed request after the last accepted one, or nil when no
	// request has failed since.
	Since *time.Time
	// Failure is the reason for the latest failure.
	Failure string
	// Waiting counts the pending deliveries that are not held back. The value MaxWaiting + 1 stands
	// for any number above MaxWaiting.
	Waiting int64
	// Oldest is the time of the oldest event with a pending delivery, even if the delivery is held
	// back. It is nil when no delivery is pending.
	Oldest *time.Time
}

// Outage reads the failed requests since a webhook's last success, and the waiting deliveries.
func (r *Reader) Outage(ctx context.Context, w Webhook) (Outage, error) {
	var o Outage
	from := time.UnixMicro(0)
	if w.LastSuccess != nil {
		from = *w.LastSuccess
	}
	type failed struct {
		at      int64
		failure string
	}
	scan := func(row database.Row) (failed, error) {
		var f failed
		err := row.Scan(&f.at, &f.failure)
		return f, err
	}
	for _, direction := range []string{"ASC", "DESC"} {
		found, err := database.Collect(ctx, r.rows, scan, `SELECT at, failure FROM delivery_attempt WHERE domain_id = $1 AND webhook_id = $2 AND at >= $3
			AND failure IS NOT NULL ORDER BY at `+direction+`, id `+direction+` LIMIT 1`, int64(w.Domain), int64(w.ID), database.Micros(from))
		if err != nil {
			return o, err
		}
		for _, f := range found {
			if o.Failure = f.failure; o.Since == nil {
				o.Since = database.OptionalInstant(&f.at)
			}
		}
	}
	var err error
	o.Waiting, err = database.One(ctx, r.rows, database.ScanInt, `SELECT count(*) FROM (SELECT 1 FROM delivery
		WHERE domain_id = $1 AND webhook_id = $2 AND delivered IS NULL AND dropped IS NULL AND not_before = 0 LIMIT $3) AS waiting`,
		int64(w.Domain), int64(w.ID), MaxWaiting+1)
	if err != nil {
		return o, err
	}
	o.Oldest, err = r.oldestUndelivered(ctx, w)
	return o, err
}

func (r *Reader) oldestUndelivered(ctx context.Context, w Webhook) (*time.Time, error) {
	s := WebhookDataFilter{Domain: w.Domain, Webhook: w.ID, State: WebhookPending}.selection()
	created, err := database.One(ctx, r.rows, database.ScanInt, `SELECT d.created FROM `+s.From+` WHERE `+s.Conditions()+` ORDER BY d.created, d.id LIMIT 1`, s.Args...)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return database.OptionalInstant(&created), err
}
