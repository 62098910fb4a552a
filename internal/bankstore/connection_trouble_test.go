package bankstore_test

import (
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/bankstore/bankstoretest"
	"passerelle/internal/store"
)

func TestConnectionsInTrouble(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		var ids []passerelle.ConnectionID
		add := func(domain passerelle.DomainID, connector string, state passerelle.ConnectionState) {
			c := bankstore.Connection{Domain: domain, User: 7, Connector: connector, Created: now, Active: true, State: state}
			s.write(func(tx *store.Tx) error {
				return bankstore.In(tx).CreateConnection(&c, nil, bankstoretest.Holder, time.Minute)
			})
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
		want(bankstore.TroubleFilter{States: []passerelle.ConnectionState{passerelle.Bug}}, store.Window{Limit: 9}, 3, 1)
		want(bankstore.TroubleFilter{Connector: "c1"}, store.Window{Limit: 9}, 3, 0)
		want(bankstore.TroubleFilter{States: []passerelle.ConnectionState{passerelle.Wrongpass}, Connector: "c2"}, store.Window{Limit: 9}, 5)
		want(bankstore.TroubleFilter{States: []passerelle.ConnectionState{passerelle.Bug, passerelle.Wrongpass}}, store.Window{Limit: 3}, 5, 3, 1)
		want(bankstore.TroubleFilter{States: []passerelle.ConnectionState{passerelle.Decoupled}}, store.Window{Limit: 9})
	})
}

// TestConnectionsOfUsers checks that ConnectionsOfUsers does not count deleted connections, or
// connections of other users or domains.
func TestConnectionsOfUsers(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		add := func(domain passerelle.DomainID, user passerelle.UserID, state passerelle.ConnectionState) passerelle.ConnectionID {
			c := bankstore.Connection{Domain: domain, User: user, Connector: "c1", Created: now, Active: true, State: state}
			s.write(func(tx *store.Tx) error {
				return bankstore.In(tx).CreateConnection(&c, nil, bankstoretest.Holder, time.Minute)
			})
			return c.ID
		}
		user := func(domain passerelle.DomainID) passerelle.UserID {
			u := passerelle.User{Domain: domain, Platform: passerelle.SharedAccess, Created: now, Permanent: new(now), Version: 1}
			s.write(func(tx *store.Tx) error { return tx.CreateUser(&u) })
			return u.ID
		}
		one, two, three, none, stranger := user(s.domain), user(s.domain), user(s.domain), user(s.domain), user(s.other)
		add(s.domain, one, passerelle.Wrongpass)
		add(s.domain, one, passerelle.Validating)
		add(s.domain, one, "")
		add(s.domain, two, "")
		add(s.domain, three, passerelle.Bug)
		add(s.other, stranger, passerelle.Bug)
		add(s.other, two, passerelle.Bug)
		gone := add(s.domain, one, passerelle.Bug)
		s.write(func(tx *store.Tx) error { bankstore.In(tx).DeleteConnection(s.domain, one, gone, now); return nil })
		got, err := bankstore.From(s.db).ConnectionsOfUsers(t.Context(), s.domain, one, two, none, stranger)
		wantSame(t, map[passerelle.UserID]bankstore.UserConnections{one: {All: 3, Failing: 1}, two: {All: 1}}, got, err)
		got, err = bankstore.From(s.db).ConnectionsOfUsers(t.Context(), s.domain)
		wantSame(t, map[passerelle.UserID]bankstore.UserConnections{}, got, err)
	})
}
