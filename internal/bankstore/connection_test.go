package bankstore_test

import (
	"errors"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/bankstore/bankstoretest"
	"passerelle/internal/store"
)

func TestConnections(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h := newUserAccounts(t, s)
		c := h.Connection
		values, memory, err := bankstore.From(s.db).ConnectionSecrets(t.Context(), s.domain, c.ID)
		if err != nil || values["password"] != "secret" || memory != nil {
			t.Fatalf("%v %q (%v)", values, memory, err)
		}
		s.write(func(tx *store.Tx) error { return bankstore.In(tx).SetConnectionMemory(c, []byte("token"), false) })
		if _, memory, err = bankstore.From(s.db).ConnectionSecrets(t.Context(), s.domain, c.ID); err != nil || string(memory) != "token" {
			t.Errorf("memory %q (%v)", memory, err)
		}
		wantError(t, s.try(func(tx *store.Tx) error {
			bankstore.In(tx).LeaseConnection(s.domain, c.ID, "other", time.Minute)
			return nil
		}), store.ErrConflict)
		s.write(func(tx *store.Tx) error {
			bankstore.In(tx).ReleaseConnection(s.domain, c.ID, bankstoretest.Holder, false)
			return nil
		})
		wantError(t, s.try(func(tx *store.Tx) error {
			bankstore.In(tx).KeepConnection(s.domain, c.ID, bankstoretest.Holder, time.Minute)
			return nil
		}), store.ErrConflict)
		due := now.Add(-time.Hour)
		c.State, c.Message, c.NextTry, c.Version = passerelle.WebsiteUnavailable, "closed", &due, 1
		s.write(func(tx *store.Tx) error { bankstore.In(tx).SaveConnection(c, 0); return nil })
		wantError(t, s.try(func(tx *store.Tx) error { bankstore.In(tx).SaveConnection(c, 0); return nil }), store.ErrConflict)
		got, err := bankstore.From(s.db).ConnectionsDue(t.Context(), s.domain, now, nil, 5)
		if err != nil || len(got) != 1 {
			t.Fatalf("due: %v (%v)", got, err)
		}
		c.UnattendedFrom, c.StoredTry = got[0].UnattendedFrom, &due
		wantSame(t, c, got[0], nil)
		_, err = bankstore.From(s.db).Connection(t.Context(), s.domain, 8, c.ID)
		wantError(t, err, store.ErrNotFound)
	})
}

// A caller reads an account and a subscription, and then their user is deleted.
// TestDeletedUsersGetNoData checks that the caller can no longer add data to the account or the
// subscription.
func TestDeletedUsersGetNoData(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		u := passerelle.User{Domain: s.domain, Platform: passerelle.SharedAccess, Created: now, Permanent: &now, Version: 1}
		s.write(func(tx *store.Tx) error { return tx.CreateUser(&u) })
		c := s.connect(s.domain, u.ID, "c1", "", false)
		a := bankstore.StoredAccount{BankAccount: passerelle.BankAccount{User: u.ID, Connection: c.ID, AccountDetails: passerelle.AccountDetails{Key: "a"}}}
		b := bankstore.StoredSubscription{Subscription: passerelle.Subscription{User: u.ID, Connection: c.ID, SubscriptionDetails: passerelle.SubscriptionDetails{Key: "s"}}}
		var err, err2 error
		a.ID, err = bankstore.NewAccountID(t.Context(), s.db)
		b.ID, err2 = bankstore.NewSubscriptionID(t.Context(), s.db)
		if err = errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		s.write(func(tx *store.Tx) error {
			return errors.Join(bankstore.In(tx).CreateAccount(s.domain, &a), bankstore.In(tx).CreateSubscription(s.domain, &b))
		})
		s.write(func(tx *store.Tx) error { bankstore.In(tx).DeleteUser(u, now, now); return nil })
		for _, fn := range []func(tx bankstore.Tx) error{
			func(tx bankstore.Tx) error {
				return tx.CreateCluster(s.domain, a, &passerelle.Cluster{Wording: "rent"}, 5, errors.New("full"))
			},
			func(tx bankstore.Tx) error { tx.CountTransactions(s.domain, a, 1, 0); return nil },
			func(tx bankstore.Tx) error { tx.CountDocuments(s.domain, b, 1); return nil },
		} {
			wantError(t, s.try(func(tx *store.Tx) error { return fn(bankstore.In(tx)) }), store.ErrConflict)
		}
	})
}

// TestLeasesAfterARestart checks the lease of a connection after Reclaim. On SQLite, the next
// server gets the lease at once, and BrokenOff reports the interrupted sync. On PostgreSQL, another
// replica may have the lease, so the next server does not get it.
func TestLeasesAfterARestart(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		c := newUserAccounts(t, s).Connection
		if err := s.db.Reclaim(t.Context()); err != nil {
			t.Fatal(err)
		}
		var leased bankstore.Leased
		err := s.try(func(tx *store.Tx) error {
			bankstore.In(tx).BrokenOff(s.domain, c.ID, &leased)
			bankstore.In(tx).LeaseConnection(s.domain, c.ID, "next", time.Minute)
			return nil
		})
		if s.db.Rows().Dialect().Name != "sqlite" {
			wantError(t, err, store.ErrConflict)
			return
		}
		if err != nil || !leased.BrokenOff {
			t.Errorf("leased %+v, %v", leased, err)
		}
	})
}
