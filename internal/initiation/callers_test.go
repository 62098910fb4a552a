package initiation_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"passerelle"
	"passerelle/internal/bankcall"
	"passerelle/payment"
)

func held() (hold func(context.Context) error, arrived chan struct{}, free func()) {
	arrived, freed := make(chan struct{}, 2*bankcall.MaxCallers), make(chan struct{})
	return func(context.Context) error {
		arrived <- struct{}{}
		<-freed
		return errCut
	}, arrived, sync.OnceFunc(func() { close(freed) })
}

// TestSlowBankKeepsFewWaiting checks that a caller beyond MaxCallers is refused and stores no
// attempt.
func TestSlowBankKeepsFewWaiting(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		hold, arrived, free := held()
		defer free()
		var payments []passerelle.PaymentID
		for range bankcall.MaxCallers + 1 {
			payments = append(payments, w.create(1))
		}
		w.line.breaks(before(hold), nil)
		var waiting sync.WaitGroup
		for _, id := range payments[1:] {
			waiting.Go(func() { _, _ = w.Validate(t.Context(), w.domain, id, validated()) })
		}
		for range bankcall.MaxCallers {
			<-arrived
		}
		_, err := w.Validate(t.Context(), w.domain, payments[0], validated())
		var reported *passerelle.Error
		if !errors.As(err, &reported) || reported.Kind != passerelle.Unavailable || reported.RetryAfter == 0 {
			t.Errorf("one more was told %v", err)
		}
		if _, err := w.db.Attempt(t.Context(), w.domain.ID, payments[0]); err == nil {
			t.Error("it was decided all the same")
		}
		free()
		waiting.Wait()
		w.line.breaks(nil, nil)
		if _, err := w.Validate(t.Context(), w.domain, payments[0], validated()); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		w.wantState(t, payments[0], payment.Validating)
	})
}

// TestPayerReturnsManyTimes checks that at most two returns for a payment wait for the bank. Other
// returns must report the stored state.
func TestPayerReturnsManyTimes(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.sent(1)
		state := w.decide(p, "approve")
		hold, arrived, free := held()
		defer free()
		w.line.breaks(nil, before(hold))
		var waiting sync.WaitGroup
		for range 2 {
			waiting.Go(func() { _, _ = w.Return(t.Context(), w.domain, state, nil) })
			<-arrived
		}
		for range 5 {
			now, err := w.Return(t.Context(), w.domain, state, nil)
			if err != nil || now.State != payment.Validating {
				t.Errorf("returned to %v, %v", now, err)
			}
		}
		if len(arrived) > 0 {
			t.Errorf("the bank was asked %d times more", len(arrived))
		}
		free()
		waiting.Wait()
		w.line.breaks(nil, nil)
		ended, err := w.Return(t.Context(), w.domain, state, nil)
		if err != nil || ended.State != payment.Done {
			t.Errorf("afterwards: %v, %v", ended, err)
		}
	})
}
