package connectortest

import (
	"context"
	"errors"
	"fmt"

	"passerelle/connector"
	"passerelle/connector/remote"
	"passerelle/payment"
)

// claimedAbilities checks that the payment settings are Cancellable exactly when the connector can
// cancel. Clients learn from the profile whether payments can be cancelled.
func claimedAbilities(_ context.Context, s Subject) error {
	settings := s.Initiator.Profile().Payments
	if settings == nil {
		return errors.New("there are no payment settings")
	}
	if _, able := s.Initiator.(connector.Canceller); able != settings.Cancellable {
		return fmt.Errorf("cancellable is %t in the settings, and the ability to cancel is %t", settings.Cancellable, able)
	}
	return nil
}

func strayAnswerIsIgnored(ctx context.Context, s Subject) error {
	able, responds := s.Initiator.(connector.Responder)
	if !responds {
		return notApplicable("it takes no answers")
	}
	p := newPlay(s)
	asked, err := p.initiate(ctx)
	if err != nil {
		return err
	}
	for _, action := range actions {
		if action == asked.Action {
			continue
		}
		r, err := able.Answer(ctx, p.order, connector.Answer{Action: action, Fields: map[string]string{"nothing": "asked"}})
		p.remember(r)
		if err != nil {
			return fmt.Errorf("an answer to %s, when %s is asked: %w", action, asked.Action, err)
		}
		if r.Status != asked.Status || r.Action != asked.Action {
			return fmt.Errorf("an answer to %s turned %s %s into %s %s", action, asked.Status, asked.Action, r.Status, r.Action)
		}
	}
	return s.expect(1, "an order and unexpected answers")
}

func lateAnswerIsIgnored(ctx context.Context, s Subject) error {
	able, responds := s.Initiator.(connector.Responder)
	if !responds {
		return notApplicable("it takes no answers")
	}
	p, last, err := ended(ctx, s)
	if err != nil {
		return err
	}
	for _, action := range actions {
		r, err := able.Answer(ctx, p.order, connector.Answer{Action: action})
		p.remember(r)
		if err != nil || r.Status != last.Status {
			return fmt.Errorf("an answer to %s after the end returned %s, %s; before, the result was %s", action, r.Status, fmt.Sprint(err), last.Status)
		}
	}
	return s.expect(1, "an order and answers that are late")
}

// ended returns a play whose order has ended, and the bank's report.
func ended(ctx context.Context, s Subject) (*play, payment.Report, error) {
	p := newPlay(s)
	asked, err := p.initiate(ctx)
	if err != nil {
		return p, asked, err
	}
	if err := s.Approve(ctx, p.order, asked); err != nil {
		return p, asked, fmt.Errorf("approve at the bank: %w", err)
	}
	if err := p.follow(ctx); err != nil {
		return p, asked, err
	}
	last, err := s.Initiator.Status(ctx, p.order)
	return p, last, err
}

func unsentOrderCannotBeAsked(ctx context.Context, s Subject) error {
	for name, call := range s.calls() {
		if r, err := call(ctx, s.Order()); !errors.Is(err, connector.ErrUnknownOrder) {
			return fmt.Errorf("%s of a key that was never sent returned %s instead of %s", name, remote.Response(r, err), unknownOrder)
		}
	}
	return s.expect(0, "answers and cancellations for an unknown order")
}

// calls returns the calls of the connector's optional abilities, by name.
func (s Subject) calls() map[string]func(context.Context, connector.Order) (payment.Report, error) {
	calls := map[string]func(context.Context, connector.Order) (payment.Report, error){}
	if able, responds := s.Initiator.(connector.Responder); responds {
		calls["Answer"] = func(ctx context.Context, o connector.Order) (payment.Report, error) {
			return able.Answer(ctx, o, connector.Answer{Action: payment.Decoupled, Yes: true})
		}
	}
	if able, cancels := s.Initiator.(connector.Canceller); cancels {
		calls["Cancel"] = able.Cancel
	}
	return calls
}

// cancellationIsReported checks that reports show a pending cancellation and its end, because the
// service learns of cancellations only from reports. It also checks that a second request to cancel
// has no further effect.
func cancellationIsReported(ctx context.Context, s Subject) error {
	p, first, err := cancelling(ctx, s)
	if err != nil {
		return err
	}
	if again, err := p.cancel(ctx); err != nil || again.Cancellation != first.Cancellation || again.ValidateURI != first.ValidateURI {
		return fmt.Errorf("cancelling returned %s and then %s", remote.Response(first, nil), remote.Response(again, err))
	}
	if first.Cancellation == payment.CancellationAwaiting {
		if err := s.Agree(ctx, p.order, first); err != nil {
			return fmt.Errorf("agree to cancel at the bank: %w", err)
		}
		if err := p.follow(ctx); err != nil {
			return err
		}
	}
	granted := first.Cancellation != payment.CancellationRefused
	if rejected := p.payment.State == payment.Rejected; rejected != granted {
		return fmt.Errorf("cancelling returned %s, and the payment is %s", first.Cancellation, p.payment.State)
	}
	return s.expect(1, "an order, cancelled")
}

func keptOrderGoesOn(ctx context.Context, s Subject) error {
	p, first, err := cancelling(ctx, s)
	if err == nil && first.Cancellation != payment.CancellationAwaiting {
		return notApplicable("no payer is asked to agree to a cancellation")
	}
	if err != nil {
		return err
	}
	if err := s.Keep(ctx, p.order, first); err != nil {
		return fmt.Errorf("keep the order at the bank: %w", err)
	}
	r, err := p.ask(ctx)
	if err != nil {
		return err
	}
	if r.Cancellation == payment.CancellationAwaiting || r.Status == payment.Declined || p.payment.Detail != "" {
		return fmt.Errorf("an order that was kept is reported as %s", remote.Response(r, nil))
	}
	if err := p.follow(ctx); err != nil {
		return err
	}
	if p.payment.State == payment.Rejected {
		return fmt.Errorf("an order that was kept was rejected: %s", p.payment.ErrorCode)
	}
	return s.expect(1, "an order, kept")
}

func endedOrderIsNotCancelled(ctx context.Context, s Subject) error {
	able, cancels := s.Initiator.(connector.Canceller)
	if !cancels {
		return errNoCancellation
	}
	p, last, err := ended(ctx, s)
	if err != nil {
		return err
	}
	r, err := able.Cancel(ctx, p.order)
	if err != nil || r.Status != last.Status || r.Cancellation == payment.CancellationGranted {
		return fmt.Errorf("the response to cancelling a %s order is %s, cancellation %q, %s", last.Status, r.Status, r.Cancellation, fmt.Sprint(err))
	}
	return s.expect(1, "an order, cancelled after its end")
}

var errNoCancellation = notApplicable("it does not cancel")

// cancelling returns a play of an approved order that the bank was asked to cancel. It fails with
// errNotApplicable when the connector does not cancel, or when approved orders are final.
func cancelling(ctx context.Context, s Subject) (*play, payment.Report, error) {
	if _, cancels := s.Initiator.(connector.Canceller); !cancels {
		return nil, payment.Report{}, errNoCancellation
	}
	s.Order = s.Lasting
	p := newPlay(s)
	asked, err := p.initiate(ctx)
	if err != nil {
		return nil, asked, err
	}
	if err := s.Approve(ctx, p.order, asked); err != nil {
		return nil, asked, fmt.Errorf("approve at the bank: %w", err)
	}
	if _, err := p.ask(ctx); err != nil {
		return nil, asked, err
	}
	if p.payment.State == payment.Accepted { // the last status that this bank reports
		return nil, asked, notApplicable("an approved order is final, and the service does not cancel it")
	}
	r, err := p.cancel(ctx)
	if err == nil && r.Cancellation == "" {
		err = fmt.Errorf("the report does not mention the cancellation: %s", remote.Response(r, nil))
	}
	return p, r, err
}

// cancel asks the connector to cancel the order on behalf of the client, and applies the report.
func (p *play) cancel(ctx context.Context) (payment.Report, error) {
	able, cancels := p.subject.Initiator.(connector.Canceller)
	if !cancels {
		return payment.Report{}, errors.New("the connector does not cancel")
	}
	p.payment.AskCancellation(payment.CancelledByClient, "https://shop.test/back", "")
	r, err := able.Cancel(ctx, p.order)
	p.remember(r)
	if err != nil {
		return r, fmt.Errorf("Cancel of an order that was sent: %w", err)
	}
	if p.payment.State.Final() {
		return r, nil
	}
	return r, p.take(r)
}
