package initiation

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/store"
	"passerelle/payment"
)

// DefaultMechanism is what a missing validate_mechanism means.
const DefaultMechanism = "webauth"

// Choice is what the payer, or a webview for them, decided.
type Choice struct {
	// Connector is a UUID or numeric id; empty keeps the one already chosen.
	Connector string
	Mechanism string
	// Fields are values of the connector's payment fields, in plain text; nil
	// keeps those given before.
	Fields map[string]string
	Payer  *passerelle.Account
	// WebviewURL is where the payer returns after an action.
	WebviewURL string
	// Validated sends the order; otherwise the choice is only kept.
	Validated bool
}

// Validate applies the payer's choice to a payment in state created. With
// Validated, the order goes to the bank; when the bank does not answer in
// time, the payment is returned as it is stored and a loop finishes.
func (i *Initiation) Validate(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID, choice Choice) (*payment.Payment, error) {
	p, err := i.load(ctx, d, id)
	if err != nil {
		return nil, err
	}
	if err := i.mayValidate(ctx, d, p); err != nil {
		return nil, err
	}
	c, fields, err := i.choose(ctx, d, p, choice)
	if err != nil {
		return nil, err
	}
	if !choice.Validated {
		return i.keep(ctx, p, fields)
	}
	attempt, err := i.open(ctx, d, p, fields)
	if err != nil {
		return nil, err
	}
	return i.send(ctx, conversation{domain: d, payment: p, attempt: attempt, bank: c})
}

// mayValidate refuses a payment that is past validation, or whose validation
// is under way.
func (i *Initiation) mayValidate(ctx context.Context, d passerelle.Domain, p *payment.Payment) error {
	if p.State != payment.Created {
		return passerelle.Conflicting("The payment is %s; only a payment in state created can be validated.", p.State)
	}
	_, err := i.DB.Attempt(ctx, d.ID, p.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for an attempt of payment %d: %w", p.ID, err)
	}
	return underWay()
}

func underWay() error {
	conflict := passerelle.Conflicting("A validation of this payment is under way.")
	conflict.RetryAfter = 2
	return conflict
}

// choose checks the choice against the connector and puts it into the payment.
func (i *Initiation) choose(ctx context.Context, d passerelle.Domain, p *payment.Payment, choice Choice) (connector.Initiator, map[string]string, error) {
	if err := takeChoice(p, choice); err != nil {
		return nil, nil, err
	}
	c, err := i.eligible(d, p, p.Connector)
	if err != nil {
		return nil, nil, err
	}
	profile := c.Profile()
	p.Connector = profile.UUID
	if !slices.Contains(profile.Payments.Mechanisms, p.Mechanism) {
		return nil, nil, passerelle.InvalidField("validate_mechanism", "%s offers %v", profile.Name, profile.Payments.Mechanisms)
	}
	if p.Payer == nil && profile.Payments.PayerAccount == payment.PayerMandatory {
		return nil, nil, passerelle.MissingField("payer", profile.Name+" needs the payer's account")
	}
	given, err := i.given(ctx, d, p, choice.Fields)
	if err != nil {
		return nil, nil, err
	}
	fields, err := takeFields(profile.PaymentFields, given)
	return c, fields, err
}

func takeChoice(p *payment.Payment, choice Choice) error {
	if choice.Connector != "" {
		p.Connector = choice.Connector
	}
	if p.Connector == "" {
		return passerelle.MissingField("connector_uuid", "the connector to pay with is required, since none was chosen before")
	}
	p.Mechanism = choice.Mechanism
	if p.Mechanism == "" {
		p.Mechanism = DefaultMechanism
	}
	if choice.WebviewURL == "" {
		return passerelle.MissingField("webview_url", "the absolute http(s) URL the payer returns to after an action is required")
	}
	url, err := passerelle.ParseReturnURL("webview_url", choice.WebviewURL)
	if err != nil {
		return err
	}
	p.WebviewURL = url
	if choice.Payer == nil {
		return nil
	}
	p.Payer = choice.Payer
	return p.Payer.Check("payer")
}

// keep stores a choice that is not validated yet.
func (i *Initiation) keep(ctx context.Context, p *payment.Payment, fields map[string]string) (*payment.Payment, error) {
	err := i.DB.Write(ctx, func(tx *store.Tx) error {
		if err := tx.UpdatePayment(p, nil, nil); err != nil {
			return err
		}
		return tx.GiveFields(p.Domain, p.ID, fields)
	})
	return p, raced(err)
}

// open commits the intent to send an order, before anything is sent.
func (i *Initiation) open(ctx context.Context, d passerelle.Domain, p *payment.Payment, fields map[string]string) (store.Attempt, error) {
	key := make([]byte, 16)
	if _, err := io.ReadFull(i.Random, key); err != nil {
		return store.Attempt{}, fmt.Errorf("make an attempt key: %w", err)
	}
	attempt := store.Attempt{
		Payment: p.ID, Domain: d.ID, Key: hex.EncodeToString(key), Connector: p.Connector, Mechanism: p.Mechanism,
		Fields: fields, Created: i.now(d),
	}
	err := i.DB.Write(ctx, func(tx *store.Tx) error {
		if err := tx.UpdatePayment(p, nil, nil); err != nil {
			return err
		}
		return tx.OpenAttempt(&attempt, i.lease())
	})
	return attempt, raced(err)
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
func (i *Initiation) send(ctx context.Context, t conversation) (*payment.Payment, error) {
	ctx = context.WithoutCancel(ctx)
	report, err := i.ask(ctx, t, initiate)
	if errors.Is(err, connector.ErrNotSent) {
		report, err = i.unsent(ctx, t, err)
	}
	if err == nil {
		p, failure := i.apply(ctx, t, report)
		if failure == nil {
			return p, nil
		}
		err = failure
	}
	if !errors.Is(err, store.ErrConflict) {
		i.Log.WarnContext(ctx, "the outcome of an order is left to be found out", "payment", t.payment.ID, "connector", t.attempt.Connector, "error", err)
	}
	return i.load(ctx, t.domain, t.payment.ID)
}

// unsent rejects an order of which not one byte left, unless a loop has taken
// the attempt over meanwhile: the loop may have sent it.
func (i *Initiation) unsent(ctx context.Context, t conversation, why error) (payment.Report, error) {
	a, err := i.DB.Attempt(ctx, t.domain.ID, t.payment.ID)
	if err != nil || a.Asked > 0 {
		return payment.Report{}, errors.Join(why, err)
	}
	i.Log.WarnContext(ctx, "an order could not be sent", "payment", t.payment.ID, "connector", t.attempt.Connector, "error", why)
	return payment.Report{Status: payment.Declined, Code: payment.WebsiteUnavailable, By: payment.ByService, Raw: "not sent"}, nil
}
