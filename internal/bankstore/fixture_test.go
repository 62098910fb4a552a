package bankstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/bankstore/bankstoretest"
	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	_ "passerelle/internal/store/storetest/migrated"
)

// now is a fixed instant. It is in whole microseconds, because stored instants have this precision.
var now = time.Date(2026, 11, 21, 15, 4, 5, 6000, time.UTC)

// dates lets cmp compare passerelle.Date values.
var dates = cmp.Comparer(func(a, b passerelle.Date) bool { return a == b })

type fixture struct {
	t             *testing.T
	db            *store.DB
	domain, other passerelle.DomainID
}

func onEachDatabase(t *testing.T, run func(t *testing.T, s fixture)) {
	storetest.Each(t, func(t *testing.T, url string) {
		db, err := store.Open(t.Context(), url, store.Options{Keys: keys.Generate()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		s := fixture{t: t, db: db}
		s.domain, s.other = s.createDomain("first"), s.createDomain("second")
		run(t, s)
	})
}

func (s fixture) createDomain(name string) passerelle.DomainID {
	s.t.Helper()
	d := passerelle.Domain{Name: name, Kind: passerelle.Sandbox, BaseURL: "https://" + name + ".example/2.0", Created: now}
	s.write(func(tx *store.Tx) error { return tx.CreateDomain(&d, name+".example") })
	return d.ID
}

func (s fixture) write(fn func(*store.Tx) error) {
	s.t.Helper()
	if err := s.try(fn); err != nil {
		s.t.Fatal(err)
	}
}

func (s fixture) try(fn func(*store.Tx) error) error { return s.db.Write(s.t.Context(), fn) }

func (s fixture) sql(text string, args ...any) error {
	return s.try(func(tx *store.Tx) error { tx.Unit().Exec(text, args...); return nil })
}

func (s fixture) count(text string) int64 {
	s.t.Helper()
	n, err := database.One(s.t.Context(), s.db.Rows(), database.ScanInt, text)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s fixture) connect(domain passerelle.DomainID, user passerelle.UserID, connector string, state passerelle.ConnectionState, deleted bool) bankstore.Connection {
	s.t.Helper()
	c := bankstore.Connection{Domain: domain, User: user, Connector: connector, Created: now, Active: true, State: state}
	s.write(func(tx *store.Tx) error {
		return bankstore.In(tx).CreateConnection(&c, map[string]string{"login": "me"}, bankstoretest.Holder, time.Minute)
	})
	if deleted {
		s.write(func(tx *store.Tx) error {
			tx.Unit().Exec(`UPDATE connection SET deleted = 1 WHERE id = $1`, int64(c.ID))
			return nil
		})
	}
	return c
}

type userAccounts struct {
	fixture
	*bankstoretest.User
}

func newUserAccounts(t *testing.T, s fixture) *userAccounts {
	t.Helper()
	return &userAccounts{s, bankstoretest.NewUser(t, s.db, s.domain)}
}

func day(n int) passerelle.Date { return bankstoretest.Day(n) }

func wantSame[T any](t *testing.T, want, got T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, dates); diff != "" {
		t.Errorf("(-stored +loaded):\n%s", diff)
	}
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error is %v, want %v", err, want)
	}
}
