package initiation

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/store"
	"passerelle/payment"
)

// open commits the intent to send an order, before anything is sent.
func (i *Initiation) open(ctx context.Context, d passerelle.Domain, p *payment.Payment, o store.Order) (store.Attempt, error) {
	key := make([]byte, 16)
	if _, err := io.ReadFull(i.Random, key); err != nil {
		return store.Attempt{}, fmt.Errorf("make an attempt key: %w", err)
	}
	o.Key, o.Connector, o.Mechanism = hex.EncodeToString(key), p.Connector, p.Mechanism
	attempt := store.Attempt{Payment: p.ID, Domain: d.ID, Number: 1, Kind: store.AttemptInitiation, Order: o, Created: i.now(d)}
	return attempt, i.begin(ctx, p, &attempt, nil)
}

// begin commits an attempt, with the payment as it goes to the bank.
func (i *Initiation) begin(ctx context.Context, p *payment.Payment, a *store.Attempt, check *time.Time) error {
	err := i.DB.Write(ctx, func(tx *store.Tx) error {
		i.name(tx, p)
		if err := tx.UpdatePayment(p, nil, check); err != nil {
			return err
		}
		if err := tx.OpenAttempt(a, i.lease()); err != nil {
			return err
		}
		return i.record(tx)
	})
	return raced(err)
}

// raced turns a lost race for the payment into the answer a client can act on.
func raced(err error) error {
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrDuplicate) {
		return underWay()
	}
	if err != nil {
		return fmt.Errorf("store a validation: %w", err)
	}
	return nil
}

// send calls the bank and stores its answer. The caller's going away does not
// stop it: the order may already be on its way. Without an answer that can be
// stored, the payment is returned as it stands, and a loop finishes.
func (i *Initiation) send(ctx context.Context, t conversation, put question) (*payment.Payment, error) {
	ctx = context.WithoutCancel(ctx)
	report, err := i.ask(ctx, t, put)
	if errors.Is(err, connector.ErrNotSent) {
		return i.unsent(ctx, t, err)
	}
	if err == nil {
		p, failure := i.apply(ctx, t, report)
		if failure == nil {
			return p, nil
		}
		err = failure
	}
	return i.undecided(ctx, t, err)
}

// undecided leaves the outcome to a loop, if it is not another caller's. The
// loop need not wait for the lease, since nobody is waiting for the bank any
// more, unless the call goes on nobody knows how long.
func (i *Initiation) undecided(ctx context.Context, t conversation, why error) (*payment.Payment, error) {
	if !errors.Is(why, store.ErrConflict) {
		i.Log.WarnContext(ctx, "the outcome of an order is left to be found out",
			"payment", t.payment.ID, "attempt", t.attempt.Kind, "connector", t.attempt.Connector, "error", why)
		if err := i.doubt(ctx, t, t.hurry(why)); err != nil {
			i.Log.WarnContext(ctx, "the attempt is left to its lease", "payment", t.payment.ID, "error", err)
		}
	}
	return i.load(ctx, t.domain, t.payment.ID)
}

// unsent concludes an attempt of which not one byte left. When a loop has taken
// it over meanwhile, the loop may have sent it, and nothing is concluded.
func (i *Initiation) unsent(ctx context.Context, t conversation, why error) (*payment.Payment, error) {
	i.Log.WarnContext(ctx, "a bank could not be reached",
		"payment", t.payment.ID, "attempt", t.attempt.Kind, "connector", t.attempt.Connector, "error", why)
	report, ends := t.silence()
	if !ends {
		return i.untold(ctx, t)
	}
	p, err := i.applyOnce(ctx, t, report)
	if err != nil {
		return i.undecided(ctx, t, err)
	}
	return p, nil
}

// silence is what it means for the payment that the bank was not told: an order
// ends with it, and so does one to which the answer was no.
func (t conversation) silence() (report payment.Report, ends bool) {
	if t.attempt.Kind == store.AttemptInitiation {
		return payment.Report{Status: payment.Declined, Code: payment.WebsiteUnavailable, By: payment.ByService, Raw: "not sent"}, true
	}
	return payment.Report{Status: payment.Declined, Raw: "not sent"}, t.attempt.Kind == store.AttemptAnswer && !t.attempt.Agreed
}

// untold leaves the payment as it was, for another try.
func (i *Initiation) untold(ctx context.Context, t conversation) (*payment.Payment, error) {
	p := *t.payment
	p.RefuseCancellation(payment.ByService, i.now(t.domain))
	err := i.commit(ctx, t.domain, &p, nil, i.nextCheck(t.domain, &p, payment.Report{}), func(tx *store.Tx) error {
		tx.AnswerAttempt(t.attempt)
		return nil
	})
	if err != nil {
		return i.undecided(ctx, t, err)
	}
	return nil, &passerelle.Error{Kind: passerelle.Unavailable, Code: string(payment.WebsiteUnavailable), Message: "The bank could not be reached, and was told nothing.", RetryAfter: 10}
}
