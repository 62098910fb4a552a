package initiation_test

import (
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/initiation"
	"passerelle/internal/settings"
	"passerelle/payment"
)

const day = 24 * time.Hour

var lapse = initiation.Done{Expired: 1}

// TestExpiry checks that payments of several kinds expire once the allowed time has passed, and not
// a microsecond earlier.
func TestExpiry(t *testing.T) {
	deferred := func(d *payment.Draft) {
		in := &d.Instructions[0]
		in.DateType = payment.Deferred
		in.ExecutionDate, _ = passerelle.ParseDate("execution_date", "2026-12-24")
	}
	instant := func(d *payment.Draft) { d.Instructions[0].DateType = payment.Instant }
	midnight := time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name, days string
		validated  bool
		approved   bool
		kind       func(*payment.Draft)
		after      time.Duration
	}{
		{name: "created", days: "30", after: 30 * day},
		{name: "created, in a domain that waits less", days: "2", after: 2 * day},
		{name: "validated", days: "30", validated: true, kind: instant, after: 30 * day},
		{name: "deferred", days: "30", validated: true, kind: deferred, after: midnight.Sub(noon) + 30*day},
		{name: "deferred and approved", days: "30", validated: true, approved: true, kind: deferred, after: midnight.Sub(noon) + 30*day},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				w.set(settings.ExpireDays, test.days)
				w.line.breaks(nil, before(fails(errCut)))
				id := w.expiring(test.validated, test.kind)
				if test.approved {
					w.line.breaks(nil, answers(payment.Report{Status: payment.Processing}))
					_, err := w.Return(t.Context(), w.domain, w.decide(w.stored(id), "approve"), nil)
					must(t, err)
					w.wantState(t, id, payment.Pending)
				}
				w.quiet()
				w.runDue(t, w.Initiation, w.later(test.after-time.Microsecond), none)
				w.runDue(t, w.Initiation, w.later(test.after), lapse)
				w.wantState(t, id, payment.Expired)
				w.wantCause(t, id, payment.Cause{Trigger: payment.Lapsed, Actor: payment.ByService})
				w.runDue(t, w.Initiation, w.later(2*test.after), none)
				events := w.eventSummaries(id)
				if last := events[len(events)-1]; last.State != payment.Expired || last.Action != "" {
					t.Errorf("receivers are told %+v", last)
				}
			})
		})
	}
}

func (w *fixture) expiring(validated bool, kind func(*payment.Draft)) passerelle.PaymentID {
	if kind == nil {
		kind = func(*payment.Draft) {}
	}
	if validated {
		return w.steered("actn(redirect)/done", kind).ID
	}
	p, err := w.Create(w.t.Context(), w.domain, initiation.Creation{By: w.client.ID, Draft: draft(1, kind)})
	must(w.t, err)
	return p.ID
}

// quiet stops the loop from asking banks.
func (w *fixture) quiet() { w.execute(`UPDATE payment SET next_check = NULL`) }

func TestNothingExpires(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		w.set(settings.ExpireDays, "0")
		id := w.create(1)
		w.runDue(t, w.Initiation, w.later(10000*day), none)
		w.wantState(t, id, payment.Created)
	})
}

// TestExpirySkipsOpenAttempts checks that a payment does not expire while an attempt is open,
// because the bank may be responding. In a live domain, it also does not expire while the service
// may send the order again.
func TestExpirySkipsOpenAttempts(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		id := w.create(1)
		w.line.breaks(before(dies), before(fails(errCut)))
		survives(func() { _, _ = w.Validate(t.Context(), w.domain, id, validated()) })
		w.wantAttempt(t, id, "open")
		w.runDue(t, w.Initiation, w.later(31*day), none)
		w.wantState(t, id, payment.Created)
		w.leasesLapse()
		w.runDue(t, w.Initiation, w.domain, recovered)
		w.wantAttempt(t, id, "unknown")
		live := w.later(31 * day)
		live.Kind = passerelle.Live
		w.runDue(t, w.Initiation, live, lapse)
		w.wantState(t, id, payment.Created)
		w.execute(`UPDATE attempt SET sent = sent - 3600000000`)
		w.execute(`UPDATE payment SET check_lease = 0`)
		w.runDue(t, w.Initiation, live, lapse)
		w.wantState(t, id, payment.Expired)
		w.leasesLapse()
		w.runDue(t, w.Initiation, w.later(31*day), recovered)
		w.wantAttempt(t, id, "answered")
	})
}

func TestManyExpire(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		for range 40 {
			w.create(1)
		}
		w.runDue(t, w.Initiation, w.later(31*day), initiation.Done{Expired: 32})
		w.runDue(t, w.Initiation, w.later(31*day), initiation.Done{Expired: 8})
		w.runDue(t, w.Initiation, w.later(31*day), none)
	})
}

// TestLastCheckBeforeExpiry: the bank executed payments during an outage of the service. Each
// payment must end as done, although one pass checks only some of them.
func TestLastCheckBeforeExpiry(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		var all []passerelle.PaymentID
		for range 34 {
			p := w.steered("actn(redirect)/done", func(d *payment.Draft) { d.Instructions[0].DateType = payment.Instant })
			w.decide(w.stored(p.ID), "approve")
			all = append(all, p.ID)
		}
		w.runDue(t, w.Initiation, w.later(31*day), initiation.Done{Checked: 32})
		w.runDue(t, w.Initiation, w.later(31*day), initiation.Done{Checked: 2})
		w.runDue(t, w.Initiation, w.later(31*day), none)
		for _, id := range all {
			w.wantState(t, id, payment.Done)
		}
	})
}
