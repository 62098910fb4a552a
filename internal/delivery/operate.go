package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/webhook"
)

const (
	// MaxTestBody is the largest size of a test payload, in bytes.
	MaxTestBody = 256 << 10
	// MaxDue limits the counting of undelivered deliveries.
	MaxDue = 10_000

	// operatorTimeout is the longest time for which an operator's request waits for the lease of
	// the webhook. The request to the receiver may then take as long as any other request.
	operatorTimeout = 5 * time.Second
)

// Payload returns the payload of a delivery as text. A JSON payload contains the delivery's id, but
// not the members that AddToData adds. The body must not have been erased.
func Payload(d store.WebhookData) string {
	if d.MediaType == store.JSON {
		return string(withID(d.Body, d.ID, nil))
	}
	return string(d.Body)
}

// Resend sends a delivery again now, even an accepted delivery. It returns when the result is
// stored. It fails with NotFound when the webhook has no such delivery. It fails with Conflict when
// the body was erased, or when the delivery is held back or waits for an earlier delivery. It also
// fails with Conflict when the webhook is deleted or disabled, when its provider was deleted, or
// when another sender does not release the webhook in time. It fails with Unavailable in the same
// case as [Delivery.Await].
func (d *Delivery) Resend(ctx context.Context, domain passerelle.Domain, w store.Webhook, id passerelle.DeliveryID, acts ...store.Audit) error {
	if err := inUse(w); err != nil {
		return err
	}
	if _, err := d.resendable(ctx, w, id); err != nil {
		return err // without a lease, because nothing is sent
	}
	return d.sendOne(ctx, domain, w, func(s *leaseSession, to *target) (store.Delivery, error) {
		found, err := d.resendable(ctx, w, id)
		if err == nil {
			err = s.decide(ctx, to, id, acts)
		}
		return found, err
	})
}

// decide records that an operator is about to send a delivery. It requires the lease of the
// webhook, and renews it.
func (s *leaseSession) decide(ctx context.Context, to *target, id passerelle.DeliveryID, acts []store.Audit) error {
	if len(acts) == 0 {
		return nil
	}
	until := s.d.Now().Add(to.lease())
	err := s.d.DB.Write(ctx, func(tx *store.Tx) error {
		tx.KeepWebhook(to.webhook, s.holder, to.lease())
		return tx.AuditOf(int64(id), acts...)
	})
	if err != nil {
		return fmt.Errorf("record that delivery %d is sent again: %w", id, err)
	}
	s.until = until
	return nil
}

// resendable loads a delivery that may be sent now.
func (d *Delivery) resendable(ctx context.Context, w store.Webhook, id passerelle.DeliveryID) (store.Delivery, error) {
	found, err := d.DB.OneDelivery(ctx, w, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return found, passerelle.Missing()
	case err != nil:
		return found, fmt.Errorf("load delivery %d: %w", id, err)
	case found.Erased:
		return found, passerelle.Conflicting("The body of delivery %d was erased, so it can no longer be sent.", id)
	}
	first, err := d.DB.BeforeDelivery(ctx, w, id)
	switch {
	case err != nil:
		return found, fmt.Errorf("find deliveries before delivery %d: %w", id, err)
	case first == id:
		return found, passerelle.Conflicting("The payload with id_webhook_data %d is held back; it is sent when it becomes due.", id)
	case first != 0:
		return found, passerelle.Conflicting("The payload with id_webhook_data %d comes first: it is about the same object and was not accepted yet. Send that one first.", first)
	}
	return found, nil
}

// Test sends a test payload for the webhook's event. The payload is data or, if data is nil, a
// sample of the event. The payload is sent once, in the same form as other payloads, and is stored
// with them. Test returns the id of the delivery. It fails with Invalid when data is larger than
// MaxTestBody. It stores nothing and fails with Conflict when the webhook is deleted or disabled,
// when its provider was deleted, or when another sender does not release the webhook in time. If
// the database is slow, a stored test may remain unsent. Test fails with Unavailable in the same
// case as [Delivery.Await].
func (d *Delivery) Test(ctx context.Context, domain passerelle.Domain, w store.Webhook, data []byte, acts ...store.Audit) (passerelle.DeliveryID, error) {
	var (
		id  passerelle.DeliveryID
		err error
	)
	if err := inUse(w); err != nil {
		return 0, err
	}
	if len(data) > MaxTestBody {
		return 0, passerelle.InvalidField("data", "has %d bytes; the maximum for a test is %d", len(data), MaxTestBody)
	}
	if data == nil {
		data = webhook.Sample(w.Event)
	}
	err = d.sendOne(ctx, domain, w, func(*leaseSession, *target) (store.Delivery, error) {
		var test store.Delivery
		err := d.DB.Write(ctx, func(tx *store.Tx) error {
			if err := tx.CreateTest(w, data, d.now(domain), &id); err != nil {
				return err
			}
			return tx.AuditOf(int64(w.ID), acts...)
		})
		if err != nil {
			return test, fmt.Errorf("store a test of webhook %d: %w", w.ID, err)
		}
		if test, err = d.DB.OneDelivery(ctx, w, id); err != nil {
			return test, fmt.Errorf("load the test %d: %w", id, err)
		}
		return test, nil
	})
	return id, err
}

// Recover makes the flusher of w due now, and lets w continue if failures have stopped w. It does
// both only if w has undelivered events from the instant `since` on. The instant is in the domain's
// time. The flusher begins with the oldest of these events. Recover returns their number, and stops
// counting at MaxDue. The caller must wake the sender.
func (d *Delivery) Recover(ctx context.Context, domain passerelle.Domain, w store.Webhook, since time.Time, acts ...store.Audit) (int64, error) {
	var (
		due int64
		err error
	)
	if err := inUse(w); err != nil {
		return 0, err
	}
	err = d.DB.Write(ctx, func(tx *store.Tx) error {
		tx.RecoverWebhook(w, since, d.now(domain))
		return tx.AuditOf(int64(w.ID), acts...)
	})
	if err != nil {
		return 0, fmt.Errorf("make undelivered payloads of webhook %d due: %w", w.ID, err)
	}
	if due, err = d.DB.CountUndelivered(ctx, w, since, MaxDue); err != nil {
		return 0, fmt.Errorf("count undelivered payloads of webhook %d: %w", w.ID, err)
	}
	return due, nil
}

// inUse fails for a webhook to which nothing may be sent.
func inUse(w store.Webhook) error {
	switch {
	case w.Deleted != nil:
		return passerelle.Conflicting("The webhook is deleted; restore it first.")
	case w.Disabled != nil:
		return passerelle.Conflicting("The webhook is disabled; enable it first.")
	case w.AuthDeleted:
		return errHeldUp
	}
	return nil
}

// sendOne takes the lease of the webhook, and sends the delivery that load returns. It does not
// call load when the lease ends too early for an exchange. It records the result even when the
// caller has left.
func (d *Delivery) sendOne(ctx context.Context, domain passerelle.Domain, w store.Webhook, load func(*leaseSession, *target) (store.Delivery, error)) error {
	leave, err := d.Await(domain.ID)
	if err != nil {
		return err
	}
	defer leave()
	s := &leaseSession{d: d, job: job{domain: domain, webhook: w.ID}, holder: fmt.Sprintf("%s/%d", d.Name, d.process.sessionCount.Add(1))}
	waiting, cancel := context.WithTimeout(ctx, operatorTimeout)
	defer cancel()
	held, err := s.take(waiting, true)
	if err != nil {
		return err
	}
	if !held {
		return busy()
	}
	return errors.Join(s.once(ctx, load), s.release(ctx))
}

// busy returns the error for a webhook whose lease cannot be taken.
func busy() error {
	err := passerelle.Conflicting("Other requests to the webhook are in progress, or the webhook is no longer in use; try again in a moment.")
	err.RetryAfter = 1
	return err
}

func (s *leaseSession) once(ctx context.Context, load func(*leaseSession, *target) (store.Delivery, error)) error {
	to, err := s.target(ctx)
	if err != nil {
		return err
	}
	if !s.covers(&to) {
		return busy()
	}
	one, err := load(s, &to)
	if err != nil {
		return err
	}
	if !s.covers(&to) { // load was slow
		return busy()
	}
	attempt := s.exchange(context.WithoutCancel(ctx), to, one)
	recorded, cancel := recording(ctx)
	defer cancel()
	now := to.clock.Now(s.d.Now())
	batch := store.Batch{
		Webhook: to.webhook.ID, Holder: s.holder, Lease: to.lease(), Attempts: []store.DeliveryAttempt{attempt}, NextFlush: now.Add(to.interval), Now: now,
	}
	if one.User != 0 && attempt.Failure == "" {
		batch.AcceptedEvents = []int64{one.EventID}
	}
	err = s.d.DB.Write(recorded, func(tx *store.Tx) error {
		tx.CountAgain(to.webhook, one.ID)
		return tx.RecordBatches(to.webhook.Domain, batch)
	})
	if err != nil {
		return fmt.Errorf("record a request for delivery %d: %w", one.ID, err)
	}
	return nil
}
