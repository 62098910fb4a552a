package store

import (
	"testing"
	"time"

	"passerelle/payment"
)

func TestOverviewOfPayments(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		none, err := s.db.PaymentStates(t.Context(), s.domain, now)
		if err != nil || none != nil {
			t.Errorf("states %+v, %v of no payments", none, err)
		}
		open, err := s.db.OldestOpen(t.Context(), s.domain)
		wantNotFound(t, open, err)
		old := s.create(draft(1), now.Add(-48*time.Hour))
		s.create(draft(1), now)
		for range 2 {
			p := s.create(draft(1), now)
			steps, err := p.Refuse(&payment.Refusal{Code: payment.CancelledByClient}, payment.Cause{Actor: payment.ByClient}, now)
			if err != nil {
				t.Fatal(err)
			}
			s.write(func(tx *Tx) error { return tx.UpdatePayment(p, transitions(steps), nil) })
		}
		states, err := s.db.PaymentStates(t.Context(), s.domain, now.Add(-24*time.Hour))
		wantSame(t, []StateCount{{payment.Created, 1}, {payment.Rejected, 2}}, states, err)
		rejections, err := s.db.Rejections(t.Context(), s.domain, now.Add(-24*time.Hour), 5)
		wantSame(t, []Rejection{{payment.CancelledByClient, "", 2}}, rejections, err)
		open, err = s.db.OldestOpen(t.Context(), s.domain)
		wantSame(t, OpenPayment{old.ID, payment.Created, old.Created}, open, err)
		foreign, err := s.db.OldestOpen(t.Context(), s.other)
		wantNotFound(t, foreign, err)
		troubles, err := s.db.Troubles(t.Context(), s.domain)
		wantSame(t, []Trouble(nil), troubles, err)
		health, err := s.db.DomainHealth(t.Context(), s.domain, now)
		wantSame(t, Health{}, health, err)
	})
}
