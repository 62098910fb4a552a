// Package bankstoretest stores the bank data of a user for tests.
//
// It owns the rows of this user: one connection, two accounts, and the data that a test adds. It
// does not own databases, which package storetest provides, and it checks nothing. A test fails
// when a row cannot be stored.
package bankstoretest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

const (
	// ID is the id of the user.
	ID passerelle.UserID = 7
	// Holder has the lease of the user's connection.
	Holder = "reader"
)

// now is the instant of all rows. It is in whole microseconds, because stored instants have this
// precision.
var now = time.Date(2026, 11, 21, 15, 4, 5, 6000, time.UTC)

// User is a user with a connection and enabled accounts.
type User struct {
	Connection bankstore.Connection
	Accounts   []bankstore.StoredAccount

	t      testing.TB
	db     *store.DB
	domain passerelle.DomainID
}

// NewUser stores a connection with two accounts. A second call for the same domain adds a second
// connection of the same user.
func NewUser(t testing.TB, db *store.DB, domain passerelle.DomainID) *User {
	t.Helper()
	u := &User{t: t, db: db, domain: domain}
	u.Connection = bankstore.Connection{Domain: domain, User: ID, Connector: "c1", Created: now, Active: true, State: passerelle.Validating}
	u.write(func(tx *store.Tx) error {
		return bankstore.In(tx).CreateConnection(&u.Connection, map[string]string{"login": "me", "password": "secret"}, Holder, time.Minute)
	})
	for _, key := range []string{"a", "b"} {
		u.Enable(key)
	}
	return u
}

func (u *User) write(fn func(*store.Tx) error) {
	u.t.Helper()
	if err := u.db.Write(u.t.Context(), fn); err != nil {
		u.t.Fatal(err)
	}
}

// Currency returns the currency of an account: EUR for even indexes, CHF for odd indexes.
func Currency(account int) passerelle.Currency {
	return []passerelle.Currency{"EUR", "CHF"}[account%2]
}

// Day returns the day that is n days after the first of January 2026.
func Day(n int) passerelle.Date {
	return passerelle.DateOf(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC).AddDays(n)
}

// Enable adds an account and makes the user share it.
func (u *User) Enable(key string) {
	u.t.Helper()
	a := bankstore.StoredAccount{BankAccount: passerelle.BankAccount{
		User: ID, Connection: u.Connection.ID, Disabled: &now,
		AccountDetails: passerelle.AccountDetails{Key: key, Name: "Account " + key, Type: "checking", Currency: Currency(len(u.Accounts))},
	}}
	var err error
	if a.ID, err = bankstore.NewAccountID(u.t.Context(), u.db); err != nil {
		u.t.Fatal(err)
	}
	u.write(func(tx *store.Tx) error { return bankstore.In(tx).CreateAccount(u.domain, &a) })
	u.write(func(tx *store.Tx) error { bankstore.In(tx).EnableAccount(u.domain, ID, a.ID); return nil })
	u.Accounts = append(u.Accounts, a)
}

// Add stores one transaction for each day.
func (u *User) Add(account int, days ...int) []passerelle.Transaction {
	u.t.Helper()
	var added []passerelle.Transaction
	u.write(func(tx *store.Tx) error {
		added = nil
		for i, n := range days {
			d := passerelle.TransactionDetails{
				Key: fmt.Sprintf("%d-%d-%d", account, n, i), Date: Day(n), RDate: Day(n), Type: "card", Wording: fmt.Sprintf("Shop %d", n),
				Value: decimal.MustNew(int64(n)-5, n%3),
			}
			one := passerelle.Transaction{TransactionDetails: d, ApplicationDate: d.RDate, Active: true, Scraped: now, LastUpdate: now}
			if err := bankstore.In(tx).CreateTransactions(u.domain, u.Accounts[account], 1, bankstore.NewTransaction{Transaction: &one}); err != nil {
				return err
			}
			added = append(added, one)
		}
		bankstore.In(tx).CountTransactions(u.domain, u.Accounts[account], int64(len(days)), 0)
		return nil
	})
	return added
}

// AddFiles adds a document with a file, and a transaction with a file.
func (u *User) AddFiles() {
	u.t.Helper()
	id, err := bankstore.NewSubscriptionID(u.t.Context(), u.db)
	if err != nil {
		u.t.Fatal(err)
	}
	u.write(func(tx *store.Tx) error {
		s := bankstore.StoredSubscription{Subscription: passerelle.Subscription{
			ID: id, Connection: u.Connection.ID, User: ID, Disabled: &now, SubscriptionDetails: passerelle.SubscriptionDetails{Key: "s"},
		}}
		bill := passerelle.Document{DocumentDetails: passerelle.DocumentDetails{Key: "d", Type: "bill", HasFile: true}, Found: now, LastUpdate: now}
		shopping := passerelle.Transaction{ApplicationDate: Day(1), Scraped: now, LastUpdate: now, TransactionDetails: passerelle.TransactionDetails{
			Key: "t", Date: Day(1), RDate: Day(1), Attachments: []passerelle.AttachmentDetails{{Key: "x", Name: "receipt"}},
		}}
		return errors.Join(bankstore.In(tx).CreateSubscription(u.domain, &s), bankstore.In(tx).CreateDocument(u.domain, s, &bill, 1), bankstore.In(tx).CreateTransactions(u.domain, u.Accounts[0], 1, bankstore.NewTransaction{Transaction: &shopping}))
	})
}

// Filter selects the transactions of the user.
func (u *User) Filter() bankstore.TransactionFilter {
	return bankstore.TransactionFilter{Domain: u.domain, User: ID}
}

// Transactions reads a page of transactions.
func (u *User) Transactions(f bankstore.TransactionFilter, w store.Window) []passerelle.Transaction {
	u.t.Helper()
	rows, err := bankstore.From(u.db).Transactions(u.t.Context(), f, w)
	if err != nil {
		u.t.Fatal(err)
	}
	return rows
}

// Within narrows the filter to the accounts of its span, as TransactionFilter.Within describes.
func (u *User) Within(f bankstore.TransactionFilter) bankstore.TransactionFilter {
	u.t.Helper()
	span, err := bankstore.From(u.db).TransactionSpan(u.t.Context(), f)
	if err != nil {
		u.t.Fatal(err)
	}
	return f.Within(span)
}

// Count counts the transactions that a filter selects.
func (u *User) Count(f bankstore.TransactionFilter) int64 {
	u.t.Helper()
	n, err := bankstore.From(u.db).CountTransactions(u.t.Context(), f)
	if err != nil {
		u.t.Fatal(err)
	}
	return n
}
