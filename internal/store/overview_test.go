package store_test

import (
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/payment"
)

// Connections with errors are listed newest first, for all or for one state or connector, with
// pages in both directions.
func TestConnectionsInTrouble(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		var ids []passerelle.ConnectionID
		add := func(domain passerelle.DomainID, connector string, state passerelle.ConnectionState) {
			c := bankstore.Connection{Domain: domain, User: 7, Connector: connector, Created: now, Active: true, State: state}
			s.write(func(tx *store.Tx) error { return bankstore.In(tx).CreateConnection(&c, nil, reader, time.Minute) })
			ids = append(ids, c.ID)
		}
		add(s.domain, "c1", passerelle.Wrongpass)
		add(s.domain, "c2", passerelle.Bug)
		add(s.domain, "c1", "")
		add(s.domain, "c1", passerelle.Bug)
		add(s.other, "c1", passerelle.Bug)
		add(s.domain, "c2", passerelle.Wrongpass)
		add(s.domain, "c1", passerelle.Bug)
		s.write(func(tx *store.Tx) error { bankstore.In(tx).DeleteConnection(s.domain, 7, ids[6], now); return nil })
		want := func(f bankstore.TroubleFilter, w store.Window, places ...int) {
			t.Helper()
			f.Domain, w.Descending = s.domain, true
			got, err := bankstore.From(s.db).ConnectionsInTrouble(t.Context(), f, w)
			var found, expected []passerelle.ConnectionID
			for _, c := range got {
				found = append(found, c.ID)
			}
			for _, place := range places {
				expected = append(expected, ids[place])
			}
			wantSame(t, expected, found, err)
		}
		want(bankstore.TroubleFilter{}, store.Window{Limit: 9}, 5, 3, 1, 0)
		want(bankstore.TroubleFilter{}, store.Window{Limit: 2}, 5, 3)
		want(bankstore.TroubleFilter{}, store.Window{Limit: 2, From: []any{int64(ids[3])}}, 1, 0)
		want(bankstore.TroubleFilter{}, store.Window{Limit: 2, Backward: true, From: []any{int64(ids[0])}}, 1, 3)
		want(bankstore.TroubleFilter{State: passerelle.Bug}, store.Window{Limit: 9}, 3, 1)
		want(bankstore.TroubleFilter{Connector: "c1"}, store.Window{Limit: 9}, 3, 0)
		want(bankstore.TroubleFilter{State: passerelle.Wrongpass, Connector: "c2"}, store.Window{Limit: 9}, 5)
		want(bankstore.TroubleFilter{State: passerelle.Decoupled}, store.Window{Limit: 9})
	})
}

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
		unknown, err := s.db.UnknownOutcomes(t.Context(), s.domain, 5)
		wantSame(t, []passerelle.PaymentID(nil), unknown, err)
		troubles, err := bankstore.From(s.db).Troubles(t.Context(), s.domain)
		wantSame(t, []bankstore.Trouble(nil), troubles, err)
		health, err := s.db.DomainHealth(t.Context(), s.domain, now)
		wantSame(t, store.Health{}, health, err)
	})
}
