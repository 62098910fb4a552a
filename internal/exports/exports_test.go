package exports_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/bankstore/bankstoretest"
	"passerelle/internal/database"
	"passerelle/internal/exports"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	_ "passerelle/internal/store/storetest/migrated"
)

// Many exports at the same time must leave connections of the database to other requests.
func TestExportsTakeTurns(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		db, domain, account := stored(t, url)
		entered, leave := make(chan struct{}), make(chan struct{})
		db.Database.Observe(func(_ context.Context, statements []database.Statement) error {
			if strings.HasPrefix(strings.ToUpper(statements[0].SQL), "SELECT COUNT(") {
				entered <- struct{}{}
				<-leave
			}
			return nil
		})
		export := func(ctx context.Context) error {
			wish := exports.Wish{Format: "csv", First: bankstoretest.Day(0), Now: *account.LastUpdate}
			file, err := exports.Of(ctx, bankstore.From(db), domain, account, wish)
			if err != nil {
				return err
			}
			return file.Write(io.Discard)
		}
		ended := make(chan error)
		for range exports.AtOnce() {
			go func() { ended <- export(t.Context()) }()
			<-entered
		}
		soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		go func() { ended <- export(soon) }()
		select {
		case err := <-ended:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		case <-entered:
			t.Errorf("more than %d exports execute a query", exports.AtOnce())
			leave <- struct{}{}
			<-ended
		}
		for range exports.AtOnce() {
			leave <- struct{}{}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// A further export is refused while too many exports wait for their first query.
func TestExportsAreRefusedWhileManyWait(t *testing.T) {
	ended, leave := make(chan error), make(chan struct{})
	export := func() {
		_, err := exports.Begin(t.Context(), func() (any, error) { <-leave; return nil, nil })
		ended <- err
	}
	for range exports.MaxBeginning + 1 {
		go export()
	}
	var refused *passerelle.Error
	select {
	case err := <-ended:
		if !errors.As(err, &refused) || refused.Kind != passerelle.Unavailable || refused.RetryAfter == 0 {
			t.Errorf("refused with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("no export is refused")
	}
	close(leave)
	for range exports.MaxBeginning {
		if err := <-ended; err != nil {
			t.Errorf("an export that waited: %v", err)
		}
	}
}

// stored returns a database with an account that has three transactions.
func stored(t *testing.T, url string) (*store.DB, passerelle.DomainID, bankstore.StoredAccount) {
	t.Helper()
	db, err := store.Open(t.Context(), url, store.Options{Keys: keys.Generate()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	updated := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	d := passerelle.Domain{Name: "first", Kind: passerelle.Sandbox, BaseURL: "https://first.example/2.0", Created: updated}
	if err := db.Write(t.Context(), func(tx *store.Tx) error { return tx.CreateDomain(&d, "first.example") }); err != nil {
		t.Fatal(err)
	}
	u := bankstoretest.NewUser(t, db, d.ID)
	u.Add(0, 1, 2, 3)
	account, balance := u.Accounts[0], decimal.MustNew(100, 2)
	account.Disabled, account.LastUpdate, account.Balance = nil, &updated, &balance
	return db, d.ID, account
}
