package initiation_test

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/initiation"
	"passerelle/internal/store"
	"passerelle/payment"
)

func together(calls ...func()) {
	start := make(chan struct{})
	var all sync.WaitGroup
	for _, call := range calls {
		all.Go(func() { <-start; call() })
	}
	close(start)
	all.Wait()
}

func times(n int, call func()) []func() {
	calls := make([]func(), n)
	for i := range calls {
		calls[i] = call
	}
	return calls
}

type count struct {
	mu sync.Mutex
	of map[string]int
}

func (c *count) add(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]int{}
	}
	var reported *passerelle.Error
	switch {
	case err == nil:
		c.of["done"]++
	case errors.As(err, &reported) && reported.Kind == passerelle.Conflict:
		c.of["conflict"]++
	default:
		c.of[err.Error()]++
	}
}

// TestValidationsAtOnce checks that exactly one of several concurrent validations sends the order.
func TestValidationsAtOnce(t *testing.T) {
	const callers = 6
	onEach(t, func(t *testing.T, w *fixture) {
		both := []*initiation.Initiation{w.Initiation, w.another()}
		for attempt := range repetitions(t, 100) {
			id := w.create(1)
			var outcomes count
			calls := make([]func(), callers)
			for n := range calls {
				calls[n] = func() {
					_, err := both[n%2].Validate(context.Background(), w.domain, id, validated())
					outcomes.add(err)
				}
			}
			together(calls...)
			if outcomes.of["done"] != 1 || outcomes.of["conflict"] != callers-1 {
				t.Fatalf("attempt %d: the calls ended as %v", attempt, outcomes.of)
			}
			w.wantSubmissions(t, id, 1)
		}
	})
}

// TestKeepAndValidateAtOnce stores one choice and validates another concurrently.
func TestKeepAndValidateAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		for range 30 {
			id := w.create(1)
			kept := validated(func(c *initiation.Choice) { c.Validated, c.WebviewURL = false, "https://shop.test/kept" })
			var outcomes count
			together(
				func() { _, err := w.Validate(context.Background(), w.domain, id, validated()); outcomes.add(err) },
				func() { _, err := w.Validate(context.Background(), w.domain, id, kept); outcomes.add(err) },
			)
			if outcomes.of["done"] == 0 || outcomes.of["done"]+outcomes.of["conflict"] != 2 {
				t.Fatalf("the calls ended as %v", outcomes.of)
			}
			if p := w.stored(id); p.State == payment.Validating && p.WebviewURL != webviewURL {
				t.Fatalf("the order of %s was sent and %s was stored over it", webviewURL, p.WebviewURL)
			}
		}
	})
}

// TestValidationDuringAnAttempt validates a payment while its attempt is open, and while the
// outcome is unknown.
func TestValidationDuringAnAttempt(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		id := w.create(1)
		w.line.breaks(before(fails(errCut)), before(fails(errCut)))
		_, err := w.Validate(t.Context(), w.domain, id, validated())
		must(t, err)
		w.execute(`UPDATE attempt SET state = 'open' WHERE state = 'unknown'`) // as during a call
		for _, state := range []string{"open", "unknown"} {
			w.wantAttempt(t, id, state)
			for _, choice := range []initiation.Choice{validated(), validated(func(c *initiation.Choice) { c.Validated = false })} {
				rows := w.rows()
				_, err := w.Validate(t.Context(), w.domain, id, choice)
				var reported *passerelle.Error
				if !errors.As(err, &reported) || reported.Kind != passerelle.Conflict || reported.RetryAfter < 1 {
					t.Errorf("a validation during an attempt that is %s: %v", state, err)
				}
				w.wantRows(t, rows)
			}
			w.leasesLapse()
			w.runDue(t, w.Initiation, w.domain, recovered)
		}
	})
}

// TestEverybodyAtOnce: at the moment when a bank responds, the payer returns and the loops of two
// processes recover and follow the payment. The bank does not recognise keys, and all leases have
// lapsed. Only the database prevents the service from sending the order twice.
func TestEverybodyAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		w.line.tune(func(p *connector.Profile) { p.Idempotent = false })
		other := w.another()
		w.Lease, other.Lease = lapsed, lapsed
		for range 25 {
			id := w.create(1)
			answered, state := make(chan struct{}), ""
			w.line.breaks(func(ctx context.Context, o connector.Order, next exchange) (payment.Report, error) {
				report, err := next(ctx, o)
				back, _ := url.Parse(o.ReturnURL)
				state = back.Query().Get("state")
				close(answered)
				return report, err
			}, nil)
			var outcomes count
			first := func() { _, err := w.Validate(context.Background(), w.domain, id, validated()); outcomes.add(err) }
			pass := func(i *initiation.Initiation) func() {
				return func() { <-answered; _, err := i.RunDue(context.Background(), w.later(time.Minute)); outcomes.add(err) }
			}
			back := func() { <-answered; _, err := w.Return(context.Background(), w.domain, state, nil); outcomes.add(err) }
			together(first, pass(w.Initiation), pass(other), back, back)
			if outcomes.of["done"] != 5 {
				t.Fatalf("the calls ended as %v", outcomes.of)
			}
			w.wantState(t, id, payment.Validating)
			w.wantAttempt(t, id, "answered")
			w.approvedAtOnce(t, id, state, pass, back)
		}
		if w.log.String() != "" {
			t.Errorf("the log says\n%s", w.log)
		}
	})
}

func (w *fixture) approvedAtOnce(t *testing.T, id passerelle.PaymentID, state string, pass func(*initiation.Initiation) func(), back func()) {
	t.Helper()
	if got := w.decide(w.stored(id), "approve"); got != state {
		t.Errorf("the payer returns with %q, not %q", got, state)
	}
	together(append(times(3, back), pass(w.Initiation), pass(w.another()), pass(w.Initiation))...)
	w.wantState(t, id, payment.Done)
	w.wantSubmissions(t, id, 1)
}

// TestTwoLoops makes two processes do the due work for many payments. Each payment must be handled
// once.
func TestTwoLoops(t *testing.T) {
	const payments = 40
	onEach(t, func(t *testing.T, w *fixture) {
		ids := make([]passerelle.PaymentID, payments)
		for n := range ids {
			w.line.breaks(nil, nil)
			if n%2 == 0 {
				ids[n] = w.create(1)
				w.line.breaks(after(fails(errCut)), nil)
				_, err := w.Validate(t.Context(), w.domain, ids[n], validated())
				must(t, err)
				continue
			}
			p := w.sent(1)
			ids[n] = p.ID
			w.decide(p, "approve")
		}
		w.line.breaks(nil, nil)
		w.line.used()
		w.leasesLapse()
		var mu sync.Mutex
		var total initiation.Done
		loop := func(i *initiation.Initiation) func() {
			return func() {
				for {
					done, err := i.RunDue(context.Background(), w.later(time.Minute))
					mu.Lock()
					total.Checked, total.Recovered = total.Checked+done.Checked, total.Recovered+done.Recovered
					mu.Unlock()
					if err != nil || done == none {
						return
					}
				}
			}
		}
		together(loop(w.Initiation), loop(w.another()))
		if want := (initiation.Done{Checked: payments / 2, Recovered: payments / 2}); total != want || w.line.used() != payments {
			t.Errorf("both loops did %+v, want %+v", total, want)
		}
		for n, id := range ids {
			w.wantState(t, id, []payment.State{payment.Validating, payment.Done}[n%2])
		}
	})
}

// TestAnswerOverAChange changes the payment between the bank's response and its storage. The
// response must be applied to the changed payment.
func TestAnswerOverAChange(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		change := func() {
			p := w.stored(1)
			p.WebviewURL = "https://shop.test/changed"
			must(t, w.db.Write(context.Background(), func(tx *store.Tx) error { return tx.UpdateChoice(p, nil) }))
		}
		id := w.create(1)
		w.line.breaks(meanwhile(change), nil)
		p, err := w.Validate(t.Context(), w.domain, id, validated())
		must(t, err)
		if p.State != payment.Validating || p.WebviewURL != "https://shop.test/changed" {
			t.Errorf("answered is %s with %s", p.State, p.WebviewURL)
		}
		w.wantAttempt(t, id, "answered")
	})
}

// TestOlderReport makes two processes store the same report. The second must return no error.
func TestOlderReport(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.sent(1)
		state := w.decide(p, "approve")
		w.line.breaks(nil, meanwhile(func() {
			w.line.breaks(nil, nil)
			_, err := w.another().Return(context.Background(), w.domain, state, nil)
			must(t, err)
		}))
		ended, err := w.Return(t.Context(), w.domain, state, nil)
		must(t, err)
		if ended.State != payment.Done {
			t.Errorf("the payment is %s", ended.State)
		}
		w.wantEvents(t, p.ID, redirectEvent, eventSummary{Version: 2, State: payment.Pending, Lines: "pending"}, eventSummary{Version: 3, State: payment.Done, Lines: "done"})
		if w.log.String() != "" {
			t.Errorf("the log says\n%s", w.log)
		}
	})
}

// TestNewerReportComesLate checks that a newer report is applied to a payment for which another
// process has just stored an older report.
func TestNewerReportComesLate(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.sent(1)
		state := w.decide(p, "approve")
		w.line.breaks(nil, meanwhile(func() {
			w.line.breaks(nil, answers(payment.Report{Status: payment.Processing, Raw: "approved"}))
			_, err := w.another().Return(context.Background(), w.domain, state, nil)
			must(t, err)
			w.wantState(t, p.ID, payment.Pending)
		}))
		ended, err := w.Return(t.Context(), w.domain, state, nil)
		must(t, err)
		if ended.State != payment.Done {
			t.Errorf("the payment is %s", ended.State)
		}
	})
}

// TestNotSentAfterATakeover: a validation takes very long, and a loop takes over its attempt. If
// the first call then reports that it sent nothing, the loop's results must stay.
func TestNotSentAfterATakeover(t *testing.T) {
	for name, want := range map[string]payment.State{"and sent": payment.Validating, "and died": payment.Created} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				id := w.create(1)
				w.Lease = lapsed
				w.line.breaks(before(func(context.Context) error {
					w.line.breaks(nil, nil)
					if want == payment.Created {
						w.line.breaks(nil, before(dies))
					}
					w.runDue(t, w.another(), w.domain, recovered)
					return connector.ErrNotSent
				}), nil)
				p, err := w.Validate(t.Context(), w.domain, id, validated())
				must(t, err)
				if p.State != want {
					t.Errorf("answered is %s, want %s", p.State, want)
				}
				w.line.breaks(nil, nil)
				w.leasesLapse()
				if want == payment.Created {
					w.runDue(t, w.another(), w.domain, recovered)
				}
				w.wantState(t, id, payment.Validating)
				w.wantSubmissions(t, id, 1)
			})
		})
	}
}

// TestNotSentAfterTheReturn: the payer is redirected to the client while the service calls the
// bank, and the call then sends nothing. If Validate made the call, or the answer was no, the
// payment must be rejected immediately. If the answer was yes, Answer must fail and leave the
// payment as it is. Only the return of a payer who has paid is recorded.
func TestNotSentAfterTheReturn(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		d, id := w.older(), w.create(1)
		leaves := before(func(context.Context) error {
			w.Returned(context.Background(), d, w.stored(id))
			return connector.ErrNotSent
		})
		w.line.breaks(leaves, nil)
		p, err := w.Validate(t.Context(), d, id, validated())
		must(t, err)
		if p.State != payment.Rejected || p.ErrorCode != payment.WebsiteUnavailable || p.Returned != nil {
			t.Errorf("the payment is %s with %q, returned at %v", p.State, p.ErrorCode, p.Returned)
		}
		w.wantAttempt(t, id, "answered")
		w.line.breaks(nil, nil)
		id = w.steered("actn(psu)/done").ID
		w.line.interrupts(leaves, nil)
		p, err = w.Answer(t.Context(), d, id, payment.ByPayer, approved(false))
		must(t, err)
		if p.State != payment.Rejected || p.Returned == nil {
			t.Errorf("the payment is %s, returned at %v", p.State, p.Returned)
		}
		w.wantAttempt(t, id, "answered")
		w.line.interrupts(nil, nil)
		id = w.steered("actn(psu)/done").ID
		w.line.interrupts(leaves, nil)
		_, err = w.Answer(t.Context(), d, id, payment.ByPayer, approved(true))
		if !errors.Is(err, passerelle.Unavailable) {
			t.Errorf("the error is %v", err)
		}
		if p := w.stored(id); p.State != payment.Validating || p.Action != payment.PSUValidation || p.Returned == nil {
			t.Errorf("the payment is %s with action %q, returned at %v", p.State, p.Action, p.Returned)
		}
		w.wantAttempt(t, id, "answered")
	})
}

// TestEndedMeanwhile expires a payment whose order is in flight or whose outcome is unknown.
func TestEndedMeanwhile(t *testing.T) {
	expire := func(w *fixture) {
		p := w.stored(1)
		steps, err := p.Expire(noon)
		must(w.t, err)
		must(w.t, w.db.Write(context.Background(), func(tx *store.Tx) error {
			err := tx.UpdatePayment(p, []payment.Transition{steps[0].Transition}, nil)
			return errors.Join(err, tx.Emit(store.EmittedEvent{
				Domain: p.Domain, Name: "PAYMENT_STATE_UPDATED", Subject: "payment", SubjectID: 1, Version: 1, Created: noon,
				Body: []byte(`{"id": 1, "state": "expired"}`),
			}))
		}))
	}
	t.Run("under way", func(t *testing.T) {
		onEach(t, func(t *testing.T, w *fixture) {
			id := w.create(1)
			w.line.breaks(meanwhile(func() { expire(w) }), nil)
			p, err := w.Validate(t.Context(), w.domain, id, validated())
			must(t, err)
			if p.State != payment.Expired {
				t.Errorf("answered is %s", p.State)
			}
			w.wantAttempt(t, id, "answered")
			w.wantLogged(t, "ended before the outcome")
		})
	})
	t.Run("in doubt", func(t *testing.T) {
		onEach(t, func(t *testing.T, w *fixture) {
			id := w.create(1)
			w.line.breaks(before(fails(errCut)), nil)
			_, err := w.Validate(t.Context(), w.domain, id, validated())
			must(t, err)
			expire(w)
			w.line.breaks(nil, nil)
			w.leasesLapse()
			w.runDue(t, w.Initiation, w.domain, recovered)
			w.leasesLapse()
			w.runDue(t, w.Initiation, w.domain, none)
			w.wantState(t, id, payment.Expired)
			w.wantAttempt(t, id, "answered")
			w.wantSubmissions(t, id, 0)
			w.wantLogged(t, "ended before the outcome")
		})
	})
}
