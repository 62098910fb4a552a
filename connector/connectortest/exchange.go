package connectortest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"passerelle/connector"
	"passerelle/connector/remote"
	"passerelle/payment"
)

// sentOrderIsKnown checks that Status reports the bank's id and, while the status is the same, the
// action that Initiate reported. After a crash, the service may learn them only from Status. Status
// must never send the order.
func sentOrderIsKnown(ctx context.Context, s Subject) error {
	p := newPlay(s)
	first, err := p.initiate(ctx)
	if err != nil {
		return err
	}
	for range 3 {
		again, err := p.ask(ctx)
		if err != nil {
			return err
		}
		if again.BankPaymentID != first.BankPaymentID {
			return fmt.Errorf("the bank's id of the order was %q and is now %q", first.BankPaymentID, again.BankPaymentID)
		}
		if again.Status == first.Status && (again.Action != first.Action || again.ValidateURI != first.ValidateURI) {
			return fmt.Errorf("Initiate asked for %s at %q, Status for %s at %q", first.Action, first.ValidateURI, again.Action, again.ValidateURI)
		}
	}
	return s.expect(1, "one Initiate and three Status")
}

// unknownOrder is the right response about an order that was never sent.
var unknownOrder = remote.Response(payment.Report{}, connector.ErrUnknownOrder)

func unsentOrderIsUnknown(ctx context.Context, s Subject) error {
	report, err := s.Initiator.Status(ctx, s.Order())
	if !errors.Is(err, connector.ErrUnknownOrder) {
		return fmt.Errorf("Status of a key that was never sent returned %s instead of %s", remote.Response(report, err), unknownOrder)
	}
	return s.expect(0, "a mere Status")
}

func repeatedKeyIsOneOrder(ctx context.Context, s Subject) error {
	if !s.Initiator.Profile().Idempotent {
		return notApplicable("the profile is not idempotent")
	}
	p := newPlay(s)
	first, err := p.initiate(ctx)
	if err != nil {
		return err
	}
	p.order.Memory = nil // the memory may be lost together with the first response
	p.order.Repeated = true
	again, err := p.initiate(ctx)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(first, again) {
		return fmt.Errorf("the same order got %s and then %s", remote.Response(first, nil), remote.Response(again, nil))
	}
	return s.expect(1, "two Initiate of one key")
}

func approvedOrderEnds(ctx context.Context, s Subject) error {
	p := newPlay(s)
	asked, err := p.initiate(ctx)
	if err != nil {
		return err
	}
	if err := s.Approve(ctx, p.order, asked); err != nil {
		return fmt.Errorf("approve at the bank: %w", err)
	}
	if err := p.follow(ctx); err != nil {
		return err
	}
	if p.payment.State == payment.Rejected {
		return fmt.Errorf("an approved payment was rejected: %s %s", p.payment.ErrorCode, p.payment.ErrorDescription)
	}
	return s.expect(1, "an order, approved")
}

func refusedOrderIsDeclined(ctx context.Context, s Subject) error {
	p := newPlay(s)
	asked, err := p.initiate(ctx)
	if err != nil {
		return err
	}
	if err := s.Refuse(ctx, p.order, asked); err != nil {
		return fmt.Errorf("refuse at the bank: %w", err)
	}
	if err := p.follow(ctx); err != nil {
		return err
	}
	if p.payment.State != payment.Rejected {
		return fmt.Errorf("a refused payment is %s", p.payment.State)
	}
	return s.expect(1, "an order, refused")
}

// prompt limits the time of a cancelled call. The limit is much longer than such a call needs to
// return.
const prompt = 5 * time.Second

func cancelledCallReturns(ctx context.Context, s Subject) error {
	over, cancel := context.WithCancel(ctx)
	cancel()
	o := s.Order()
	calls := s.calls()
	calls["Initiate"], calls["Status"] = s.Initiator.Initiate, s.Initiator.Status
	for name, call := range calls {
		if err := givesUp(over, call, o); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return s.expect(0, "an Initiate that was cancelled before it began")
}

func givesUp(over context.Context, call func(context.Context, connector.Order) (payment.Report, error), o connector.Order) error {
	answer := make(chan error, 1)
	go func() {
		_, err := call(over, o)
		answer <- err
	}()
	var refusal *payment.Refusal
	select {
	case err := <-answer:
		if err == nil || errors.As(err, &refusal) || errors.Is(err, connector.ErrUnknownOrder) {
			return fmt.Errorf("a cancelled call returned a result as if it had called the bank: %s", fmt.Sprint(err))
		}
		return nil
	case <-time.After(prompt):
		return fmt.Errorf("a cancelled call has not returned after %s", prompt)
	}
}

// callsMayCoincide checks concurrent calls. One connector serves all payments, and an idempotent
// connector may get the same order from two replicas.
func callsMayCoincide(ctx context.Context, s Subject) error {
	const callers = 8
	shared := s.Order()
	outcomes := make(chan error)
	for range callers {
		go func() { outcomes <- coincide(ctx, s, shared) }()
	}
	var faults []error
	for range callers {
		faults = append(faults, <-outcomes)
	}
	want := callers
	if s.Initiator.Profile().Idempotent {
		want++
	}
	return errors.Join(append(faults, s.expect(want, "orders sent at once"))...)
}

func coincide(ctx context.Context, s Subject, shared connector.Order) error {
	own := newPlay(s)
	if _, err := own.initiate(ctx); err != nil {
		return err
	}
	if s.Initiator.Profile().Idempotent {
		if _, err := s.Initiator.Initiate(ctx, shared); err != nil {
			return fmt.Errorf("Initiate of an order that others send too: %w", err)
		}
	}
	_, err := own.ask(ctx)
	return err
}

// expect compares the number of orders that the bank has accepted with the expected number.
func (s Subject) expect(submissions int, after string) error {
	if n := s.Submissions(); n != submissions {
		return fmt.Errorf("after %s the bank has taken %d orders, not %d", after, n, submissions)
	}
	return nil
}
