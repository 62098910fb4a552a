package store

import (
	"context"
	"errors"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/payment"
)

// MaxOverviewRows is the largest number of rows that an overview reads for each figure. A figure
// that reaches the limit is a lower bound.
const MaxOverviewRows = 10_000

// Volume is the number of payments that were registered in a period and have the same state,
// error code, connector and currency. Code and Connector are empty for payments without them.
type Volume struct {
	// Period is the number of this period, counted from 1970 in local time.
	Period                   int64
	State                    payment.State
	Code                     payment.ErrorCode
	Connector, ConnectorUUID string
	Currency                 passerelle.Currency
	// Amount is in minor units, and Open is the time from registration to the last change of
	// state. Both are sums over Count payments.
	Count, Amount int64
	Open          time.Duration
}

// Volumes counts the payments that were registered at or after the instant `since`, by period. It
// lists the earliest period first. The argument `length` is the duration of a period. Periods
// follow the local time in the time zone of `since`. Volumes counts only the newest MaxOverviewRows
// payments.
func (r *Reader) Volumes(ctx context.Context, domain passerelle.DomainID, length time.Duration, since time.Time) ([]Volume, error) {
	_, zone := since.Zone()
	return database.Collect(ctx, r.rows, func(row database.Row) (Volume, error) {
		v, open := Volume{}, int64(0)
		err := row.Scan(&v.Period, &v.State, &v.Code, &v.Connector, &v.ConnectorUUID, &v.Currency, &v.Count, &v.Amount, &open)
		v.Open = time.Duration(open) * time.Microsecond
		return v, err
	}, `SELECT period, place.state, code, connector, uuid, currency, count(*), CAST(SUM(amount) AS BIGINT), CAST(SUM(t.at - registered) AS BIGINT) FROM (
			SELECT id, seq, registered, (registered + $5) / $3 AS period, state, COALESCE(error_code, '') AS code, COALESCE(connector_name, '') AS connector,
				COALESCE(connector_uuid, '') AS uuid, currency, amount
			FROM payment WHERE domain_id = $1 AND registered >= $2 ORDER BY registered DESC, id DESC LIMIT $4) AS place
		JOIN payment_transition t ON t.payment_id = place.id AND t.seq = place.seq
		GROUP BY period, place.state, code, connector, uuid, currency ORDER BY period, place.state, code, connector, uuid, currency`,
		int64(domain), database.Micros(since), length.Microseconds(), MaxOverviewRows, (time.Duration(zone) * time.Second).Microseconds())
}

// OpenPayment is a payment that is not final.
type OpenPayment struct {
	ID         passerelle.PaymentID
	State      payment.State
	Registered time.Time
}

// OldestIn returns the payment that was registered first among a domain's payments in a state. The
// second result is false when the domain has no such payment.
func (r *Reader) OldestIn(ctx context.Context, domain passerelle.DomainID, state payment.State) (OpenPayment, bool, error) {
	o, err := database.One(ctx, r.rows, func(row database.Row) (OpenPayment, error) {
		o := OpenPayment{State: state}
		var registered int64
		err := row.Scan(&o.ID, &registered)
		o.Registered = database.Instant(registered)
		return o, err
	}, `SELECT id, registered FROM payment WHERE domain_id = $1 AND state = $2 ORDER BY registered, id LIMIT 1`, int64(domain), string(state))
	if errors.Is(err, ErrNotFound) {
		return o, false, nil
	}
	return o, err == nil, err
}

// Queue describes the payments at the same bank in the same state. First and Since are the smallest
// id and the earliest registration of these payments.
type Queue struct {
	Connector, ConnectorUUID string
	First                    passerelle.PaymentID
	Since                    time.Time
}

// Queues groups a domain's payments in one state by bank. It reads only the MaxOverviewRows
// payments that were registered first.
func (r *Reader) Queues(ctx context.Context, domain passerelle.DomainID, state payment.State) ([]Queue, error) {
	return database.Collect(ctx, r.rows, func(row database.Row) (Queue, error) {
		var q Queue
		since := int64(0)
		err := row.Scan(&q.ConnectorUUID, &q.Connector, &q.First, &since)
		q.Since = database.Instant(since)
		return q, err
	}, `SELECT uuid, connector, MIN(id), MIN(registered) AS since FROM (
			SELECT id, registered, COALESCE(connector_uuid, '') AS uuid, COALESCE(connector_name, '') AS connector
			FROM payment WHERE domain_id = $1 AND state = $2 ORDER BY registered, id LIMIT $3) AS place
		GROUP BY uuid, connector ORDER BY since, uuid, connector`, int64(domain), string(state), MaxOverviewRows)
}

// DomainHealth sums up the requests to all webhooks of a domain in the 24 hours up to the instant
// `now`, in the domain's time. All hours are complete except the last.
func (r *Reader) DomainHealth(ctx context.Context, domain passerelle.DomainID, now time.Time) (Health, error) {
	return database.One(ctx, r.rows, func(row database.Row) (Health, error) {
		var (
			h        Health
			duration int64
		)
		err := row.Scan(&h.Requests, &h.Successes, &h.Reached, &duration)
		h.Duration = time.Duration(duration) * time.Microsecond
		return h, err
	}, `SELECT CAST(COALESCE(SUM(requests), 0) AS BIGINT), CAST(COALESCE(SUM(successes), 0) AS BIGINT), CAST(COALESCE(SUM(reached), 0) AS BIGINT),
			CAST(COALESCE(SUM(duration), 0) AS BIGINT)
		FROM webhook_health WHERE domain_id = $1 AND hour > $2 AND hour <= $3`, int64(domain), hourOf(now)-healthHours, hourOf(now))
}
