package initiation

import (
	"context"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/store"
	"passerelle/payment"
)

// Cancellation is the wish to end a payment. A client says where the payer
// returns to from the bank, a payer on a page of ours need not.
type Cancellation struct {
	By          payment.Actor
	RedirectURI string
	State       string
}

// code is what a granted cancellation ends with.
func (c Cancellation) code() payment.ErrorCode {
	if c.By == payment.ByClient {
		return payment.CancelledByClient
	}
	return payment.CancelledByUser
}

// Cancel rejects a payment that no bank has, or asks the bank to. The payment
// is returned as it then stands: rejected, or with an action by which the payer
// approves the cancellation, or as before when the bank refuses. It is a Conflict
// when the payment cannot be cancelled any more or something else is being done
// with it, and Invalid of code notSupported when the bank does not cancel.
// Without an answer in time a loop finishes; Unavailable means that the bank was
// not told.
func (i *Initiation) Cancel(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID, c Cancellation) (*payment.Payment, error) {
	t, err := i.idle(ctx, d, id)
	if err != nil {
		return nil, err
	}
	if err := i.checkCancellation(ctx, t, c); err != nil {
		return nil, err
	}
	if t.payment.State == payment.Created {
		return i.withdraw(ctx, t, c)
	}
	leave, err := i.call(t.attempt.Connector)
	if err != nil {
		return nil, err
	}
	defer leave()
	t.payment.AskCancellation(c.code(), c.RedirectURI, c.State)
	if t.attempt, err = i.follow(ctx, t, store.Attempt{Kind: store.AttemptCancellation, By: c.By}); err != nil {
		return nil, err
	}
	return i.send(ctx, t, cancel)
}

func (i *Initiation) checkCancellation(ctx context.Context, t conversation, c Cancellation) error {
	if err := i.checkWayBack(ctx, t, c); err != nil {
		return err
	}
	canceller, able := t.bank.(connector.Canceller)
	return t.payment.MayCancel(able && canceller.Profile().Payments.Cancellable)
}

// checkWayBack holds where the payer returns to against what is registered.
func (i *Initiation) checkWayBack(ctx context.Context, t conversation, c Cancellation) error {
	if c.RedirectURI == "" && c.By == payment.ByClient {
		return passerelle.MissingField("client_redirect_uri", "the absolute http(s) URL the payer returns to is required")
	}
	if err := passerelle.CheckText("client_state", c.State, payment.MaxClientState); err != nil || c.RedirectURI == "" {
		return err
	}
	uri, err := passerelle.ParseRedirectURI("client_redirect_uri", c.RedirectURI)
	if err != nil {
		return err
	}
	return i.CheckRedirect(ctx, t.domain, t.payment.Client, "client_redirect_uri", uri)
}

// withdraw ends a payment that no bank has.
func (i *Initiation) withdraw(ctx context.Context, t conversation, c Cancellation) (*payment.Payment, error) {
	p := t.payment
	steps, err := p.Refuse(&payment.Refusal{Code: c.code()}, payment.Cause{Actor: c.By}, i.now(t.domain))
	if err != nil {
		return nil, err
	}
	return p, raced(i.commit(ctx, t.domain, p, steps, nil, i.record))
}
