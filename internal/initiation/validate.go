package initiation

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/payment"
)

// websiteField is the payment field by whose value lists can be filtered.
const websiteField = "website"

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
	waits, err := i.waits(ctx, d, c)
	if err != nil {
		return nil, err
	}
	attempt, err := i.open(ctx, d, p, store.Order{Waits: waits, Fields: fields})
	if err != nil {
		return nil, err
	}
	return i.send(ctx, conversation{domain: d, payment: p, attempt: attempt, bank: c}, initiate)
}

// waits reports whether the bank is to wait for the client's confirmation. One
// that takes no answers would wait for ever.
func (i *Initiation) waits(ctx context.Context, d passerelle.Domain, c connector.Initiator) (bool, error) {
	values, err := settings.Load(ctx, &i.DB.Reader, d.ID)
	if err != nil || values.On(settings.AutoConfirmation) {
		return false, err
	}
	if _, able := c.(connector.Responder); !able {
		return false, passerelle.InvalidField("connector_uuid", "%s cannot wait for the client's confirmation, which this domain asks for", c.Profile().Name)
	}
	return true, nil
}

// mayValidate refuses a payment that is past validation, or whose validation
// is under way.
func (i *Initiation) mayValidate(ctx context.Context, d passerelle.Domain, p *payment.Payment) error {
	if err := p.Expects(""); err != nil {
		return err
	}
	_, err := i.DB.Attempt(ctx, d.ID, p.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil && !errors.Is(err, store.ErrSealed) {
		return fmt.Errorf("look for an attempt of payment %d: %w", p.ID, err)
	}
	return underWay()
}

func underWay() error {
	conflict := passerelle.Conflicting("Something else is being done with this payment.")
	conflict.RetryAfter = 2
	return conflict
}

// choose checks the choice against the connector and puts it into the payment.
func (i *Initiation) choose(ctx context.Context, d passerelle.Domain, p *payment.Payment, choice Choice) (connector.Initiator, map[string]string, error) {
	if err := takeChoice(p, choice); err != nil {
		return nil, nil, err
	}
	if err := i.checkReturn(ctx, d, p); err != nil {
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
	if website, told := given[websiteField]; told {
		p.Website = website
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
		i.name(tx, p)
		if err := tx.UpdatePayment(p, nil, nil); err != nil {
			return err
		}
		return tx.GiveFields(p.Domain, p.ID, fields)
	})
	return p, raced(err)
}

// name says what the payment's connector is called.
func (i *Initiation) name(tx *store.Tx, p *payment.Payment) {
	if c, known := i.Connectors.Initiator(p.Connector); known {
		tx.NameConnector(c.Profile().UUID, c.Profile().Name)
	}
}

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
		return tx.OpenAttempt(a, i.lease())
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
		return i.abandon(ctx, t)
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

// abandon leaves the payment as it was, for another try.
func (i *Initiation) abandon(ctx context.Context, t conversation) (*payment.Payment, error) {
	p := *t.payment
	p.RefuseCancellation(payment.ByService, i.now(t.domain))
	err := i.commit(ctx, t.domain, &p, nil, i.nextCheck(t.domain, &p, payment.Report{}), func(tx *store.Tx) { tx.AnswerAttempt(t.attempt) })
	if err != nil {
		return i.undecided(ctx, t, err)
	}
	return nil, &passerelle.Error{Kind: passerelle.Unavailable, Code: string(payment.WebsiteUnavailable), Message: "The bank could not be reached, and was told nothing.", RetryAfter: 10}
}
