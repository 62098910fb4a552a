package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/payment"
)

// maxSteps limits the attempts and the deliveries that are read for one payment. A payment usually
// has a few attempts, and a few deliveries for each webhook.
const maxSteps = 1000

// Attempts lists at most maxSteps bank calls about a payment, oldest first, without the encrypted
// data of the order.
func (r *Reader) Attempts(ctx context.Context, domain passerelle.DomainID, id passerelle.PaymentID) ([]Attempt, error) {
	return database.Collect(ctx, r.rows, func(row database.Row) (Attempt, error) {
		var (
			a                                 Attempt
			created                           int64
			action, by, key, connector, means *string
			agreed                            *bool
		)
		err := row.Scan(&a.ID, &a.Payment, &a.Domain, &a.Number, &a.Kind, &a.State, &created, &a.Inquiries, &action, &by, &agreed, &key, &connector, &means, &a.Unsent)
		a.Created, a.Action, a.By = database.Instant(created), database.Text[payment.Action](action), database.Text[payment.Actor](by)
		a.Agreed, a.Key, a.Connector, a.Mechanism = agreed != nil && *agreed, database.Text[string](key), database.Text[string](connector), database.Text[string](means)
		return a, err
	}, `SELECT id, payment_id, domain_id, number, kind, state, created, asked, action, actor, agreed, key, connector_uuid, mechanism, unsent
		FROM attempt WHERE +domain_id = $1 AND payment_id = $2 ORDER BY number LIMIT $3`, int64(domain), int64(id), maxSteps)
}

// SubjectDelivery is a delivery of an event about a subject.
type SubjectDelivery struct {
	ID      passerelle.DeliveryID
	Webhook passerelle.WebhookID
	URL     string
	// Version is the version of the subject that the event reports.
	Version            int64
	Created            time.Time
	Attempts           int64
	Delivered, Dropped *time.Time
	DropReason         string
}

// DeliveriesAbout lists at most maxSteps deliveries of the events about one subject, in the order
// of the events' versions.
func (r *Reader) DeliveriesAbout(ctx context.Context, domain passerelle.DomainID, subject string, id int64) ([]SubjectDelivery, error) {
	all, err := database.Collect(ctx, r.rows, func(row database.Row) (SubjectDelivery, error) {
		var (
			d                  SubjectDelivery
			created            int64
			delivered, dropped *int64
			reason             *string
		)
		err := row.Scan(&d.ID, &d.Webhook, &d.URL, &d.Version, &created, &d.Attempts, &delivered, &dropped, &reason)
		d.Created, d.Delivered, d.Dropped, d.DropReason = database.Instant(created), database.OptionalInstant(delivered), database.OptionalInstant(dropped), database.Text[string](reason)
		return d, err
	}, `SELECT d.id, d.webhook_id, w.url, d.version, d.created, d.attempts, d.delivered, d.dropped, d.drop_reason
		FROM event e JOIN delivery d ON d.event_id = e.id JOIN webhook w ON w.id = d.webhook_id
		WHERE e.domain_id = $1 AND e.subject = $2 AND e.subject_id = $3 LIMIT $4`, int64(domain), subject, id, maxSteps)
	slices.SortFunc(all, func(a, b SubjectDelivery) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.ID, b.ID))
	})
	return all, err
}
