package store

import (
	"context"
	"time"

	"passerelle"
)

// Delivery is one event on its way to one webhook.
type Delivery struct {
	ID       passerelle.DeliveryID
	Event    string
	Attempts int64
	// Body is the event's, without id_webhook_data.
	Body []byte
}

func scanDelivery(row scanner) (Delivery, error) {
	var d Delivery
	err := row.Scan(&d.ID, &d.Event, &d.Attempts, &d.Body)
	return d, err
}

// A delivery is at the head of its subject when no earlier one of the same
// webhook and subject is undelivered; only heads may be sent.
const undeliveredHeads = `SELECT d.id, e.name, d.attempts, e.body FROM delivery d JOIN event e ON e.id = d.event_id
	WHERE d.domain_id = $1 AND d.webhook_id = $2 AND d.delivered IS NULL AND d.id > $3
	AND NOT EXISTS (SELECT 1 FROM delivery p WHERE p.webhook_id = d.webhook_id AND p.delivered IS NULL
		AND p.subject = d.subject AND p.subject_id = d.subject_id AND p.version < d.version)`

// NewDeliveries lists what a webhook has never been sent, oldest first, at
// most limit.
func (r *Reader) NewDeliveries(ctx context.Context, w Webhook, limit int) ([]Delivery, error) {
	return collect(ctx, r, scanDelivery, undeliveredHeads+` AND d.attempts = 0 ORDER BY d.id LIMIT $4`, int64(w.Domain), int64(w.ID), 0, limit)
}

// Undelivered lists what a webhook has not accepted yet, from after the given
// delivery on, at most limit.
func (r *Reader) Undelivered(ctx context.Context, w Webhook, after passerelle.DeliveryID, limit int) ([]Delivery, error) {
	return collect(ctx, r, scanDelivery, undeliveredHeads+` ORDER BY d.id LIMIT $4`, int64(w.Domain), int64(w.ID), int64(after), limit)
}

// DeliveryAttempt is the account of one request to a receiver. Status is zero
// when no answer came; Failure is empty on success.
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
