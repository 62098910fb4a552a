package store_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/operatorstore"
	"passerelle/internal/search"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
)

// TestUnitsOfSharedTransactions checks that units that only add rows may share a transaction. A
// unit that fails when a limit is exceeded must not share one.
func TestUnitsOfSharedTransactions(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		pay := func(tx *store.Tx) error {
			p, first, err := payment.New(draft(100, 200), payment.Policy{}, rand.Reader, now)
			if err != nil {
				return err
			}
			p.Domain, p.Client, p.Connector = s.domain, s.client, bankA
			tx.NameConnector(bankA, "Bank")
			search.Add(tx, p)
			return tx.CreatePayment(p, first)
		}
		s.write(pay)
		for name, c := range map[string]struct {
			unit func(tx *store.Tx) error
			want bool
		}{
			"a token":             {func(tx *store.Tx) error { return tx.CreateToken(&store.Token{}) }, true},
			"a token of a client": {func(tx *store.Tx) error { return tx.CreateToken(&store.Token{Domain: s.domain, Client: s.client}) }, true},
			"a payment to a bank": {pay, true},
			"an act":              {func(tx *store.Tx) error { return tx.Audit(store.Audit{At: now}) }, true},
			"what is sealed": {func(tx *store.Tx) error {
				if err := tx.CreateToken(&store.Token{ID: 9, Domain: s.domain}); err != nil {
					return err
				}
				return tx.KeepUserToken(store.Token{ID: 9, Domain: s.domain}, "text")
			}, true},
			"a category": {func(tx *store.Tx) error {
				return bankstore.In(tx).CreateCategory(s.domain, &passerelle.Category{}, 1, store.ErrConflict)
			}, false},
			"what a form creates": {func(tx *store.Tx) error { return tx.Executed(store.FormExecution(s.domain, "k"), 1) }, false},
			"a change":            {func(tx *store.Tx) error { operatorstore.In(tx).DisableOperator(1, &now); return nil }, false},
		} {
			var got bool
			stop := errors.New("stop")
			err := s.db.Write(t.Context(), func(tx *store.Tx) error {
				if err := c.unit(tx); err != nil {
					return err
				}
				got = tx.Unit().OnlyAdds()
				return stop
			})
			if !errors.Is(err, stop) || got != c.want {
				t.Errorf("%s shares a transaction: %t, %v", name, got, err)
			}
		}
	})
}

// TestOrdersToOneBankDoNotWaitForEachOther stores the name of a bank, as each order to the bank
// does. Once the name is stored, an order must neither lock the name nor wait for a transaction
// that locks it.
func TestOrdersToOneBankDoNotWaitForEachOther(t *testing.T) {
	url := storetest.Postgres(t)
	s := newFixture(t, url)
	name := func(tx *store.Tx) error { tx.NameConnector(bankA, "Bank"); return nil }
	s.write(name)
	holder := openPgx(t, url)
	if _, err := holder.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if tag, err := holder.Exec(t.Context(), "SELECT name FROM connector_name WHERE uuid = $1 FOR UPDATE", bankA); err != nil || tag.RowsAffected() != 1 {
		t.Fatal(tag, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.db.Write(ctx, name); err != nil {
		t.Error("the name of a bank waits for a lock on its row:", err)
	}
	if err := s.db.Write(ctx, func(tx *store.Tx) error { tx.NameConnector(bankB, "Other bank"); return nil }); err != nil {
		t.Error("the name of a new bank:", err)
	}
	if _, err := holder.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	s.write(func(tx *store.Tx) error { tx.NameConnector(bankA, "Bank of today"); return nil })
	if n := s.count("SELECT count(*) FROM connector_name WHERE (uuid = $1 AND name = 'Bank of today') OR (uuid = $2 AND name = 'Other bank')", bankA, bankB); n != 2 {
		t.Errorf("%d of 2 names are stored as given last", n)
	}
}
