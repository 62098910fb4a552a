package initiation_test

import (
	"runtime"
	"testing"
	"time"

	"passerelle/internal/initiation"
	"passerelle/payment"
)

// crashPoints contains the places of a crash in a call about an existing order.
var crashPoints = []struct {
	name    string
	dies    func(w *fixture, i *initiation.Initiation)
	attempt string
	calls   int
}{
	{"before the bank", func(w *fixture, _ *initiation.Initiation) { w.line.interrupts(before(dies), before(dies)) }, "open", 0},
	{"after the bank", func(w *fixture, _ *initiation.Initiation) { w.line.interrupts(after(dies), after(dies)) }, "open", 1},
	{"after the second write", func(_ *fixture, i *initiation.Initiation) { i.Wake = runtime.Goexit }, "answered", 1},
}

// doomed returns a process that will crash. Its leases lapse immediately.
func (w *fixture) doomed(dies func(*fixture, *initiation.Initiation)) *initiation.Initiation {
	w.t.Helper()
	i := w.another()
	i.Lease = lapsed
	dies(w, i)
	return i
}

// TestCrashInAnAnswer checks that a second process finds the outcome, and that the answer is never
// sent twice.
func TestCrashInAnAnswer(t *testing.T) {
	for _, point := range crashPoints {
		for _, yes := range []bool{true, false} {
			t.Run(point.name+map[bool]string{true: ", yes", false: ", no"}[yes], func(t *testing.T) {
				onEach(t, func(t *testing.T, w *fixture) {
					p := w.steered("actn(psu)/done")
					doomed := w.doomed(point.dies)
					if survives(func() { _, _ = doomed.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, approved(yes)) }) {
						t.Fatal("the process lives")
					}
					w.wantAttempt(t, p.ID, point.attempt)
					w.wantBankCalls(t, point.calls, 0)
					w.line.interrupts(nil, nil)
					w.recoverAttempt(t, p, point.attempt)
					w.wantBankCalls(t, point.calls, 0)
					if yes && point.calls == 0 {
						_, err := w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, approved(yes))
						must(t, err)
						w.wantBankCalls(t, 1, 0)
					}
					want := map[bool]payment.State{true: payment.Done, false: payment.Rejected}[yes]
					w.wantState(t, p.ID, want)
					w.wantSubmissions(t, p.ID, 1)
				})
			})
		}
	}
}

func (w *fixture) recoverAttempt(t *testing.T, p *payment.Payment, attempt string) {
	t.Helper()
	want := none
	if attempt == "open" {
		want = recovered
	}
	next := w.another()
	w.runDue(t, next, w.domain, want)
	w.runDue(t, next, w.domain, none)
	w.wantAttempt(t, p.ID, "answered")
}

// TestCrashInACancellation checks that a cancellation can be repeated if the bank never received
// it.
func TestCrashInACancellation(t *testing.T) {
	for _, point := range crashPoints {
		for _, bank := range []string{"", "Sandbox Quick Cancellation"} {
			point := point
			if point.name == "after the second write" && bank == "" {
				point.dies = nil // a cancellation that awaits the payer emits no event and wakes no sender
			}
			t.Run(point.name+bank, func(t *testing.T) {
				onEach(t, func(t *testing.T, w *fixture) {
					if bank != "" {
						w.through(bank)
					}
					p := w.onItsWay()
					if point.dies != nil {
						doomed := w.doomed(point.dies)
						if survives(func() { _, _ = doomed.Cancel(t.Context(), w.domain, p.ID, withdrawal) }) {
							t.Fatal("the process lives")
						}
						w.wantAttempt(t, p.ID, point.attempt)
						w.wantBankCalls(t, 0, point.calls)
						w.line.interrupts(nil, nil)
						w.recoverAttempt(t, p, point.attempt)
						w.wantBankCalls(t, 0, point.calls)
					}
					w.cancelToTheEnd(t, p)
				})
			})
		}
	}
}

func (w *fixture) cancelToTheEnd(t *testing.T, p *payment.Payment) {
	t.Helper()
	if now := w.stored(p.ID); now.State == payment.Pending && now.Detail == "" {
		_, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
		must(t, err)
	}
	if now := w.stored(p.ID); now.Detail == payment.Cancelling {
		_, err := w.Return(t.Context(), w.domain, w.decide(now, "cancel"), nil)
		must(t, err)
	}
	if now := w.stored(p.ID); now.State != payment.Rejected || now.ErrorCode != payment.CancelledByClient {
		t.Errorf("the payment is %s with %q", now.State, now.ErrorCode)
	}
	w.wantBankCalls(t, 0, 1)
	w.wantSubmissions(t, p.ID, 1)
}

// TestCrashWhileAnAnswerIsRecovered kills the process that recovers an answer, and then its
// successor.
func TestCrashWhileAnAnswerIsRecovered(t *testing.T) {
	for name, point := range map[string]fault{"before the bank": before(dies), "after the bank": after(dies)} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				p := w.steered("actn(psu)/done")
				w.line.interrupts(after(fails(errCut)), nil)
				w.Lease = lapsed
				_, err := w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, approved(true))
				must(t, err)
				w.line.breaks(nil, point)
				for range 2 {
					w.runDue(t, w.Initiation, w.domain, recovered)
					w.wantAttempt(t, p.ID, "unknown")
				}
				w.line.breaks(nil, nil)
				w.runDue(t, w.another(), w.domain, recovered)
				w.wantState(t, p.ID, payment.Done)
				w.wantBankCalls(t, 1, 0)
			})
		})
	}
}

// TestSealedFieldsPostponeTheAttempt corrupts the stored values of orders. The service must wait
// before it tries again.
func TestSealedFieldsPostponeTheAttempt(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		w.line.breaks(before(fails(errCut)), nil)
		id := w.create(1)
		_, err := w.Validate(t.Context(), w.domain, id, validated())
		must(t, err)
		w.line.breaks(nil, nil)
		followed := w.sent(1)
		w.execute(`UPDATE attempt SET fields = (SELECT secret_hash FROM client LIMIT 1)`)
		w.leasesLapse()
		w.line.used()
		w.runDue(t, w.Initiation, w.later(time.Minute), initiation.Done{Checked: 1, Recovered: 1})
		w.wantLogged(t, "does not open")
		w.wantState(t, followed.ID, payment.Validating)
		for range 3 {
			w.runDue(t, w.Initiation, w.later(time.Minute), none)
		}
		until := column[int64](w, `SELECT lease_until FROM attempt WHERE payment_id = $1`, int64(id))[0]
		state := column[string](w, `SELECT state FROM attempt WHERE payment_id = $1`, int64(id))[0]
		if wait := time.Until(time.UnixMicro(until)); wait < 10*time.Second || state != "unknown" || w.line.used() != 0 {
			t.Errorf("the attempt is %s and looked at again in %v", state, wait)
		}
	})
}
