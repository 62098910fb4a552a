package initiation_test

import (
	"errors"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/initiation"
	"passerelle/payment"
)

// older returns the domain with a creation date before systematicSince. When a payer is redirected
// to the client's callback, such a domain drops the held-back deliveries about the reported state
// and about earlier states.
func (w *fixture) older() passerelle.Domain {
	d := w.domain
	d.Created = time.Date(2024, 9, 12, 0, 0, 0, 0, time.UTC)
	return d
}

// wantHeld checks that a payment's deliveries up to a version were dropped, and that later
// deliveries were neither dropped nor held back.
func (w *fixture) wantHeld(t *testing.T, p *payment.Payment, version int64) {
	t.Helper()
	const from = `SELECT count(*) FROM delivery WHERE subject = 'payment' AND subject_id = $1 AND `
	reported := column[int64](w, from+`version <= $2 AND dropped IS NULL`, int64(p.ID), version)[0]
	lost := column[int64](w, from+`version > $2 AND (dropped IS NOT NULL OR not_before > 0)`, int64(p.ID), version)[0]
	if reported != 0 || lost != 0 {
		t.Errorf("of payment %d, returned at version %d: %d known changes are still to be told, %d others are not told or late", p.ID, version, reported, lost)
	}
}

// TestReturnWithStaleReport: a payment changes after the payer's page was rendered. The redirect
// must report the stored state, and the return must be recorded once.
func TestReturnWithStaleReport(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		d := w.older()
		for _, rendered := range []payment.State{payment.Created, payment.Validating} {
			id := w.create(1)
			var stale *payment.Payment
			for _, state := range []payment.State{payment.Validating, payment.Pending} {
				if p := w.stored(id); p.State == rendered {
					stale = p
				}
				_, err := w.Simulate(t.Context(), d, id, initiation.SimulatedChange{State: state})
				must(t, err)
			}
			p := w.Returned(t.Context(), d, stale)
			if diff := unlike(w.stored(id), p); diff != "" || p.State != payment.Pending || p.Returned == nil || !p.Returned.Equal(noon) {
				t.Errorf("the payer returns with %s at %v\n%s", p.State, p.Returned, diff)
			}
			w.wantHeld(t, p, 2)
			rows := w.rows()
			again := w.Returned(t.Context(), d, p)
			w.wantRows(t, rows)
			if diff := unlike(p, again); diff != "" {
				t.Errorf("the second return changes the payment:\n%s", diff)
			}
			_, err := w.Simulate(t.Context(), d, id, initiation.SimulatedChange{State: payment.Done})
			must(t, err)
			w.wantHeld(t, p, 2)
		}
	})
}

// TestReturnBeforePaying: a payer leaves, comes back and pays. The second redirect reports the state
// after the payment, so the deliveries about this state must be dropped.
func TestReturnBeforePaying(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		d, id := w.older(), w.create(1)
		rows := w.rows()
		if p := w.Returned(t.Context(), d, w.stored(id)); p.Returned != nil || p.State != payment.Created {
			t.Errorf("the payer leaves with %s at %v", p.State, p.Returned)
		}
		w.wantRows(t, rows)
		for _, state := range []payment.State{payment.Validating, payment.Pending} {
			_, err := w.Simulate(t.Context(), d, id, initiation.SimulatedChange{State: state})
			must(t, err)
		}
		w.wantHeld(t, w.Returned(t.Context(), d, w.stored(id)), 2)
		if reported := column[int64](w, `SELECT count(*) FROM delivery WHERE dropped IS NULL`); reported[0] != 0 {
			t.Errorf("%d deliveries repeat what the redirect reported", reported[0])
		}
	})
}

// TestReturnToANewerDomain checks that Returned writes nothing in a domain that delivers every
// event.
func TestReturnToANewerDomain(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.stored(w.standing(payment.Pending))
		rows := w.rows()
		if back := w.Returned(t.Context(), w.domain, p); unlike(p, back) != "" {
			t.Errorf("the payment is %+v", back)
		}
		w.wantRows(t, rows)
	})
}

// TestReturnDuringAChange changes a payment while its payer returns. Either the redirect must
// report the change, or receivers must get the change immediately.
func TestReturnDuringAChange(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		d := w.older()
		for range 20 {
			id := w.create(1)
			_, err := w.Simulate(t.Context(), d, id, initiation.SimulatedChange{State: payment.Validating})
			must(t, err)
			shown, other := w.stored(id), w.another()
			var carried *payment.Payment
			together(
				func() { carried = w.Returned(t.Context(), d, shown) },
				func() {
					err := error(passerelle.Conflict)
					for errors.Is(err, passerelle.Conflict) {
						_, err = other.Simulate(t.Context(), d, id, initiation.SimulatedChange{State: payment.Pending})
					}
					if err != nil {
						t.Error(err)
					}
				},
			)
			if carried.Returned == nil || w.stored(id).State != payment.Pending {
				t.Errorf("the payer returned at %v with %s", carried.Returned, carried.State)
			}
			w.wantHeld(t, carried, carried.Seq)
		}
	})
}
