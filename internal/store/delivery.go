package store

import (
	"context"
	"errors"
	"time"

	"passerelle"
)

// Delivery is one event on its way to one webhook.
type Delivery struct {
	ID       passerelle.DeliveryID
	EventID  int64
	Event    string
	Attempts int64
	// User is whose event it is, zero when it belongs to no user.
	User    passerelle.UserID
	Version int64
	// MediaType is that of the body. A body of another type than JSON is sent
	// without id_webhook_data; Omitted accounts are not in it.
	MediaType string
	Omitted   int
	// Body is the event's, without id_webhook_data. It is empty when the body
	// is kept in parts, of Parted bytes together.
	Body   []byte
	Parted int64
}

func scanDelivery(row scanner) (Delivery, error) {
	var (
		d    Delivery
		user *int64
	)
	err := row.Scan(&d.ID, &d.EventID, &d.Event, &d.Attempts, &user, &d.Version, &d.MediaType, &d.Omitted, &d.Body, &d.Parted)
	d.User = owner[passerelle.UserID](user)
	return d, err
}

// A delivery is at the head of its subject when no earlier one of the same
// webhook and subject is undelivered; only heads may be sent, and only while
// the webhook is not deleted.
const undeliveredHeads = `SELECT d.id, e.id, e.name, d.attempts, e.user_id, d.version, e.media_type, e.omitted, e.body, e.parted FROM delivery d
	JOIN event e ON e.id = d.event_id JOIN webhook w ON w.id = d.webhook_id AND w.deleted IS NULL
	WHERE d.domain_id = $1 AND d.webhook_id = $2 AND d.delivered IS NULL AND d.dropped IS NULL AND d.id > $3
	AND NOT EXISTS (SELECT 1 FROM delivery p WHERE p.webhook_id = d.webhook_id AND p.delivered IS NULL AND p.dropped IS NULL
		AND p.subject = d.subject AND p.subject_id = d.subject_id AND p.version <= d.version
		AND (p.version < d.version OR p.id < d.id))`

// NewDeliveries lists what a webhook is to be sent for the first time and at
// once, oldest first, at most limit.
func (r *Reader) NewDeliveries(ctx context.Context, w Webhook, limit int) ([]Delivery, error) {
	return collect(ctx, r, scanDelivery, undeliveredHeads+` AND d.attempts = 0 ORDER BY d.id LIMIT $4`,
		int64(w.Domain), int64(w.ID), w.news(), limit)
}

// NewestDelivery is the last delivery of a webhook that was never tried, and
// zero when all were.
func (r *Reader) NewestDelivery(ctx context.Context, w Webhook) (passerelle.DeliveryID, error) {
	newest, err := one(ctx, r, func(row scanner) (passerelle.DeliveryID, error) {
		var id passerelle.DeliveryID
		err := row.Scan(&id)
		return id, err
	}, `SELECT id FROM delivery WHERE domain_id = $1 AND webhook_id = $2 AND delivered IS NULL AND dropped IS NULL AND attempts = 0 ORDER BY id DESC LIMIT 1`,
		int64(w.Domain), int64(w.ID))
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	return newest, err
}

// Undelivered lists what a webhook has not accepted yet, from after the given
// delivery on, at most limit.
func (r *Reader) Undelivered(ctx context.Context, w Webhook, after passerelle.DeliveryID, limit int) ([]Delivery, error) {
	return collect(ctx, r, scanDelivery, undeliveredHeads+` ORDER BY d.id LIMIT $4`, int64(w.Domain), int64(w.ID), int64(after), limit)
}

// DeliveryAttempt is the account of one request to a receiver, at an instant of
// the domain's time. Status is zero when no answer came; Failure is empty on
// success.
type DeliveryAttempt struct {
	Delivery passerelle.DeliveryID
	At       time.Time
	Duration time.Duration
	Status   int
	Failure  string
}

// RecordAttempt stores the account of a request and marks the delivery
// delivered when it succeeded.
func (tx *Tx) RecordAttempt(w Webhook, a DeliveryAttempt) error {
	id, err := tx.newID("delivery_attempt")
	if err != nil {
		return err
	}
	var delivered *int64
	if a.Failure == "" {
		delivered = optionalMicros(&a.At)
	}
	tx.exec(`UPDATE delivery SET attempts = attempts + 1, delivered = $1 WHERE domain_id = $2 AND id = $3 AND delivered IS NULL`,
		delivered, int64(w.Domain), int64(a.Delivery))
	tx.exec(`INSERT INTO delivery_attempt (id, domain_id, webhook_id, delivery_id, at, duration, status, failure) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		id, int64(w.Domain), int64(w.ID), int64(a.Delivery), micros(a.At), a.Duration.Microseconds(), optionalID(int64(a.Status)), optionalText(a.Failure))
	return nil
}

// DeliveryAttempts lists the requests that were made for a delivery, in their
// order, at most limit.
func (r *Reader) DeliveryAttempts(ctx context.Context, domain passerelle.DomainID, id passerelle.DeliveryID, limit int) ([]DeliveryAttempt, error) {
	return collect(ctx, r, scanDeliveryAttempt, `SELECT delivery_id, at, duration, status, failure FROM delivery_attempt
		WHERE domain_id = $1 AND delivery_id = $2 ORDER BY at, id LIMIT $3`, int64(domain), int64(id), limit)
}

func scanDeliveryAttempt(row scanner) (DeliveryAttempt, error) {
	var (
		a            DeliveryAttempt
		at, duration int64
		status       *int64
		failure      *string
	)
	err := row.Scan(&a.Delivery, &at, &duration, &status, &failure)
	a.At, a.Duration = instant(at), time.Duration(duration)*time.Microsecond
	a.Status, a.Failure = int(owner[int64](status)), text[string](failure)
	return a, err
}
