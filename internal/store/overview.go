package store

import (
	"context"
	"errors"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/payment"
)

// MaxOverviewRows is how many rows an overview looks at for each of its figures. One that
// is reached stands for that many or more.
const MaxOverviewRows = 10_000

// StateCount is how many payments of a time are in a state, MaxOverviewRows at most.
type StateCount struct {
	State payment.State
	Count int64
}

// PaymentStates counts the payments registered since an instant by their state.
// States without any are left out.
func (r *Reader) PaymentStates(ctx context.Context, domain passerelle.DomainID, since time.Time) ([]StateCount, error) {
	var all []StateCount
	for _, state := range payment.States() {
		n, err := database.One(ctx, r.rows, database.ScanInt, `SELECT count(*) FROM (SELECT 1 FROM payment WHERE domain_id = $1 AND state = $2 AND registered >= $3 LIMIT $4) AS place`,
			int64(domain), string(state), database.Micros(since), MaxOverviewRows)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			all = append(all, StateCount{state, n})
		}
	}
	return all, nil
}

// Rejection is how many payments of a time were rejected with a code, through a
// connector; its name and UUID are empty where none was chosen.
type Rejection struct {
	Code          payment.ErrorCode
	Connector     string
	ConnectorUUID string
	Count         int64
}

// Rejections counts the newest MaxOverviewRows payments registered since an instant that
// were rejected, by code and connector, the most frequent first, at most limit
// pairs.
func (r *Reader) Rejections(ctx context.Context, domain passerelle.DomainID, since time.Time, limit int) ([]Rejection, error) {
	return database.Collect(ctx, r.rows, func(row database.Row) (Rejection, error) {
		var one Rejection
		err := row.Scan(&one.Code, &one.Connector, &one.ConnectorUUID, &one.Count)
		return one, err
	}, `SELECT code, connector, uuid, count(*) AS n FROM (
			SELECT COALESCE(error_code, '') AS code, COALESCE(connector_name, '') AS connector, COALESCE(connector_uuid, '') AS uuid FROM payment
			WHERE domain_id = $1 AND state = 'rejected' AND registered >= $2 ORDER BY registered DESC, id DESC LIMIT $3) AS place
		GROUP BY code, connector, uuid ORDER BY n DESC, code, connector, uuid LIMIT $4`, int64(domain), database.Micros(since), MaxOverviewRows, limit)
}

// OpenPayment is a payment that is not final.
type OpenPayment struct {
	ID         passerelle.PaymentID
	State      payment.State
	Registered time.Time
}

// OldestOpen is the payment of a domain that has been waiting longest for its
// final state, or ErrNotFound when all have theirs.
func (r *Reader) OldestOpen(ctx context.Context, domain passerelle.DomainID) (OpenPayment, error) {
	oldest, found := OpenPayment{}, false
	for _, state := range payment.States() {
		if state.Final() {
			continue
		}
		o, err := database.One(ctx, r.rows, func(row database.Row) (OpenPayment, error) {
			o := OpenPayment{State: state}
			var registered int64
			err := row.Scan(&o.ID, &registered)
			o.Registered = database.Instant(registered)
			return o, err
		}, `SELECT id, registered FROM payment WHERE domain_id = $1 AND state = $2 ORDER BY registered, id LIMIT 1`, int64(domain), string(state))
		switch {
		case errors.Is(err, ErrNotFound):
			continue
		case err != nil:
			return OpenPayment{}, err
		}
		if !found || o.Registered.Before(oldest.Registered) {
			oldest, found = o, true
		}
	}
	if !found {
		return OpenPayment{}, ErrNotFound
	}
	return oldest, nil
}

// DomainHealth sums up the requests to all webhooks of a domain in the 24 hours,
// whole but for the last, up to the domain's instant.
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
