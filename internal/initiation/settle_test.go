package initiation_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/initiation"
	"passerelle/internal/store"
	"passerelle/payment"
)

// lostAt returns a payment with an unknown outcome, at a bank that does not recognise an order's
// key.
func (w *fixture) lostAt(cut fault) passerelle.PaymentID {
	w.t.Helper()
	w.line.tune(func(p *connector.Profile) { p.Idempotent = false })
	id := w.create(2)
	w.line.breaks(cut, nil)
	_, err := w.Validate(w.t.Context(), w.domain, id, validated())
	must(w.t, err)
	w.line.breaks(nil, nil)
	w.wantAttempt(w.t, id, store.AttemptUnknown)
	return id
}

func (w *fixture) settle(id passerelle.PaymentID, state payment.State) (*payment.Payment, error) {
	entry := store.Audit{Domain: w.domain.ID, At: noon, Act: "settle", Subject: "payment", SubjectID: int64(id)}
	return w.Settle(w.t.Context(), w.domain, id, initiation.Settlement{State: state, Reason: "The bank's desk says so."}, entry)
}

func TestSettlements(t *testing.T) {
	for state, want := range map[payment.State][]eventSummary{
		payment.Done: {
			{Version: 1, State: payment.Validating, Lines: "pending pending"},
			{Version: 2, State: payment.Pending, Lines: "pending pending"},
			{Version: 3, State: payment.Done, Lines: "done done"},
		},
		payment.Accepted: {
			{Version: 1, State: payment.Validating, Lines: "pending pending"},
			{Version: 2, State: payment.Pending, Lines: "pending pending"},
			{Version: 3, State: payment.Accepted, Lines: "accepted accepted"},
		},
		payment.Rejected: {{Version: 1, State: payment.Rejected, ErrorCode: string(payment.WebsiteUnavailable), Lines: "rejected rejected"}},
	} {
		t.Run(string(state), func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				id := w.lostAt(before(fails(errCut)))
				p, err := w.settle(id, state)
				must(t, err)
				if diff := unlike(w.stored(id), p); diff != "" || p.State != state {
					t.Errorf("the payment is %s\n%s", p.State, diff)
				}
				w.wantEvents(t, id, want...)
				w.wantNotes(t, id, "outcomeUnknown service", "settled service")
				w.wantAttempt(t, id, store.AttemptAnswered)
				if acts := column[int64](w, `SELECT count(*) FROM audit WHERE act = 'settle'`)[0]; acts != 1 {
					t.Errorf("the audit log has %d entries", acts)
				}
				w.leasesLapse()
				w.runDue(t, w.another(), w.later(time.Hour), none)
				rows := w.rows()
				_, err = w.settle(id, state)
				w.wantRefusal(t, err, rows, passerelle.Conflict, "")
			})
		})
	}
}

// TestRefusedSettlements checks that Settle refuses invalid requests, and payments whose outcome
// the service knows or may still find out.
func TestRefusedSettlements(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		id := w.lostAt(before(fails(errCut)))
		rows := w.rows()
		_, err := w.Settle(t.Context(), w.domain, id, initiation.Settlement{State: payment.Done})
		w.wantRefusal(t, err, rows, passerelle.Invalid, "reason")
		_, err = w.Settle(t.Context(), w.domain, id, initiation.Settlement{State: payment.Expired, Reason: "Why."})
		w.wantRefusal(t, err, rows, passerelle.Invalid, "state")
		w.line.breaks(nil, before(fails(errCut)))
		_, err = w.settle(id, payment.Done)
		w.wantRefusal(t, err, rows, passerelle.Unavailable, "")
		w.line.breaks(nil, nil)
		w.line.tune(func(p *connector.Profile) { p.Idempotent = true })
		_, err = w.settle(id, payment.Done)
		w.wantRefusal(t, err, rows, passerelle.Conflict, "", "may still send")
		_, err = w.settle(w.sent(1).ID, payment.Done)
		w.wantRefusal(t, err, w.rows(), passerelle.Conflict, "")
	})
}

// TestSettledAgainstTheBank checks that Settle fails when the bank knows the order. The payment
// must follow the bank's response.
func TestSettledAgainstTheBank(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		id := w.lostAt(after(fails(errCut)))
		if _, err := w.settle(id, payment.Rejected); err == nil {
			t.Error("the bank's answer does not count")
		}
		w.wantState(t, id, payment.Validating)
		w.wantNotes(t, id, "outcomeUnknown service")
	})
}

// TestSettledMeanwhile checks that Settle fails if another call settles the payment while Settle
// asks the bank.
func TestSettledMeanwhile(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		id := w.lostAt(before(fails(errCut)))
		w.line.breaks(nil, before(func(context.Context) error {
			w.line.breaks(nil, nil)
			_, err := w.settle(id, payment.Rejected)
			must(t, err)
			return connector.ErrUnknownOrder
		}))
		if _, err := w.settle(id, payment.Done); err == nil {
			t.Error("a payment is settled twice")
		}
		w.wantState(t, id, payment.Rejected)
	})
}

// TestUnreadableAccountNumbers checks that nothing panics when the account numbers of a payment
// cannot be decrypted.
func TestUnreadableAccountNumbers(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		_, err := w.db.SealAccountNumbers(t.Context(), 10, func(int64) {})
		must(t, err)
		p := w.sent(1)
		state := w.decide(p, "approve")
		w.execute(`UPDATE payment SET beneficiary_numbers = substr(beneficiary_numbers, 1, 20)`)
		acts := map[string]func() error{
			"return": func() error { _, err := w.Return(t.Context(), w.domain, state, nil); return err },
			"settle": func() error { _, err := w.settle(p.ID, payment.Done); return err },
		}
		for name, act := range acts {
			if err := act(); err == nil {
				t.Errorf("%s succeeds", name)
			}
		}
		w.runDue(t, w.Initiation, w.later(time.Hour), one)
		if states := column[string](w, `SELECT state FROM payment`); !slices.Equal(states, []string{"validating"}) {
			t.Errorf("the payments are %v", states)
		}
	})
}
