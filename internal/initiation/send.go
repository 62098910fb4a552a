package initiation

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/store"
	"passerelle/payment"
)

// openFirst commits the intention to send an order.
func (i *Initiation) openFirst(ctx context.Context, d passerelle.Domain, p *payment.Payment, o store.AttemptOrder, record addition) (store.Attempt, error) {
	key := make([]byte, 16)
	if _, err := io.ReadFull(i.Random, key); err != nil {
		return store.Attempt{}, fmt.Errorf("make an attempt key: %w", err)
	}
	key[6], key[8] = key[6]&0x0f|0x40, key[8]&0x3f|0x80 // a UUID without its hyphens, as banks require
	var err error
	if o.Device, err = encodeDevice(ctx); err != nil {
		return store.Attempt{}, err
	}
	o.Key, o.Connector, o.Mechanism = hex.EncodeToString(key), p.Connector, p.Mechanism
	attempt := store.Attempt{Payment: p.ID, Domain: d.ID, Number: 1, Kind: store.AttemptInitiation, AttemptOrder: o, Created: i.now(d)}
	err = i.begin(ctx, p, &attempt, nil, record)
	return attempt, err
}

// openNext commits the intention to send an answer or a cancellation for an order that the bank
// has.
func (i *Initiation) openNext(ctx context.Context, s bankSession, next store.Attempt, record addition) (store.Attempt, error) {
	if s.attempt.Number == 0 {
		return next, passerelle.Conflicting("No bank has an order for this payment.")
	}
	next.Payment, next.Domain, next.Number, next.Created = s.payment.ID, s.domain.ID, s.attempt.Number+1, i.now(s.domain)
	next.AttemptOrder, next.Trace, next.Abandoned = s.attempt.AttemptOrder, s.attempt.Trace, s.attempt.Abandoned
	switch {
	// An answer to the action `decoupled` is no agreement: a page may send it without the payer.
	case next.Kind == store.AttemptAnswer && next.Agreed && next.Action != payment.Decoupled:
		next.Abandoned = time.Time{}
	case answersNo(next) && next.Abandoned.IsZero():
		next.Abandoned = next.Created
	}
	err := i.begin(ctx, s.payment, &next, i.nextCheck(s.domain, s.payment, payment.Report{}), record)
	return next, err
}

// encodeDevice encodes the payer's device. It returns nil when ctx has no device.
func encodeDevice(ctx context.Context) ([]byte, error) {
	device := connector.DeviceOf(ctx)
	if !device.Address.IsValid() {
		return nil, nil
	}
	return json.Marshal(device)
}

// decodeDevice decodes a device that encodeDevice encoded.
func decodeDevice(encoded []byte) (connector.Device, error) {
	var device connector.Device
	if encoded == nil {
		return device, nil
	}
	if err := json.Unmarshal(encoded, &device); err != nil {
		return device, fmt.Errorf("read the device of a payer: %w", err)
	}
	return device, nil
}

// begin commits an attempt, and the payment as it will be sent to the bank.
func (i *Initiation) begin(ctx context.Context, p *payment.Payment, a *store.Attempt, check *time.Time, record addition) error {
	return i.commitChoice(ctx, p, check, func(tx *store.Tx) error {
		return errors.Join(tx.OpenAttempt(a, i.lease()), record(tx))
	})
}

// commitChoice commits a payment before a call to its bank, or with what a client or payer has
// chosen, and an addition.
func (i *Initiation) commitChoice(ctx context.Context, p *payment.Payment, check *time.Time, also addition) error {
	err := i.DB.Write(ctx, func(tx *store.Tx) error {
		i.name(tx, p)
		return errors.Join(tx.UpdateChoice(p, check), also(tx))
	})
	return raced(err)
}

// raced wraps err. If another act has changed the payment first, it instead returns an error that
// asks the client to try again.
func raced(err error) error {
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrDuplicate) {
		return underWay()
	}
	if err != nil {
		return fmt.Errorf("store a payment: %w", err)
	}
	return nil
}

// send calls the bank and stores its response. It continues after the caller has left, because the
// order may have been sent. If it cannot store a response, it returns the payment from the
// database, and a loop finds the outcome.
func (i *Initiation) send(ctx context.Context, s bankSession, call bankCall) (*payment.Payment, error) {
	ctx = i.Tracer.Continue(context.WithoutCancel(ctx), s.attempt.Trace)
	report, err := i.callBank(ctx, s, call)
	if errors.Is(err, connector.ErrNotSent) {
		return i.unsent(ctx, s, report, err)
	}
	if err == nil {
		p, failure := i.apply(ctx, s, report)
		if failure == nil {
			return p, nil
		}
		report.CheckAfter, err = 0, failure // only the bank's refusal of a call delays the next question
	}
	return i.undecided(ctx, s, report, err)
}

// undecided leaves the outcome of an attempt to a loop, unless another caller has stored the
// outcome. The loop may ask the bank before the lease lapses, except when the call may still be
// running or the bank has requested a wait.
func (i *Initiation) undecided(ctx context.Context, s bankSession, report payment.Report, why error) (*payment.Payment, error) {
	if !errors.Is(why, store.ErrConflict) {
		i.Log.WarnContext(ctx, "the outcome of an order is unknown, and the service will ask the bank",
			"payment", s.payment.ID, "attempt", s.attempt.Kind, "connector", s.attempt.Connector, "error", why)
		if err := i.postponeAttempt(ctx, s, s.retryDelay(report, why), i.unanswered(s, report)); err != nil {
			i.Log.WarnContext(ctx, "the next query was not planned, and the service asks the bank after the lease has expired", "payment", s.payment.ID, "error", err)
		}
	}
	return i.load(ctx, s.domain, s.payment.ID)
}

// unsent closes an attempt whose call sent nothing. It repeats the closing when the payment has
// changed in the meantime, for example because the payer has left the page. It does not close an
// attempt that a loop has taken over, because the loop may have sent the order. When the order
// continues, unsent returns an error that allows the caller to try again.
func (i *Initiation) unsent(ctx context.Context, s bankSession, kept payment.Report, why error) (*payment.Payment, error) {
	i.Log.WarnContext(ctx, "a bank could not be reached",
		"payment", s.payment.ID, "attempt", s.attempt.Kind, "connector", s.attempt.Connector, "error", why)
	finish := i.keepUnchanged
	report, ends := s.outcomeIfNotSent()
	if ends {
		finish, kept = i.applyOnce, report
	}
	p, err := finish(ctx, s, kept)
	if errors.Is(err, store.ErrConflict) {
		var now bankSession
		if now, err = i.reload(ctx, s); err == nil {
			p, err = finish(ctx, now, kept)
		}
	}
	if err != nil {
		return i.undecided(ctx, s, payment.Report{}, err)
	}
	if !ends {
		return nil, &passerelle.Error{Kind: passerelle.Unavailable, Code: string(payment.WebsiteUnavailable), Message: "The bank could not be reached, so nothing was sent.", RetryAfter: 10}
	}
	return p, nil
}

// reload loads the session of an open attempt again. It fails with store.ErrConflict when a loop or
// another caller has taken over or closed the attempt.
func (i *Initiation) reload(ctx context.Context, s bankSession) (bankSession, error) {
	now, err := i.bankSession(ctx, s.domain, s.payment.ID)
	if err == nil && (now.attempt.ID != s.attempt.ID || !now.attempt.Live() || now.attempt.Inquiries != s.attempt.Inquiries) {
		err = store.ErrConflict
	}
	now.attempt.AskedAs(s.attempt) // the bank may have reported since
	return now, err
}

// outcomeIfNotSent returns the outcome of an attempt that the bank never received, and reports
// whether this outcome ends the order. The outcome ends the order if the attempt was the order
// itself or the answer "no".
func (s bankSession) outcomeIfNotSent() (payment.Report, bool) {
	if s.attempt.Kind == store.AttemptInitiation {
		return payment.Report{Status: payment.Declined, Code: payment.WebsiteUnavailable, By: payment.ByService, Raw: "not sent"}, true
	}
	return payment.Report{Status: payment.Declined, Raw: "not sent"}, s.attempt.Kind == store.AttemptAnswer && !s.attempt.Agreed
}

// keepUnchanged closes an attempt that was not sent, and leaves the order as it is. A request to
// cancel is then over. It returns the payment.
func (i *Initiation) keepUnchanged(ctx context.Context, s bankSession, report payment.Report) (*payment.Payment, error) {
	p := *s.payment
	if asksToCancel(s.attempt) {
		p.RefuseCancellation(payment.ByService, i.now(s.domain))
	}
	err := i.commit(ctx, s.domain, &p, nil, i.nextCheck(s.domain, &p, payment.Report{}), func(tx *store.Tx) error {
		tx.CloseUnsent(s.attempt)
		tx.HastenIfReported(s.attempt, i.now(s.domain))
		return s.remember(tx, report)
	})
	return &p, err
}
