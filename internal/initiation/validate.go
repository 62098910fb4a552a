package initiation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/payment"
)

// websiteField is the payment field by which clients can filter lists of payments.
const websiteField = "website"

// Choice is the decision of the payer, or of a client on the payer's behalf.
type Choice struct {
	// Connector is a UUID or a numeric id. Empty keeps the connector that was chosen earlier.
	Connector string
	Mechanism string
	// Fields contains values of the connector's payment fields, encrypted or in plain text. Nil
	// keeps the stored values.
	Fields map[string]string
	Payer  *passerelle.Account
	// WebviewURL is the address to which the payer returns after an action.
	WebviewURL string
	// Validated makes Validate send the order. Otherwise it only stores the choice.
	Validated bool
	// Evidence is the page that the payer saw before validating in the webview. It is nil for other
	// callers. Validate sets Evidence.Domain and Evidence.At.
	Evidence *payment.Evidence
}

// Validate applies the payer's choice to a payment in state created. If choice.Validated is true,
// it sends the order to the bank. If the bank does not respond in time, Validate returns the
// payment from the database, and a loop finds the outcome. Validate fails with NotFound when the
// payment does not exist, and with Invalid when the connector or a field value does not fit the
// payment. It fails with Conflict when the payment was already validated or another act on it is
// under way. It fails with Unavailable when too many callers wait for the bank.
func (i *Initiation) Validate(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID, choice Choice) (*payment.Payment, error) {
	u, err := i.unvalidated(ctx, d, id, choice.Fields == nil)
	if err != nil {
		return nil, err
	}
	if err := u.mayValidate(); err != nil {
		return nil, err
	}
	c, fields, err := i.choose(ctx, d, u, choice)
	if err != nil {
		return nil, err
	}
	p := u.payment
	if !choice.Validated {
		return i.keep(ctx, p, fields)
	}
	waits, err := i.waits(ctx, d, c)
	if err != nil {
		return nil, err
	}
	leave, err := i.Callers.EnterBank(c.Profile().UUID)
	if err != nil {
		return nil, err
	}
	defer leave()
	attempt, err := i.openFirst(ctx, d, p, store.AttemptOrder{Waits: waits, Fields: fields}, i.onRecord(d, choice.Evidence, nil))
	if err != nil {
		return nil, err
	}
	return i.send(ctx, bankSession{domain: d, payment: p, attempt: attempt, bank: c, repeatable: c.Profile().Idempotent}, initiate)
}

// waits reports whether the bank must wait for the client's confirmation. It fails with Invalid if
// the bank must wait but cannot. A bank cannot wait when its connector does not accept
// confirmations, or when the bank executes orders immediately.
func (i *Initiation) waits(ctx context.Context, d passerelle.Domain, c connector.Initiator) (bool, error) {
	values, err := settings.Load(ctx, &i.DB.Reader, d.ID)
	if err != nil || values.On(settings.AutoConfirmation) {
		return false, err
	}
	if _, able := c.(connector.Responder); !able || c.Profile().ExecutesAtOnce {
		return false, passerelle.InvalidField("connector_uuid", "%s cannot wait for the client's confirmation, which this domain requires", c.Profile().Name)
	}
	return true, nil
}

// unvalidated is a payment with the data on which its validation depends. If this data cannot be
// read, unvalidated contains the error. Validate returns the error only when it needs the data.
type unvalidated struct {
	payment *payment.Payment
	// client has no redirect URIs when the client is deleted.
	client store.Client
	// stored contains the field values that an earlier Validate stored, if they were loaded.
	stored map[string]string
	// attemptErr is ErrNotFound while the payment has no attempt.
	attemptErr, clientErr, storedErr error
}

// unvalidated loads the payment and its client. If withFields is true, it also loads the stored
// field values.
func (i *Initiation) unvalidated(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID, withFields bool) (unvalidated, error) {
	var u unvalidated
	err := i.DB.Together(ctx, func(r *store.Reader) error {
		var err error
		if u.payment, err = loadBy(ctx, r, d, id); err != nil {
			return err
		}
		u.client, u.clientErr = r.Client(ctx, d.ID, u.payment.Client)
		if errors.Is(u.clientErr, store.ErrNotFound) {
			u.clientErr = nil // a deleted client has no redirect URIs
		}
		return nil
	}, func(r *store.Reader) error {
		_, u.attemptErr = r.Attempt(ctx, d.ID, id)
		return nil
	}, func(r *store.Reader) error {
		if withFields {
			u.stored, u.storedErr = r.FieldValues(ctx, d.ID, id)
		}
		return nil
	})
	return u, err
}

// mayValidate fails for a payment that was already validated, or whose validation is under way. If
// another call stores an attempt after this call has loaded the payment, the schema refuses the
// attempt of this call.
func (u unvalidated) mayValidate() error {
	if err := u.payment.Expects(""); err != nil {
		return err
	}
	if errors.Is(u.attemptErr, store.ErrNotFound) {
		return nil
	}
	if u.attemptErr != nil && !errors.Is(u.attemptErr, store.ErrSealed) {
		return fmt.Errorf("find an attempt of payment %d: %w", u.payment.ID, u.attemptErr)
	}
	return underWay()
}

func underWay() error {
	conflict := passerelle.Conflicting("Another operation on this payment is in progress.")
	conflict.RetryAfter = 2
	return conflict
}

// choose checks the choice against the connector, and applies it to the payment.
func (i *Initiation) choose(ctx context.Context, d passerelle.Domain, u unvalidated, choice Choice) (connector.Initiator, map[string]string, error) {
	p := u.payment
	if err := takeChoice(p, choice); err != nil {
		return nil, nil, err
	}
	if u.clientErr != nil {
		return nil, nil, fmt.Errorf("load client %d: %w", p.Client, u.clientErr)
	}
	if err := checkReturn(d, p, u.client); err != nil {
		return nil, nil, err
	}
	c, profile, err := i.eligible(ctx, d, p, p.Connector)
	if err != nil {
		return nil, nil, atAnotherBank(err, profile, choice.Payer)
	}
	p.Connector = profile.UUID
	p.Source, _ = paymentSource(profile)
	if !slices.Contains(profile.Payments.Mechanisms, p.Mechanism) {
		return nil, nil, passerelle.InvalidField("validate_mechanism", "%s offers %v", profile.Name, profile.Payments.Mechanisms)
	}
	if p.Payer == nil && profile.Payments.PayerAccount == payment.PayerMandatory {
		return nil, nil, passerelle.MissingField("payer", profile.Name+" needs the payer's account")
	}
	values, err := i.fieldValues(ctx, d, u, choice.Fields)
	if err != nil {
		return nil, nil, err
	}
	if website, found := values[websiteField]; found {
		p.Website = website
	}
	if err := boundWebsite(p.Website); err != nil {
		return nil, nil, err
	}
	fields, err := takeFields(profile.PaymentFields, values)
	return c, fields, err
}

// atAnotherBank returns an error about the payer's account when this account is not at the
// connector's bank. Otherwise it returns err, which is about the connector.
func atAnotherBank(err error, profile connector.Profile, payer *passerelle.Account) error {
	if payer == nil || profile.Payments == nil || !profile.Payments.Accounts.Exclude(*payer) {
		return err
	}
	return passerelle.InvalidField("payer.identification", "is not an account at %s", profile.Name)
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
		p.Mechanism = payment.DefaultMechanism
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

// keep stores a choice without sending an order.
func (i *Initiation) keep(ctx context.Context, p *payment.Payment, fields map[string]string) (*payment.Payment, error) {
	p.Source = 0 // the payment has not used a source yet
	return p, i.commitChoice(ctx, p, nil, func(tx *store.Tx) error { return tx.SetFieldValues(p.Domain, p.ID, fields) })
}

// name stores the name of the payment's connector.
func (i *Initiation) name(tx *store.Tx, p *payment.Payment) {
	if c, known := i.Connectors.Initiator(p.Connector); known {
		tx.NameConnector(c.Profile().UUID, c.Profile().Name)
	}
}
