package bankstore_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/bankstore/bankstoretest"
	"passerelle/internal/database"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest/lists"
)

type heldAccount struct {
	bankstore.StoredAccount
	domain passerelle.DomainID
	// gone means that the connection of the account is deleted. hidden means that the user does not
	// share the account, or that the institution no longer lists it.
	gone, hidden bool
	// bill is a document that belongs to some of the account's transactions. It is nil for most
	// accounts.
	bill *passerelle.Document
}

type heldTransaction struct {
	passerelle.Transaction
	*heldAccount
	epoch     int64
	documents int64
	manual    bool
}

type accountSet struct {
	fixture
	connections  []bankstore.Connection
	accounts     []*heldAccount
	transactions []*heldTransaction
}

// saver is a user with fewer accounts than MaxWithin, and spender is a user with more.
const saver, spender = 7, 8

func newAccountSet(t *testing.T, s fixture) *accountSet {
	h := &accountSet{fixture: s}
	for _, c := range []struct {
		domain   passerelle.DomainID
		user     passerelle.UserID
		accounts int
		gone     bool
	}{{s.domain, saver, 3, false}, {s.domain, saver, 2, false}, {s.domain, saver, 1, true}, {s.domain, spender, bankstore.MaxWithin + 2, false}, {s.other, saver, 1, false}, {s.domain, 9, 0, false}} {
		h.connect(c.domain, c.user, c.accounts, c.gone)
	}
	return h
}

func (h *accountSet) connect(domain passerelle.DomainID, user passerelle.UserID, accounts int, gone bool) {
	h.t.Helper()
	c := bankstore.Connection{Domain: domain, User: user, Connector: "c1", Created: now, Active: true}
	h.write(func(tx *store.Tx) error {
		return bankstore.In(tx).CreateConnection(&c, map[string]string{"login": "me"}, bankstoretest.Holder, time.Minute)
	})
	h.connections = append(h.connections, c)
	for n := range accounts {
		h.open(c, n, gone)
	}
	if gone {
		h.write(func(tx *store.Tx) error {
			tx.Unit().Exec(`UPDATE connection SET deleted = 1 WHERE id = $1`, int64(c.ID))
			return nil
		})
	}
}

// open adds an account with transactions of two epochs. Transactions of the former epoch are hidden
// and not erased yet.
func (h *accountSet) open(c bankstore.Connection, n int, gone bool) {
	h.t.Helper()
	a := &heldAccount{domain: c.Domain, gone: gone, StoredAccount: bankstore.StoredAccount{BankAccount: passerelle.BankAccount{
		User: c.User, Connection: c.ID, AccountDetails: passerelle.AccountDetails{Key: fmt.Sprint(n), Type: "checking", Currency: "EUR"},
	}}}
	var err error
	if a.ID, err = bankstore.NewAccountID(h.t.Context(), h.db); err != nil {
		h.t.Fatal(err)
	}
	h.write(func(tx *store.Tx) error { return bankstore.In(tx).CreateAccount(c.Domain, &a.StoredAccount) })
	if n == 1 {
		a.bill = h.bill(c)
	}
	h.fill(a, 3)
	h.write(func(tx *store.Tx) error {
		bankstore.In(tx).DisableAccounts(c.Domain, c.User, now, a.StoredAccount)
		return nil
	})
	h.write(func(tx *store.Tx) error { bankstore.In(tx).EnableAccount(c.Domain, c.User, a.ID); return nil })
	a.Epoch++
	rows := 9
	if c.User == spender {
		rows = 2
	}
	h.fill(a, rows)
	if column := []string{"", "", "disabled", "deleted"}[n%4]; column != "" {
		a.hidden = true
		h.write(func(tx *store.Tx) error {
			tx.Unit().Exec(`UPDATE bank_account SET `+column+` = 1 WHERE id = $1`, int64(a.ID))
			return nil
		})
	}
	h.accounts = append(h.accounts, a)
}

// values contains amounts, some of which are equal in different notations.
var values = []string{"-5", "5.00", "0.1", "0.10000", "12.34", "-12.340", "0", "7.0000000001", "1234567890123.45"}

var wordings = []string{"Shop", "shop 5", "Café Été", "50%_off!", "Straße", "Shop"}

func (h *accountSet) fill(a *heldAccount, rows int) {
	h.t.Helper()
	var made []*heldTransaction
	for i := range rows {
		n := i + int(a.ID)
		d := passerelle.TransactionDetails{
			Key: fmt.Sprintf("%d-%d", a.Epoch, i), Date: day(n % 3), RDate: day(n % 4), Type: "card", Wording: wordings[n%len(wordings)], Value: decimal.MustParse(values[n*2%len(values)]),
		}
		one := passerelle.Transaction{TransactionDetails: d, ApplicationDate: d.RDate, Active: true, Scraped: now, LastUpdate: now.Add(time.Duration(n%3) * time.Hour)}
		made = append(made, &heldTransaction{Transaction: one, heldAccount: a, epoch: a.Epoch, manual: n%5 == 0})
	}
	h.write(func(tx *store.Tx) error {
		for _, one := range made {
			if err := bankstore.In(tx).CreateTransactions(a.domain, a.StoredAccount, 1, bankstore.NewTransaction{Transaction: &one.Transaction, Manual: one.manual}); err != nil {
				return err
			}
		}
		bankstore.In(tx).CountTransactions(a.domain, a.StoredAccount, int64(rows), 0)
		return nil
	})
	for i, one := range made {
		h.change(one, i)
	}
	h.transactions = append(h.transactions, made...)
}

func (h *accountSet) change(one *heldTransaction, i int) {
	h.t.Helper()
	switch i % 5 {
	case 1:
		name, moved := "Mine, SHOP", day(1)
		one.CustomWording, one.ApplicationDate, one.Categories, one.LastUpdate = name, moved, []string{"food", "rent"}, now
		h.write(func(tx *store.Tx) error {
			bankstore.In(tx).EditTransaction(one.domain, one.User, one.Transaction.ID, bankstore.TransactionEdit{Wording: &name, ApplicationDate: &moved, Categories: one.Categories}, now)
			return nil
		})
	case 2:
		one.Transaction.Deleted, one.LastUpdate = &now, now
		h.write(func(tx *store.Tx) error {
			bankstore.In(tx).LoseTransaction(one.domain, one.StoredAccount, one.Transaction.ID, now, 1)
			bankstore.In(tx).CountTransactions(one.domain, one.StoredAccount, -1, 1)
			return nil
		})
	case 3:
		if one.bill != nil {
			one.documents = 1
			h.write(func(tx *store.Tx) error {
				tx.Unit().Exec(`INSERT INTO transaction_document (domain_id, user_id, account_id, account_epoch, transaction_id, subscription_id, subscription_epoch, document_id)
					VALUES ($1, $2, $3, $4, $5, $6, 0, $7)`, int64(one.domain), int64(one.User), int64(one.heldAccount.ID), one.epoch, int64(one.Transaction.ID), int64(one.bill.Subscription), int64(one.bill.ID))
				return nil
			})
		}
	}
}

func (h *accountSet) bill(c bankstore.Connection) *passerelle.Document {
	h.t.Helper()
	id, err := bankstore.NewSubscriptionID(h.t.Context(), h.db)
	if err != nil {
		h.t.Fatal(err)
	}
	of := bankstore.StoredSubscription{Subscription: passerelle.Subscription{ID: id, Connection: c.ID, User: c.User, SubscriptionDetails: passerelle.SubscriptionDetails{Key: "s"}}}
	bill := passerelle.Document{DocumentDetails: passerelle.DocumentDetails{Key: "d", Type: "bill"}, Found: now, LastUpdate: now}
	h.write(func(tx *store.Tx) error {
		return errors.Join(bankstore.In(tx).CreateSubscription(c.Domain, &of), bankstore.In(tx).CreateDocument(c.Domain, of, &bill, 1))
	})
	return &bill
}

func (one *heldTransaction) inAccounts(f bankstore.TransactionFilter) bool {
	a := one.heldAccount
	return f.Domain == a.domain && f.User == a.User && (f.Connection == 0 || f.Connection == a.Connection) && (f.Account == 0 || f.Account == a.ID) &&
		!a.gone && (f.All || !a.hidden) && one.epoch == a.Epoch
}

func (one *heldTransaction) label() string {
	return database.Fold(cmp.Or(one.CustomWording, one.Wording))
}

func (one *heldTransaction) meets(f bankstore.TransactionFilter) bool {
	date, sign := f.DayOf(one.Transaction), one.Value.Sign()
	return one.inAccounts(f) && (f.IDs == nil || slices.Contains(f.IDs, one.Transaction.ID)) && (f.Deleted || one.Transaction.Deleted == nil) &&
		(f.From.IsZero() || date.Compare(f.From) >= 0) && (f.Until.IsZero() || date.Compare(f.Until) <= 0) &&
		(!f.Institution || !one.manual) && (f.Since == nil || one.LastUpdate.After(*f.Since)) && (f.Income == nil || *f.Income && sign > 0 || !*f.Income && sign < 0) &&
		strings.Contains(one.label(), database.Fold(f.Wording)) && (f.Search == "" || one.found(f.Search)) &&
		(f.Least == nil || one.Value.Cmp(*f.Least) >= 0) && (f.Most == nil || one.Value.Cmp(*f.Most) <= 0) &&
		(len(f.Values) == 0 || slices.ContainsFunc(f.Values, func(v decimal.Decimal) bool { return one.Value.Cmp(v) == 0 }))
}

func (one *heldTransaction) found(text string) bool {
	value, err := decimal.Parse(text)
	part := func(s string) bool { return strings.Contains(s, database.Fold(text)) }
	return part(one.label()) || part(one.Date.String()) || part(one.ApplicationDate.String()) || slices.ContainsFunc(one.Categories, part) ||
		err == nil && one.Value.Abs().Cmp(value.Abs()) == 0
}

func (h *accountSet) drawFilter(t *rapid.T) bankstore.TransactionFilter {
	f := bankstore.TransactionFilter{Domain: h.domain, User: saver, ByDate: rapid.Bool().Draw(t, "by date"), All: rapid.Bool().Draw(t, "all"), Deleted: rapid.Bool().Draw(t, "deleted"), Institution: rapid.Bool().Draw(t, "institution")}
	lists.Maybe(t, "domain", &f.Domain, h.other)
	lists.Maybe(t, "user", &f.User, spender, spender, spender, 9, 10)
	lists.Maybe(t, "from", &f.From, day(0), day(1), day(2), day(3), day(4))
	lists.Maybe(t, "until", &f.Until, day(-1), day(0), day(1), day(2), day(3))
	lists.Maybe(t, "wording", &f.Wording, "shop", "SHOP 5", "été", "%", "_", "!", "strasse", "mine")
	lists.Maybe(t, "search", &f.Search, "shop", "2026-01-02", "5", "-5.0", "0.10", "food", "OD", "É", "%", "1234567890123.45", "12.34")
	if rapid.IntRange(0, 3).Draw(t, "of a connection") == 0 {
		f.Connection = rapid.SampledFrom(h.connections).Draw(t, "connection").ID
	}
	if rapid.IntRange(0, 3).Draw(t, "of an account") == 0 {
		a := rapid.SampledFrom(h.accounts).Draw(t, "account")
		f.Account, f.Epoch = a.ID, a.Epoch
		lists.Maybe(t, "its user", &f.User, a.User)
	}
	if rapid.IntRange(0, 9).Draw(t, "one") == 0 {
		f.IDs = []passerelle.TransactionID{rapid.SampledFrom(h.transactions).Draw(t, "transaction").Transaction.ID}
	}
	h.drawBounds(t, &f)
	return f
}

func (h *accountSet) drawBounds(t *rapid.T, f *bankstore.TransactionFilter) {
	one := func(text string) *decimal.Decimal { d := decimal.MustParse(text); return &d }
	yes, no, later := true, false, now.Add(time.Hour)
	lists.Maybe(t, "income", &f.Income, &yes, &no)
	lists.Maybe(t, "since", &f.Since, &now, &later)
	lists.Maybe(t, "least", &f.Least, one("-5.0"), one("0"), one("0.1"), one("7.0000000001"), one("12.34"))
	lists.Maybe(t, "most", &f.Most, one("-5.0"), one("0"), one("0.1"), one("7.0000000000"), one("1234567890123.44"))
	lists.Maybe(t, "values", &f.Values, []decimal.Decimal{}, []decimal.Decimal{*one("5"), *one("-5")}, []decimal.Decimal{*one("0.1"), *one("12.340"), *one("0")})
}

// listing draws a filter and returns the list of transactions that it selects. In some draws, Read
// and Count use the result of the filter's method Within instead of the filter.
func (h *accountSet) listing(t *rapid.T) lists.List {
	f := h.drawFilter(t)
	at := func(one *heldTransaction) lists.Spot {
		return lists.Spot{Key: f.DayOf(one.Transaction).String(), ID: int64(one.Transaction.ID)}
	}
	q := lists.List{Ways: lists.Ways{Newest: true, Directions: true, Skips: true}, All: lists.Spots(h.transactions, at, lists.Any[*heldTransaction])}
	q.Selected = lists.Spots(h.transactions, at, func(one *heldTransaction) bool { return one.meets(f) })
	span := h.span(t, f)
	if rapid.Bool().Draw(t, "within its accounts") {
		f = f.Within(span)
	}
	q.Read = func(w store.Window) ([]int64, error) {
		rows, err := bankstore.From(h.db).Transactions(h.t.Context(), f, w)
		return lists.IDs(func(one passerelle.Transaction) int64 { return int64(one.ID) })(rows, errors.Join(err, h.documents(rows)))
	}
	q.Count = func() (int64, error) { return bankstore.From(h.db).CountTransactions(h.t.Context(), f) }
	return q
}

func (h *accountSet) documents(rows []passerelle.Transaction) error {
	for _, row := range rows {
		i := slices.IndexFunc(h.transactions, func(one *heldTransaction) bool { return one.Transaction.ID == row.ID })
		if want := h.transactions[i]; int64(row.Documents) != want.documents {
			return fmt.Errorf("transaction %d has %d documents, not %d", row.ID, row.Documents, want.documents)
		}
	}
	return nil
}

// span returns the store's TransactionSpan for a filter, after comparing it with the reference.
func (h *accountSet) span(t *rapid.T, f bankstore.TransactionFilter) bankstore.TransactionSpan {
	got, err := bankstore.From(h.db).TransactionSpan(h.t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	var days []passerelle.Date
	for _, one := range h.transactions {
		if one.inAccounts(f) && (f.Deleted || one.Transaction.Deleted == nil) {
			days = append(days, f.DayOf(one.Transaction))
		}
	}
	var first, last passerelle.Date
	if len(days) > 0 {
		first, last = slices.MinFunc(days, passerelle.Date.Compare), slices.MaxFunc(days, passerelle.Date.Compare)
	}
	if got.Transactions != int64(len(days)) || got.First != first || got.Last != last {
		t.Errorf("%+v spans %+v, want %d from %s to %s", f, got, len(days), first, last)
	}
	return got
}

func TestTransactionsAreThoseOfTheReference(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h := newAccountSet(t, s)
		rapid.Check(t, func(rt *rapid.T) { h.listing(rt).Check(rt) })
	})
}

// TestValuesAreComparedExactly checks that values are compared exactly. This includes values of 16
// and 18 digits, which exceed 64 bits in the smallest unit of the comparison.
func TestValuesAreComparedExactly(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h := newAccountSet(t, s)
		a := h.accounts[0]
		for _, text := range []string{"99999999999999.98", "99999999999999.99", "-99999999999999.99", "1234567890.12345678", "1234567890.12345679"} {
			one := passerelle.Transaction{TransactionDetails: passerelle.TransactionDetails{Key: text, Date: day(0), RDate: day(0), Value: decimal.MustParse(text)}, ApplicationDate: day(0), Scraped: now, LastUpdate: now}
			s.write(func(tx *store.Tx) error {
				return bankstore.In(tx).CreateTransactions(s.domain, a.StoredAccount, 1, bankstore.NewTransaction{Transaction: &one})
			})
			h.transactions = append(h.transactions, &heldTransaction{Transaction: one, heldAccount: a, epoch: a.Epoch})
		}
		for _, one := range h.transactions[len(h.transactions)-5:] {
			for name, f := range map[string]bankstore.TransactionFilter{"is": {Values: []decimal.Decimal{one.Value}}, "least": {Least: &one.Value}, "most": {Most: &one.Value}, "search": {Search: one.Value.String()}} {
				f.Domain, f.User, f.Account, f.Epoch, f.Deleted = s.domain, a.User, a.ID, a.Epoch, true
				want := len(lists.Spots(h.transactions, func(*heldTransaction) lists.Spot { return lists.Spot{} }, func(one *heldTransaction) bool { return one.meets(f) }))
				if n, err := bankstore.From(s.db).CountTransactions(t.Context(), f); err != nil || n != int64(want) {
					t.Errorf("%s %s counts %d, want %d; %v", name, one.Value, n, want, err)
				}
			}
		}
	})
}
