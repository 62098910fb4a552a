package initiation

import (
	"context"
	"errors"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/store"
	"passerelle/payment"
)

// CancelRequest is a request to end a payment. A client must set RedirectURI, the address to which
// the payer returns from the bank. A payer on a page of the webview need not set RedirectURI.
type CancelRequest struct {
	By payment.Actor
	// Operator is set when an operator acts for the client. The payer then returns to the address
	// in the payment, even if the client no longer registers that address. RedirectURI and State
	// are ignored.
	Operator    bool
	RedirectURI string
	State       string
	// Evidence is the page that the payer saw before cancelling in the webview. It is nil for other
	// callers. Cancel sets Evidence.Domain and Evidence.At.
	Evidence *payment.Evidence
}

// code returns the error code of a payment that was cancelled.
func (c CancelRequest) code() payment.ErrorCode {
	if c.By == payment.ByClient {
		return payment.CancelledByClient
	}
	return payment.CancelledByUser
}

// Cancel ends a payment that was not sent to a bank, or asks the bank to cancel the order. It
// returns the resulting payment. If the payer must approve the cancellation, this payment has an
// action for the approval. A payer can abandon a payment that the payer has not approved, even when
// the bank does not cancel orders. Such a payment stays validating for as long as the bank would
// accept an approval, and longer if the bank does not show approvals. If the bank does not respond
// in time, a loop finds the outcome later. Cancel fails with Conflict when the payment can no
// longer be cancelled, or when another act on the payment is under way. It fails with Invalid and
// the code notSupported when it would have to ask the bank to cancel, but the bank does not cancel
// orders. It fails with Unavailable when too many callers wait for the bank, or when the bank did
// not receive the request.
func (i *Initiation) Cancel(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID, c CancelRequest, acts ...store.Audit) (*payment.Payment, error) {
	var registered []string
	s, err := i.idle(ctx, d, id, func(r *store.Reader) error {
		if c.RedirectURI == "" {
			return nil
		}
		var err error
		registered, err = r.RedirectURIsOfPayment(ctx, d.ID, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	if c.Operator {
		c.RedirectURI, c.State = s.payment.ClientRedirectURI, s.payment.ClientState
	} else if err := checkWayBack(s, c, registered); err != nil {
		return nil, err
	}
	if err := s.payment.MayCancel(c.By, i.bankCancels(s)); err != nil {
		return nil, err
	}
	record := i.onRecord(d, c.Evidence, acts)
	if s.payment.State == payment.Created || s.attempt.Number == 0 {
		return i.withdraw(ctx, s, c, record)
	}
	leave, err := i.Callers.EnterBank(s.attempt.Connector)
	if err != nil {
		return nil, err
	}
	defer leave()
	if s.abandons() {
		return i.abandon(ctx, s, c, record)
	}
	return i.cancelAtBank(ctx, s, c, record)
}

// bankCancels reports whether the bank of a payment cancels orders. If no bank has the order,
// because the state was simulated, the payment's connector decides.
func (i *Initiation) bankCancels(s bankSession) bool {
	if s.attempt.Number > 0 {
		return s.cancellable()
	}
	bank, _ := i.Connectors.Initiator(s.payment.Connector)
	return bankSession{bank: bank}.cancellable()
}

// cancellable reports whether the bank of a payment cancels orders.
func (s bankSession) cancellable() bool {
	canceller, able := s.bank.(connector.Canceller)
	return able && canceller.Profile().Payments.Cancellable
}

// abandons reports whether a cancellation by the payer only abandons the payment. In this case, the
// service does not ask the bank to cancel.
func (s bankSession) abandons() bool {
	return !s.cancellable() || s.payment.MayCancel(payment.ByClient, true) != nil && s.bank.Profile().ApprovalLife == 0
}

// Abandons reports whether a cancellation by the payer only abandons a payment whose order was
// sent. In this case, the bank receives no request to cancel, and may still accept an approval.
func (i *Initiation) Abandons(p *payment.Payment) bool {
	bank, _ := i.Connectors.Initiator(p.Connector)
	return bankSession{payment: p, bank: bank}.abandons()
}

// cancelAtBank asks the bank to cancel. If the payer asks to cancel an unapproved payment and the
// bank refuses, the payment is abandoned.
func (i *Initiation) cancelAtBank(ctx context.Context, s bankSession, c CancelRequest, record addition) (*payment.Payment, error) {
	var err error
	s.payment.AskCancellation(c.code(), c.RedirectURI, c.State)
	if s.attempt, err = i.openNext(ctx, s, store.Attempt{Kind: store.AttemptCancellation, By: c.By}, record); err != nil {
		return nil, err
	}
	p, err := i.send(ctx, s, continueIfRefused(cancel))
	if err != nil || c.By != payment.ByPayer || !p.Unapproved() {
		return p, err
	}
	if s, err = i.idle(ctx, s.domain, p.ID); err != nil {
		return p, nil //nolint:nilerr // another act on the payment is under way, and continues
	}
	return i.abandon(ctx, s, c, nothingElse) // the attempt to cancel already stored the record of the payer's act
}

// abandon ends the payment on behalf of a payer who has not approved it. It only asks the bank for
// the status, because the payer may have just approved. If the payer has approved, the payment
// continues. It also continues while the bank would still accept an approval, because the final
// state must agree with the bank's actions (see concludeAbandoned).
func (i *Initiation) abandon(ctx context.Context, s bankSession, c CancelRequest, record addition) (*payment.Payment, error) {
	var err error
	if s.attempt, err = i.openNext(ctx, s, store.Attempt{Kind: store.AttemptAnswer, Action: payment.PSUValidation, By: c.By}, record); err != nil {
		return nil, err
	}
	return i.send(ctx, s, statusOnly)
}

// statusOnly asks for the status of the order. If the request fails, the outcome stays unknown.
func statusOnly(ctx context.Context, bank connector.Initiator, o connector.Order) (payment.Report, error) {
	report, err := bank.Status(ctx, o)
	if errors.Is(err, connector.ErrNotSent) {
		err = errors.New("the bank was not asked: " + err.Error())
	}
	return report, err
}

// checkWayBack checks the payer's return address against the registered URIs.
func checkWayBack(s bankSession, c CancelRequest, registered []string) error {
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
	return checkRegistered(s.domain, s.payment.Client, "client_redirect_uri", uri, registered)
}

// withdraw ends a payment that was not sent to a bank, as if a bank had granted the cancellation.
// The simulation of a sandbox may have ended some instructions, and these keep their states.
func (i *Initiation) withdraw(ctx context.Context, s bankSession, c CancelRequest, record addition) (*payment.Payment, error) {
	p := s.payment
	p.AskCancellation(c.code(), c.RedirectURI, c.State)
	steps, err := p.Apply(payment.Report{Status: payment.Declined, Cancellation: payment.CancellationGranted}, i.now(s.domain))
	if err != nil {
		return nil, err
	}
	return p, raced(i.commit(ctx, s.domain, p, steps, nil, record))
}
