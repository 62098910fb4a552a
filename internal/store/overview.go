package store

import (
	"context"
	"errors"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/payment"
)

// MaxOverviewRows is how many rows an overview reads for each figure. A figure that reaches it
// means that many or more.
const MaxOverviewRows = 10_000

// Volume is how many payments that were registered in an hour are in a state, with an error
// code and through a connector. Both are empty for others.
type Volume struct {
	// Hour is the number of hours since 1970, UTC.
	Hour                     int64
	State                    payment.State
	Code                     payment.ErrorCode
	Connector, ConnectorUUID string
	Count                    int64
}

// Volumes counts the newest MaxOverviewRows payments registered since an instant, the earliest
// hour first.
func (r *Reader) Volumes(ctx context.Context, domain passerelle.DomainID, since time.Time) ([]Volume, error) {
	return database.Collect(ctx, r.rows, func(row database.Row) (Volume, error) {
		var v Volume
		err := row.Scan(&v.Hour, &v.State, &v.Code, &v.Connector, &v.ConnectorUUID, &v.Count)
		return v, err
	}, `SELECT hour, state, code, connector, uuid, count(*) FROM (
			SELECT registered / 3600000000 AS hour, state, COALESCE(error_code, '') AS code, COALESCE(connector_name, '') AS connector, COALESCE(connector_uuid, '') AS uuid
			FROM payment WHERE domain_id = $1 AND registered >= $2 ORDER BY registered DESC, id DESC LIMIT $3) AS place
		GROUP BY hour, state, code, connector, uuid ORDER BY hour, state, code, connector, uuid`, int64(domain), database.Micros(since), MaxOverviewRows)
}

// UnknownOutcomes lists payments with an unknown outcome of their last bank call, among
// MaxOverviewRows calls without a stored outcome.
func (r *Reader) UnknownOutcomes(ctx context.Context, domain passerelle.DomainID, limit int) ([]passerelle.PaymentID, error) {
	return database.Collect(ctx, r.rows, func(row database.Row) (passerelle.PaymentID, error) {
		var id passerelle.PaymentID
		err := row.Scan(&id)
		return id, err
	}, `SELECT payment_id FROM (SELECT payment_id, state FROM attempt WHERE domain_id = $1 AND state <> 'answered' ORDER BY lease_until LIMIT $2) AS live
		WHERE state = 'unknown' LIMIT $3`, int64(domain), MaxOverviewRows, limit)
}

// OpenPayment is a payment that is not final.
type OpenPayment struct {
	ID         passerelle.PaymentID
	State      payment.State
	Registered time.Time
}

// OldestIn returns the first registered payment of a domain in a state; false for none.
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

// DomainHealth sums up the requests to all webhooks of a domain in the 24 hours up to the
// domain's instant. All hours are full except the last.
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
