package store_test

import (
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/payment"
)

func TestOverviewOfPayments(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		none, err := s.db.Volumes(t.Context(), s.domain, time.Hour, now)
		if err != nil || none != nil {
			t.Errorf("volumes %+v, %v of no payments", none, err)
		}
		open, found, err := s.db.OldestIn(t.Context(), s.domain, payment.Created)
		if found || err != nil {
			t.Errorf("the oldest of none is %+v, %v", open, err)
		}
		old := s.create(draft(1), now.Add(-48*time.Hour))
		s.create(draft(1), now)
		for range 2 {
			p := s.create(draft(1), now)
			steps, err := p.Refuse(&payment.Refusal{Code: payment.CancelledByClient}, payment.Cause{Actor: payment.ByClient}, now)
			if err != nil {
				t.Fatal(err)
			}
			s.write(func(tx *store.Tx) error { return tx.UpdatePayment(p, transitions(steps), nil) })
		}
		hour := now.Unix() / 3600
		volumes, err := s.db.Volumes(t.Context(), s.domain, time.Hour, now.Add(-24*time.Hour))
		wantSame(t, []store.Volume{
			{Period: hour, State: payment.Created, Currency: "EUR", Count: 1, Amount: 1}, {Period: hour, State: payment.Rejected, Code: payment.CancelledByClient, Currency: "EUR", Count: 2, Amount: 2},
		}, volumes, err)
		open, found, err = s.db.OldestIn(t.Context(), s.domain, payment.Created)
		wantSame(t, store.OpenPayment{old.ID, payment.Created, old.Created}, open, err)
		if _, foreign, err := s.db.OldestIn(t.Context(), s.other, payment.Created); !found || foreign || err != nil {
			t.Errorf("found %t, in the other domain %t, %v", found, foreign, err)
		}
		paris, err := time.LoadLocation("Europe/Paris")
		if err != nil {
			t.Fatal(err)
		}
		days, err := s.db.Volumes(t.Context(), s.domain, 24*time.Hour, now.Add(-24*time.Hour).In(paris))
		_, offset := now.In(paris).Zone()
		wantSame(t, (now.Unix()+int64(offset))/86400, days[0].Period, err)
		queues, err := s.db.Queues(t.Context(), s.domain, payment.Created)
		wantSame(t, []store.Queue{{First: old.ID, Since: old.Created}}, queues, err)
		count, err := s.db.CountUnknownOutcomes(t.Context(), s.domain)
		wantSame(t, int64(0), count, err)
		unknown, err := s.db.UnknownOutcomes(t.Context(), s.domain, 5)
		wantSame(t, []passerelle.PaymentID(nil), unknown, err)
		troubles, err := bankstore.From(s.db).Troubles(t.Context(), s.domain)
		wantSame(t, []bankstore.Trouble(nil), troubles, err)
		health, err := s.db.DomainHealth(t.Context(), s.domain, now)
		wantSame(t, store.Health{}, health, err)
	})
}
