package bank

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"net/url"
	"slices"
	"strings"

	"passerelle/testbank/ledger"
)

// Decision is a customer's decision on a page or in the app.
type Decision struct {
	Approve bool
	// PSU is the customer who decides, if the third party did not name one. Empty means the first
	// customer.
	PSU string
	// Accounts holds the ids of the chosen accounts: the paying account of an order, or the
	// accounts of a consent. Without a choice, the first account pays, and the consent is for all
	// accounts.
	Accounts []string
}

// ErrLinkOver means that a ticket is unknown, used or expired.
var ErrLinkOver = errors.New("this link has been used, or its time is over")

// Question is the content of the page that asks a customer for a decision.
type Question struct {
	Authorisation *Authorisation
	// Order or Consent is the order or consent to authorise.
	Order   *Order
	Consent *Consent
	// Silent means that the bank does not respond to the customer's decision.
	Silent bool
}

// Ask returns the question on the page that a ticket opens.
func (b *Bank) Ask(ctx context.Context, ticket string) (Question, error) {
	var q Question
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		a, err := b.byTicket(tx, ticket)
		if err != nil {
			return err
		}
		q, err = b.question(tx, a)
		return err
	})
	return q, err
}

func (b *Bank) question(tx *ledger.Tx, a *Authorisation) (Question, error) {
	q := Question{Authorisation: a}
	if a.Subject.Kind == OfConsent {
		q.Consent = new(Consent)
		return q, tx.Get(consentKind, a.Subject.ID, q.Consent)
	}
	q.Order = new(Order)
	err := tx.Get(orderKind, a.Subject.ID, q.Order)
	if err == nil {
		q.Silent = MannerOf(q.Order).Silent && a.Subject.Kind == OfPayment
	}
	return q, err
}

// byTicket finds the authorisation for the ticket in a page's address.
func (b *Bank) byTicket(tx *ledger.Tx, ticket string) (*Authorisation, error) {
	id, secret, _ := strings.Cut(ticket, "-")
	var a Authorisation
	err := tx.Get(authorisationKind, id, &a)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && subtle.ConstantTimeCompare([]byte(secret), []byte(a.Secret)) != 1 {
		return nil, ErrLinkOver
	}
	return &a, err
}

// Waiting lists the questions for a customer in the app, oldest first. It sorts them again,
// because the ledger compares due times in whole milliseconds.
func (b *Bank) Waiting(ctx context.Context, psu string) ([]Question, error) {
	var waiting []Question
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		all, err := ledger.ListDue[Authorisation](tx, authorisationKind)
		if err != nil {
			return err
		}
		slices.SortStableFunc(all, func(a, b *Authorisation) int { return a.Next.Compare(b.Next) })
		for _, a := range all {
			if a.Approach != Decoupled || a.PSU != psu || !a.Open() {
				continue
			}
			q, err := b.question(tx, a)
			if err != nil {
				return err
			}
			waiting = append(waiting, q)
		}
		return nil
	})
	return waiting, err
}

// Decide applies a customer's decision.
func (b *Bank) Decide(ctx context.Context, ticket string, d Decision) (*Authorisation, error) {
	var a *Authorisation
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		var err error
		if a, err = b.byTicket(tx, ticket); err != nil {
			return err
		}
		if !a.Open() || b.Now().After(a.LinkEnds) && a.Approach != Decoupled || a.Approach == Embedded {
			return ErrLinkOver
		}
		q, err := b.question(tx, a)
		if err != nil {
			return err
		}
		if q.Silent {
			a.Status = "started"
			return tx.Put(a)
		}
		if err := b.decide(tx, a, q, d); err != nil {
			return err
		}
		if a.Application != nil && a.Status != "failed" {
			a.Application.Code, a.Application.CodeEnds = newID(), b.Now().Add(codeLife)
		}
		return tx.Put(a)
	})
	return a, err
}

// ReturnTo returns the address to which the customer is redirected after a decision. Empty means
// that the customer stays on the page.
func (a *Authorisation) ReturnTo() string {
	address, err := url.Parse(a.Return.to(a.Status != "failed"))
	if err != nil || address.Host == "" {
		return ""
	}
	query := address.Query()
	switch app := a.Application; {
	case app != nil:
		if address, err = url.Parse(app.Redirect); err != nil {
			return ""
		}
		query = address.Query()
		query.Set("state", app.State)
		if app.Code == "" {
			query.Set("error", "access_denied")
		} else {
			query.Set("code", a.ID+"-"+app.Code)
		}
	case a.Status == "unconfirmed":
		query.Set("confirmationCode", a.Confirmation)
	default:
		return address.String() // unchanged, exactly as the third party sent it
	}
	address.RawQuery = query.Encode()
	return address.String()
}

func (b *Bank) decide(tx *ledger.Tx, a *Authorisation, q Question, d Decision) error {
	if a.PSU == "" {
		a.PSU = cmp.Or(d.PSU, Customers()[0].ID)
	}
	if _, known := CustomerByID(a.PSU); !known {
		return wrongFormat("psu", "the bank has no such customer")
	}
	if !d.Approve {
		return b.fail(tx, a, "CUST")
	}
	if err := b.choose(tx, a, q, d); err != nil {
		return err
	}
	if b.Profile.Confirmation && (a.Approach == Redirect || a.Approach == OAuth) {
		a.Status = "unconfirmed"
		if a.Approach == Redirect {
			a.Confirmation = newID()
		}
		return nil
	}
	return b.approve(tx, a)
}

// choose stores the accounts that the customer chose.
func (b *Bank) choose(tx *ledger.Tx, a *Authorisation, q Question, d Decision) error {
	if q.Consent != nil {
		return b.chooseShown(tx, a, q.Consent, d.Accounts)
	}
	if q.Order.Debtor != "" {
		return nil
	}
	return b.choosePayer(tx, a, q.Order, d.Accounts)
}

// choosePayer sets the account that pays: the chosen account or, without a choice, the customer's
// first account.
func (b *Bank) choosePayer(tx *ledger.Tx, a *Authorisation, o *Order, chosen []string) error {
	accounts, err := tx.Accounts(a.PSU)
	if err != nil {
		return err
	}
	for _, account := range accounts {
		if account.Kind == ledger.Cash && (len(chosen) == 0 || slices.Contains(chosen, account.ID)) {
			o.Debtor = account.Number
			return tx.Put(o)
		}
	}
	return wrongFormat("account", "the customer has no such account")
}

// approve ends an authorisation successfully, unless its order asks for a failure or for silence.
func (b *Bank) approve(tx *ledger.Tx, a *Authorisation) error {
	if a.Subject.Kind != OfPayment {
		return b.finalise(tx, a)
	}
	var o Order
	if err := tx.Get(orderKind, a.Subject.ID, &o); err != nil {
		return err
	}
	manner := MannerOf(&o)
	switch {
	case manner.Fails:
		return b.fail(tx, a, "")
	case manner.Silent:
		a.Status = "started"
		return nil
	}
	return b.finalise(tx, a)
}

// finalise ends an authorisation successfully. It then grants the consent, cancels the order or
// signs the order.
func (b *Bank) finalise(tx *ledger.Tx, a *Authorisation) error {
	a.end("finalised")
	if a.Subject.Kind == OfConsent {
		return b.grant(tx, a)
	}
	var o Order
	if err := tx.Get(orderKind, a.Subject.ID, &o); err != nil {
		return err
	}
	if a.Subject.Kind == OfCancellation {
		return b.cancelled(tx, &o)
	}
	return b.sign(tx, &o, a)
}

// sign records an authorisation of an order. With the last required authorisation, the bank accepts
// the order.
func (b *Bank) sign(tx *ledger.Tx, o *Order, a *Authorisation) error {
	switch {
	case !o.waits():
		return Refuse("STATUS_INVALID", "", "there is nothing left to authorise")
	case o.PSU != "" && o.PSU != a.PSU && b.Profile.Signatories == 1:
		return Refuse("PSU_CREDENTIALS_INVALID", "PSU-ID", "it is another customer's order")
	}
	if !slices.Contains(o.Signed, a.PSU) {
		o.Signed = append(o.Signed, a.PSU)
	}
	if o.PSU == "" {
		o.PSU = a.PSU
	}
	if o.Debtor == "" {
		if err := b.choosePayer(tx, a, o, nil); err != nil {
			return err
		}
	}
	if len(o.Signed) < b.Profile.Signatories {
		o.Status = "PATC"
		if err := b.askNext(tx, o); err != nil {
			return err
		}
		return b.putOrder(tx, o)
	}
	return b.accept(tx, o, b.Now())
}

// askNext asks the next customer in the app. The third party need not start this authorisation.
func (b *Bank) askNext(tx *ledger.Tx, o *Order) error {
	for _, customer := range Customers() {
		if slices.Contains(o.Signed, customer.ID) {
			continue
		}
		of := authorisable{subject: Subject{OfPayment, o.ID, o.Path()}, approach: Decoupled}
		_, err := b.begin(tx, Caller{Party: o.Party, PSU: customer.ID}, of)
		return err
	}
	return nil
}

// fail ends an authorisation as failed. It rejects the order or consent, unless the order asks to
// stay open. When a cancellation was not authorised, the order continues.
func (b *Bank) fail(tx *ledger.Tx, a *Authorisation, reason string) error {
	a.end("failed")
	if a.Subject.Kind == OfConsent {
		return b.reject(tx, a)
	}
	var o Order
	if err := tx.Get(orderKind, a.Subject.ID, &o); err != nil {
		return err
	}
	switch {
	case a.Subject.Kind == OfCancellation:
		o.Cancelling = false
	case o.waits() && !MannerOf(&o).Again:
		o.finish("RJCT", reason)
	}
	return b.putOrder(tx, &o)
}
