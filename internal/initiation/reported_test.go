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
	"passerelle/internal/bankcall"
	"passerelle/internal/initiation"
	"passerelle/internal/notification"
	"passerelle/internal/store"
	"passerelle/payment"
)

func delayed() (hold fault, arrived chan struct{}, free func()) {
	arrived, freed := make(chan struct{}, 2*bankcall.MaxCallers), make(chan struct{})
	return func(ctx context.Context, o connector.Order, next exchange) (payment.Report, error) {
		arrived <- struct{}{}
		<-freed
		return next(ctx, o)
	}, arrived, sync.OnceFunc(func() { close(freed) })
}

func (w *fixture) notify(t *testing.T, d passerelle.Domain, id passerelle.PaymentID) {
	t.Helper()
	n := &notification.Notifications{DB: w.db, MAC: w.ring.MAC, Now: func() time.Time { return noon }, Sync: func() {}}
	address, err := url.Parse(n.OfPayment(d, id))
	must(t, err)
	must(t, n.Receive(t.Context(), d, address.Query().Get("state")))
}

// TestReportDuringACall: a bank sends a report during a call about the order. The service must ask
// the bank one more time, as soon as the call has ended.
func TestReportDuringACall(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		week := w.later(7 * 24 * time.Hour) // a payment of this age is checked only every few hours
		for name, call := range map[string]func(hold fault) (passerelle.PaymentID, func()){
			"order": func(hold fault) (passerelle.PaymentID, func()) {
				id := w.create(1)
				w.line.breaks(hold, nil)
				return id, func() { _, _ = w.Validate(t.Context(), week, id, validated()) }
			},
			"status": func(hold fault) (passerelle.PaymentID, func()) {
				id := w.sent(1).ID
				w.line.breaks(nil, hold)
				return id, func() { _, _ = w.RunDue(t.Context(), week) }
			},
			"cancellation": func(hold fault) (passerelle.PaymentID, func()) {
				p := w.steered("actn(redirect)/pdng:1000h/done")
				_, err := w.Return(t.Context(), w.domain, w.decide(p, "approve"), nil)
				must(t, err)
				w.line.interrupts(nil, hold)
				return p.ID, func() { _, _ = w.Cancel(t.Context(), week, p.ID, withdrawal) }
			},
		} {
			hold, arrived, free := delayed()
			id, do := call(hold)
			var calling sync.WaitGroup
			calling.Go(do)
			<-arrived
			w.line.breaks(nil, nil)
			w.line.interrupts(nil, nil)
			w.notify(t, week, id)
			w.notify(t, week, id)
			w.runDue(t, w.another(), week, initiation.Done{}) // the call is still running
			free()
			calling.Wait()
			if p := w.stored(id); p.State.Final() || (p.Detail == payment.Cancelling) != (name == "cancellation") {
				t.Fatalf("%s: the payment is %s, %q", name, p.State, p.Detail)
			}
			w.line.used()
			w.runDue(t, w.another(), week, one)
			w.runDue(t, w.another(), week, none)
			if calls := w.line.used(); calls != 1 {
				t.Errorf("%s: the bank is asked %d times", name, calls)
			}
			_, err := w.Simulate(t.Context(), week, id, initiation.SimulatedChange{State: payment.Rejected, Code: payment.Bug})
			must(t, err)
		}
	})
}

// TestReportAboutAnUnknownOutcome: the outcome of a call is unknown. For each notification from the
// bank, and for each return of the payer, the service must ask the bank once.
func TestReportAboutAnUnknownOutcome(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.sent(1)
		state := w.decide(p, "approve")
		lost := before(fails(errCut))
		w.line.breaks(nil, lost)
		w.line.interrupts(nil, lost)
		_, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
		must(t, err)
		for range 9 {
			w.leasesLapse()
			w.runDue(t, w.another(), w.domain, recovered)
		}
		w.runDue(t, w.another(), w.domain, none)
		for name, report := range map[string]func(){
			"a notification": func() { w.notify(t, w.domain, p.ID) },
			"a return": func() {
				_, err := w.Return(t.Context(), w.domain, state, url.Values{"code": {"back"}})
				must(t, err)
			},
		} {
			bank := &seen{}
			w.line.breaks(nil, func(ctx context.Context, o connector.Order, _ exchange) (payment.Report, error) {
				return bank.fault(ctx, o, func(context.Context, connector.Order) (payment.Report, error) { return payment.Report{}, errCut })
			})
			report()
			w.runDue(t, w.another(), w.domain, recovered)
			w.runDue(t, w.another(), w.domain, none)
			if len(bank.all) != 1 {
				t.Errorf("after %s the bank is asked %d times", name, len(bank.all))
			}
			w.line.breaks(nil, func(context.Context, connector.Order, exchange) (payment.Report, error) {
				report()
				return payment.Report{}, errCut
			})
			w.leasesLapse()
			w.runDue(t, w.another(), w.domain, recovered)
			w.line.breaks(nil, lost)
			w.runDue(t, w.another(), w.domain, recovered)
			w.runDue(t, w.another(), w.domain, none)
		}
	})
}

// TestReportDuringAQuestion: a report that arrives while one process asks the bank must not make
// another process ask.
func TestReportDuringAQuestion(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.sent(1)
		w.line.breaks(nil, before(fails(errCut)))
		w.line.interrupts(nil, before(fails(errCut)))
		_, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
		must(t, err)
		hold, arrived, free := delayed()
		defer free()
		w.line.breaks(nil, hold)
		w.leasesLapse()
		var asking sync.WaitGroup
		asking.Go(func() { w.runDue(t, w.another(), w.domain, recovered) })
		<-arrived
		w.notify(t, w.domain, p.ID)
		w.runDue(t, w.another(), w.domain, none)
		free()
		asking.Wait()
	})
}

// seen records the callback of each call to the bank.
type seen struct {
	mu  sync.Mutex
	all []string
}

func (s *seen) fault(ctx context.Context, o connector.Order, next exchange) (payment.Report, error) {
	s.mu.Lock()
	s.all = append(s.all, o.Callback.Encode())
	s.mu.Unlock()
	return next(ctx, o)
}

func (s *seen) want(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) != len(want) {
		t.Fatalf("the bank was asked with %q, want %q", s.all, want)
	}
	for i := range want {
		if s.all[i] != want[i] {
			t.Errorf("the bank was asked with %q, want %q", s.all, want)
		}
	}
}

// TestReturnDuringAnAttempt: a payer returns twice, with different codes, while an attempt is under
// way. After the attempt, another process must send the bank the last code, once.
func TestReturnDuringAnAttempt(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.sent(1)
		state := w.decide(p, "approve")
		hold, arrived, free := delayed()
		defer free()
		bank := &seen{}
		w.line.breaks(nil, bank.fault)
		w.line.interrupts(nil, func(ctx context.Context, o connector.Order, _ exchange) (payment.Report, error) {
			return hold(ctx, o, func(context.Context, connector.Order) (payment.Report, error) {
				return payment.Report{}, connector.ErrNotSent
			})
		})
		var cancelling sync.WaitGroup
		cancelling.Go(func() { _, _ = w.Cancel(t.Context(), w.domain, p.ID, withdrawal) })
		<-arrived
		for _, code := range []string{"first", "last"} {
			now, err := w.Return(t.Context(), w.domain, state, url.Values{"code": {code}})
			if err != nil || now.State != payment.Validating {
				t.Errorf("returned to %v, %v", now, err)
			}
		}
		bank.want(t)
		free()
		cancelling.Wait()
		w.wantAttempt(t, p.ID, "answered")
		w.runDue(t, w.another(), w.domain, initiation.Done{Checked: 1})
		bank.want(t, "code=last")
		w.wantState(t, p.ID, payment.Done)
		w.wantCallbacks(t, 0)
	})
}

// TestReturnToABusyBank: a payer returns with a code while too many callers wait for the bank. The
// code must reach the bank at the next check, which is due immediately.
func TestReturnToABusyBank(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.sent(1)
		state := w.decide(p, "approve")
		hold, arrived, free := held()
		defer free()
		var others []passerelle.PaymentID
		for range bankcall.MaxCallers {
			others = append(others, w.create(1))
		}
		w.line.breaks(before(hold), nil)
		var waiting sync.WaitGroup
		for _, id := range others {
			waiting.Go(func() { _, _ = w.Validate(t.Context(), w.domain, id, validated()) })
		}
		for range bankcall.MaxCallers {
			<-arrived
		}
		bank := &seen{}
		w.line.breaks(nil, bank.fault)
		now, err := w.Return(t.Context(), w.domain, state, url.Values{"code": {"kept"}})
		if err != nil || now.State != payment.Validating {
			t.Errorf("returned to %v, %v", now, err)
		}
		w.runDue(t, w.another(), w.domain, initiation.Done{Checked: 1})
		bank.want(t, "code=kept")
		w.wantState(t, p.ID, payment.Done)
		free()
		waiting.Wait()
	})
}

// TestReturnThatFails: when the first call after a payer's return fails, the next call gives the
// bank the payer's code again, unless the connector stored or returned a memory.
func TestReturnThatFails(t *testing.T) {
	cut := func(report payment.Report, save bool) fault {
		return func(ctx context.Context, o connector.Order, _ exchange) (payment.Report, error) {
			if save {
				o.Save(ctx, []byte("a token"))
			}
			return report, errCut
		}
	}
	for name, test := range map[string]struct {
		fails       fault
		kept        int64
		next        string
		still       int64
		afterSecond string
	}{
		"before the connector took it":     {cut(payment.Report{}, false), 1, "code=C", 0, ""},
		"after it, with a memory":          {cut(payment.Report{Memory: []byte("a code")}, false), 0, "", 0, ""},
		"after a memory during the call":   {cut(payment.Report{}, true), 0, "", 0, ""},
		"nothing was sent":                 {before(fails(connector.ErrNotSent)), 1, "code=C", 1, "code=C"},
		"the connector does not come back": {before(panics), 1, "code=C", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				p := w.sent(1)
				state := w.decide(p, "approve")
				w.line.breaks(nil, test.fails)
				now, err := w.Return(t.Context(), w.domain, state, url.Values{"code": {"C"}})
				if err != nil || now.State != payment.Validating {
					t.Errorf("returned to %v, %v", now, err)
				}
				w.wantCallbacks(t, test.kept)
				again := &seen{}
				w.line.breaks(nil, func(ctx context.Context, o connector.Order, next exchange) (payment.Report, error) {
					return again.fault(ctx, o, func(ctx context.Context, o connector.Order) (payment.Report, error) { return test.fails(ctx, o, next) })
				})
				w.runDue(t, w.another(), w.later(time.Minute), one)
				w.wantCallbacks(t, test.still)
				w.line.breaks(nil, again.fault)
				w.runDue(t, w.another(), w.later(time.Hour), one)
				again.want(t, test.next, test.afterSecond)
				w.wantCallbacks(t, 0)
				w.wantState(t, p.ID, payment.Done)
			})
		})
	}
}

// TestReturnThatFailsDuringAChange: a connector uses the query with which a payer returned, another
// act changes the payment, and then the call fails. The query must not be stored again.
func TestReturnThatFailsDuringAChange(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.sent(1)
		state := w.decide(p, "approve")
		w.line.breaks(nil, func(ctx context.Context, o connector.Order, _ exchange) (payment.Report, error) {
			o.Save(ctx, []byte("a token"))
			_, err := w.another().Simulate(ctx, w.domain, p.ID, initiation.SimulatedChange{State: payment.Pending})
			must(t, err)
			return payment.Report{Memory: []byte("another token")}, errCut
		})
		_, err := w.Return(t.Context(), w.domain, state, url.Values{"code": {"C"}})
		if err != nil && !errors.Is(err, store.ErrConflict) {
			t.Error(err)
		}
		w.wantCallbacks(t, 0)
		w.wantState(t, p.ID, payment.Pending)
	})
}

// TestReturnDuringAnotherMemory: a connector uses the query with which a payer returned, while
// another act stores a memory. The connector's memory is then not stored, so the query must be
// kept.
func TestReturnDuringAnotherMemory(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.sent(1)
		state := w.decide(p, "approve")
		w.line.breaks(nil, func(ctx context.Context, o connector.Order, _ exchange) (payment.Report, error) {
			other := w.another()
			_, err := other.Simulate(ctx, w.domain, p.ID, initiation.SimulatedChange{State: payment.Pending})
			must(t, err)
			a, err := other.DB.Attempt(ctx, w.domain.ID, p.ID)
			must(t, err)
			must(t, other.DB.Write(ctx, func(tx *store.Tx) error { return tx.RememberOrder(a, []byte("another memory")) }))
			return payment.Report{Status: payment.Awaiting, Memory: []byte("the code")}, nil
		})
		_, err := w.Return(t.Context(), w.domain, state, url.Values{"code": {"C"}})
		must(t, err)
		w.wantCallbacks(t, 1)
		again := &seen{}
		w.line.breaks(nil, again.fault)
		w.runDue(t, w.another(), w.later(time.Minute), one)
		again.want(t, "code=C")
		w.wantCallbacks(t, 0)
	})
}

func (w *fixture) wantCallbacks(t *testing.T, want int64) {
	t.Helper()
	if got := column[int64](w, `SELECT count(*) FROM attempt WHERE callback IS NOT NULL`)[0]; got != want {
		t.Errorf("%d queries are stored, want %d", got, want)
	}
}

func (w *fixture) keepCallback(id passerelle.PaymentID, query string) {
	w.t.Helper()
	a, err := w.db.Attempt(w.t.Context(), w.domain.ID, id)
	must(w.t, err)
	must(w.t, w.db.Write(w.t.Context(), func(tx *store.Tx) error { return tx.KeepCallback(a, []byte(query)) }))
}

// TestCallbacksEndWithThePayment checks that the end of a payment removes the query with which the
// payer returned. No query may be stored after that.
func TestCallbacksEndWithThePayment(t *testing.T) {
	month := 31 * 24 * time.Hour
	for name, end := range map[string]func(w *fixture, p passerelle.PaymentID) error{
		"settled": func(w *fixture, p passerelle.PaymentID) error {
			_, err := w.settle(p, payment.Done)
			return err
		},
		"reported": func(w *fixture, p passerelle.PaymentID) error {
			w.line.breaks(nil, func(context.Context, connector.Order, exchange) (payment.Report, error) {
				w.keepCallback(p, "code=during the call")
				return payment.Report{Status: payment.Settled, Raw: "executed"}, nil
			})
			w.notify(w.t, w.domain, p)
			_, err := w.RunDue(w.t.Context(), w.later(time.Hour))
			return err
		},
		"expired": func(w *fixture, _ passerelle.PaymentID) error {
			_, err := w.RunDue(w.t.Context(), w.later(month))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				var back string
				id := w.lostAt(func(_ context.Context, o connector.Order, _ exchange) (payment.Report, error) {
					back = o.ReturnURL
					return payment.Report{}, errCut
				})
				address, err := url.Parse(back)
				must(t, err)
				_, err = w.Return(t.Context(), w.domain, address.Query().Get("state"), url.Values{"code": {"C"}})
				must(t, err)
				w.wantCallbacks(t, 1)
				must(t, end(w, id))
				if p := w.stored(id); !p.State.Final() {
					t.Errorf("the payment is %s", p.State)
				}
				w.wantCallbacks(t, 0)
				w.keepCallback(id, "code=late")
				w.wantCallbacks(t, 0)
				w.leasesLapse()
				_, err = w.RunDue(t.Context(), w.later(month))
				must(t, err)
			})
		})
	}
}
