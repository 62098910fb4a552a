package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/database"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

const reader = "reader"

// userAccounts is a user with a connection and two enabled accounts.
type userAccounts struct {
	fixture
	connection bankstore.Connection
	accounts   []bankstore.StoredAccount
}

func newUserAccounts(t *testing.T, s fixture) *userAccounts {
	h := &userAccounts{fixture: s}
	h.connection = bankstore.Connection{Domain: s.domain, User: 7, Connector: "c1", Created: now, Active: true, State: passerelle.Validating}
	s.write(func(tx *store.Tx) error {
		return bankstore.In(tx).CreateConnection(&h.connection, map[string]string{"login": "me", "password": "secret"}, reader, time.Minute)
	})
	for _, key := range []string{"a", "b"} {
		h.enable(key)
	}
	return h
}

// currencies are the currencies of the accounts, in turn.
var currencies = []passerelle.Currency{"EUR", "CHF"}

// enable adds an account that the person shares.
func (h *userAccounts) enable(key string) {
	h.t.Helper()
	a := bankstore.StoredAccount{BankAccount: passerelle.BankAccount{
		User: 7, Connection: h.connection.ID, Disabled: &now,
		AccountDetails: passerelle.AccountDetails{Key: key, Name: "Account " + key, Type: "checking", Currency: currencies[len(h.accounts)%len(currencies)]},
	}}
	var err error
	if a.ID, err = bankstore.NewAccountID(h.t.Context(), h.db); err != nil {
		h.t.Fatal(err)
	}
	h.write(func(tx *store.Tx) error { return bankstore.In(tx).CreateAccount(h.domain, &a) })
	h.write(func(tx *store.Tx) error { bankstore.In(tx).EnableAccount(h.domain, 7, a.ID); return nil })
	h.accounts = append(h.accounts, a)
}

func day(n int) passerelle.Date {
	return passerelle.DateOf(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC).AddDays(n)
}

// add stores one transaction for each of the days.
func (h *userAccounts) add(account int, days ...int) []passerelle.Transaction {
	h.t.Helper()
	var added []passerelle.Transaction
	h.write(func(tx *store.Tx) error {
		added = nil
		for i, n := range days {
			d := passerelle.TransactionDetails{
				Key: fmt.Sprintf("%d-%d-%d", account, n, i), Date: day(n), RDate: day(n), Type: "card", Wording: fmt.Sprintf("Shop %d", n),
				Value: decimal.MustNew(int64(n)-5, n%3),
			}
			one := passerelle.Transaction{TransactionDetails: d, ApplicationDate: d.RDate, Active: true, Scraped: now, LastUpdate: now}
			if err := bankstore.In(tx).CreateTransactions(h.domain, h.accounts[account], 1, bankstore.NewTransaction{Transaction: &one}); err != nil {
				return err
			}
			added = append(added, one)
		}
		bankstore.In(tx).CountTransactions(h.domain, h.accounts[account], int64(len(days)), 0)
		return nil
	})
	return added
}

func (h *userAccounts) filter() bankstore.TransactionFilter {
	return bankstore.TransactionFilter{Domain: h.domain, User: 7}
}

// days returns the days of the selected transactions, reads them in pages of two and compares
// their number with the count.
func (h *userAccounts) days(f bankstore.TransactionFilter) string {
	h.t.Helper()
	days := h.daysBy(f)
	if within := h.daysBy(h.within(h.t, f)); within != days {
		h.t.Errorf("%q within its accounts, %q otherwise", within, days)
	}
	return days
}

func (h *userAccounts) daysBy(f bankstore.TransactionFilter) string {
	h.t.Helper()
	var days []string
	w := store.Window{Limit: 2}
	for {
		page, err := bankstore.From(h.db).Transactions(h.t.Context(), f, w)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, one := range page {
			days = append(days, strings.TrimPrefix(one.ApplicationDate.String(), "2026-01-"))
		}
		if len(page) < w.Limit {
			break
		}
		last := page[len(page)-1]
		w.From = []any{last.ApplicationDate.String(), int64(last.ID)}
	}
	n, err := bankstore.From(h.db).CountTransactions(h.t.Context(), f)
	if err != nil || int(n) != len(days) {
		h.t.Errorf("counted %d (%v), listed %v", n, err, days)
	}
	return strings.Join(days, " ")
}

func TestTransactionsOfAUser(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h := newUserAccounts(t, s)
		h.add(0, 0, 2, 4, 6)
		gone := h.add(1, 1, 3, 3)
		truth, no := true, decimal.MustNew(-5, 0)
		for name, test := range map[string]struct {
			with func(*bankstore.TransactionFilter)
			want string
		}{
			"all":                {func(*bankstore.TransactionFilter) {}, "07 05 04 04 03 02 01"},
			"of an account":      {func(f *bankstore.TransactionFilter) { f.Account = h.accounts[1].ID }, "04 04 02"},
			"of a connection":    {func(f *bankstore.TransactionFilter) { f.Connection = h.connection.ID }, "07 05 04 04 03 02 01"},
			"of another one":     {func(f *bankstore.TransactionFilter) { f.Connection = 99 }, ""},
			"of another user":    {func(f *bankstore.TransactionFilter) { f.User = 8 }, ""},
			"of another domain":  {func(f *bankstore.TransactionFilter) { f.Domain = h.other }, ""},
			"between days":       {func(f *bankstore.TransactionFilter) { f.From, f.Until = day(2), day(4) }, "05 04 04 03"},
			"by the other date":  {func(f *bankstore.TransactionFilter) { f.ByDate, f.From = true, day(5) }, "07"},
			"that come in":       {func(f *bankstore.TransactionFilter) { f.Income = &truth }, "07"},
			"of a wording":       {func(f *bankstore.TransactionFilter) { f.Wording = "SHOP 3" }, "04 04"},
			"of no such pattern": {func(f *bankstore.TransactionFilter) { f.Wording = "%" }, ""},
			"searched by day":    {func(f *bankstore.TransactionFilter) { f.Search = "2026-01-07" }, "07"},
			"of a value":         {func(f *bankstore.TransactionFilter) { f.Values = []decimal.Decimal{no} }, "01"},
			"of at most a value": {func(f *bankstore.TransactionFilter) { f.Most = &no }, "01"},
			"changed since":      {func(f *bankstore.TransactionFilter) { f.Since = &now }, ""},
			"one":                {func(f *bankstore.TransactionFilter) { f.IDs = []passerelle.TransactionID{gone[0].ID} }, "02"},
		} {
			f := h.filter()
			test.with(&f)
			if got := h.days(f); got != test.want {
				t.Errorf("%s: %q, want %q", name, got, test.want)
			}
		}
		span, err := bankstore.From(h.db).TransactionSpan(t.Context(), h.filter())
		if err != nil || span.First != day(0) || span.Last != day(6) {
			t.Errorf("from %s to %s (%v)", span.First, span.Last, err)
		}
		for i, a := range h.accounts {
			if c, noted := span.Currency(a.ID); !noted || c != currencies[i%len(currencies)] {
				t.Errorf("account %d is in %q, noted: %t", a.ID, c, noted)
			}
		}
		if _, noted := span.Currency(h.accounts[len(h.accounts)-1].ID + 1); noted {
			t.Error("an account that is none is noted")
		}
	})
}

// TestWithdrawnTransactions: withdrawn transactions are hidden at once and erased later, and no
// transaction can be added to a withdrawn account.
func TestWithdrawnTransactions(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h := newUserAccounts(t, s)
		h.add(0, 0, 1, 2)
		h.add(1, 3)
		s.write(func(tx *store.Tx) error { bankstore.In(tx).DisableAccount(s.domain, 7, h.accounts[0], now); return nil })
		all := h.filter()
		all.All = true
		if got := h.days(h.filter()) + " | " + h.days(all); got != "04 | 04" {
			t.Errorf("listed %q", got)
		}
		wantError(t, s.try(func(tx *store.Tx) error {
			bankstore.In(tx).CountTransactions(s.domain, h.accounts[0], 1, 0)
			return nil
		}), store.ErrConflict)
		h.eraseAll(2)
		if left := h.rows("bank_transaction"); left != 1 {
			t.Errorf("%d transactions are left, want 1", left)
		}
		s.write(func(tx *store.Tx) error {
			bankstore.In(tx).DeleteConnection(s.domain, 7, h.connection.ID, now)
			return nil
		})
		if got := h.days(all); got != "" {
			t.Errorf("of a deleted connection: %q", got)
		}
		h.eraseAll(2)
		for _, table := range []string{"connection", "bank_account", "bank_transaction", "withdrawal"} {
			if left := h.rows(table); left != 0 {
				t.Errorf("%d rows of %s are left", left, table)
			}
		}
	})
}

// TestErasersAtOnce: simultaneous erasers erase everything, although the rows that belong to an
// account cannot be found without the account.
func TestErasersAtOnce(t *testing.T) {
	days := make([]int, 3000)
	for i := range days {
		days[i] = i
	}
	for name, withdraw := range map[string]func(tx *store.Tx, h *userAccounts){
		"an account": func(tx *store.Tx, h *userAccounts) { bankstore.In(tx).DisableAccount(h.domain, 7, h.accounts[0], now) },
		"a connection": func(tx *store.Tx, h *userAccounts) {
			bankstore.In(tx).DeleteConnection(h.domain, 7, h.connection.ID, now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEachDatabase(t, func(t *testing.T, s fixture) {
				h := newUserAccounts(t, s)
				h.add(0, days...)
				s.write(func(tx *store.Tx) error { withdraw(tx, h); return nil })
				var erasers sync.WaitGroup
				for range 8 {
					erasers.Go(func() { h.eraseAll(400) })
				}
				erasers.Wait()
				if left := h.rows("bank_transaction") + h.rows("withdrawal"); left != 0 {
					t.Errorf("%d rows are left", left)
				}
			})
		})
	}
}

func (h *userAccounts) eraseAll(limit int) {
	h.t.Helper()
	for more := true; more; {
		var err error
		if more, err = bankstore.EraseWithdrawn(h.t.Context(), h.db, limit); err != nil {
			h.t.Error(err)
			return
		}
	}
}

func (h *userAccounts) rows(table string) int64 {
	h.t.Helper()
	n, err := database.One(h.t.Context(), h.db.Rows(), database.ScanInt, `SELECT count(*) FROM `+table)
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

// TestChangesOfTransactions: a change keeps the user's values, a deleted transaction can
// reappear, and a sync finds its changes.
func TestChangesOfTransactions(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h := newUserAccounts(t, s)
		a, made := h.accounts[0], h.add(0, 0, 1)
		s.write(func(tx *store.Tx) error { bankstore.In(tx).TouchAccount(s.domain, a.ID, now, day(0)); return nil })
		a.Readings++
		moved, wording := day(9), "Mine"
		s.write(func(tx *store.Tx) error {
			bankstore.In(tx).EditTransaction(s.domain, 7, made[0].ID, bankstore.TransactionEdit{Wording: &wording, ApplicationDate: &moved, Categories: []string{"food"}}, now)
			return nil
		})
		changed := made[0].TransactionDetails
		changed.Wording = "Shop, corrected"
		s.write(func(tx *store.Tx) error {
			bankstore.In(tx).LoseTransaction(s.domain, a, made[0].ID, now, a.NextReading())
			return nil
		})
		s.write(func(tx *store.Tx) error {
			return bankstore.In(tx).UpdateTransaction(s.domain, a, made[0].ID, changed, now, a.NextReading())
		})
		got, err := bankstore.From(h.db).ChangedTransactions(t.Context(), a, 0, 10)
		if err != nil || len(got) != 1 || got[0].Wording != "Shop, corrected" || got[0].CustomWording != "Mine" || got[0].ApplicationDate != moved ||
			got[0].Deleted != nil || !slices.Equal(got[0].Categories, []string{"food"}) {
			t.Errorf("after the change: %+v (%v)", got, err)
		}
		encoded, err := bankstore.EncodeDetails(changed)
		known, err2 := bankstore.From(h.db).KnownByKey(t.Context(), bankstore.SyncedTransactions(a), []string{changed.Key, "no such key"})
		if want := (bankstore.Known{ID: int64(made[0].ID), Key: changed.Key, Digest: encoded.Digest}); errors.Join(err, err2) != nil || len(known) != 1 || known[changed.Key] != want {
			t.Errorf("known %v, want %v (%v)", known, want, err2)
		}
		var from []int64
		err = bankstore.From(h.db).EachKey(t.Context(), bankstore.SyncedTransactions(a), day(1), func(id int64, _ string) { from = append(from, id) })
		if err != nil || !slices.Equal(from, []int64{int64(made[1].ID)}) {
			t.Errorf("from a day on: %v (%v)", from, err)
		}
	})
}

func TestConnections(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h := newUserAccounts(t, s)
		c := h.connection
		values, memory, err := bankstore.From(s.db).ConnectionSecrets(t.Context(), s.domain, c.ID)
		if err != nil || values["password"] != "secret" || memory != nil {
			t.Fatalf("%v %q (%v)", values, memory, err)
		}
		s.write(func(tx *store.Tx) error { return bankstore.In(tx).SetConnectionMemory(c, []byte("token")) })
		if _, memory, err = bankstore.From(s.db).ConnectionSecrets(t.Context(), s.domain, c.ID); err != nil || string(memory) != "token" {
			t.Errorf("memory %q (%v)", memory, err)
		}
		wantError(t, s.try(func(tx *store.Tx) error {
			bankstore.In(tx).LeaseConnection(s.domain, c.ID, "other", time.Minute)
			return nil
		}), store.ErrConflict)
		s.write(func(tx *store.Tx) error {
			bankstore.In(tx).ReleaseConnection(s.domain, c.ID, reader, false)
			return nil
		})
		wantError(t, s.try(func(tx *store.Tx) error {
			bankstore.In(tx).KeepConnection(s.domain, c.ID, reader, time.Minute)
			return nil
		}), store.ErrConflict)
		due := now.Add(-time.Hour)
		c.State, c.Message, c.NextTry, c.Version = passerelle.WebsiteUnavailable, "closed", &due, 1
		s.write(func(tx *store.Tx) error { bankstore.In(tx).SaveConnection(c, 0); return nil })
		wantError(t, s.try(func(tx *store.Tx) error { bankstore.In(tx).SaveConnection(c, 0); return nil }), store.ErrConflict)
		got, err := bankstore.From(s.db).ConnectionsDue(t.Context(), s.domain, now, 5)
		if err != nil || len(got) != 1 {
			t.Fatalf("due: %v (%v)", got, err)
		}
		c.UnattendedFrom = got[0].UnattendedFrom
		wantSame(t, c, got[0], nil)
		none, err := bankstore.From(s.db).Connection(t.Context(), s.domain, 8, c.ID)
		wantNotFound(t, none, err)
	})
}

// TestPlansOfTransactions: a page is read from an index in its order, for any number of
// transactions.
func TestPlansOfTransactions(t *testing.T) {
	s := newFixture(t, storetest.SQLite(t))
	h := newUserAccounts(t, s)
	engine := explain(s)
	for name, with := range map[string]func(*bankstore.TransactionFilter){
		"transaction_of_user (domain_id=? AND user_id=?":                        func(*bankstore.TransactionFilter) {},
		"transaction_of_user_by_date (domain_id=? AND user_id=?":                func(f *bankstore.TransactionFilter) { f.ByDate = true },
		"transaction_of_account (account_id=? AND epoch=?":                      func(f *bankstore.TransactionFilter) { f.Account = h.accounts[0].ID },
		"transaction_of_account_by_date (account_id=? AND epoch=?":              func(f *bankstore.TransactionFilter) { f.Account, f.ByDate = h.accounts[0].ID, true },
		"transaction_of_user (domain_id=? AND user_id=? AND application_date>?": func(f *bankstore.TransactionFilter) { f.From = day(1) },
		"transaction_of_connection (connection_id=?":                            func(f *bankstore.TransactionFilter) { f.Connection = h.connection.ID },
		"transaction_of_connection_by_date (connection_id=?":                    func(f *bankstore.TransactionFilter) { f.Connection, f.ByDate = h.connection.ID, true },
	} {
		f := h.filter()
		with(&f)
		engine.plans = nil
		if _, err := bankstore.From(s.db).Transactions(t.Context(), f, store.Window{Limit: 5, From: []any{"2026-01-05", int64(3)}}); err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(engine.plans, "; ")
		if !strings.Contains(plan, name) || strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "SCAN") {
			t.Errorf("%s: %s", name, plan)
		}
	}
}

// TestTransactionsOfAConnection: the list of a connection contains the transactions of all its
// accounts, for any number of accounts.
func TestTransactionsOfAConnection(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h, other := newUserAccounts(t, s), newUserAccounts(t, s)
		const many = 60
		for len(h.accounts) < many {
			h.enable(fmt.Sprint("k", len(h.accounts)))
		}
		own := map[passerelle.TransactionID]bool{}
		for i := range h.accounts {
			for _, one := range h.add(i, i%7, i%5) {
				own[one.ID] = true
			}
		}
		other.add(0, 1, 2, 3)
		f := h.filter()
		f.Connection = h.connection.ID
		there := h.pages(f)
		for _, id := range there {
			if !own[id] {
				t.Errorf("%d is of another connection", id)
			}
		}
		if len(there) != 4*many || h.countTransactions(t, f) != 2*many {
			t.Errorf("%d rows there and back, %d counted", len(there), h.countTransactions(t, f))
		}
	})
}

// TestLabelsInAnyCase checks that the case of letters does not matter, in any script, and that
// accents do. A wording set by the user replaces the wording of the bank.
func TestLabelsInAnyCase(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h := newUserAccounts(t, s)
		labels := []string{"CAFÉ DE LA GARE", "Bäckerei Großmann", "ΟΔΟΣ ΑΘΗΝΑΣ", "Интернет", "100% COTON_BIO!", "MARCHE"}
		for i, label := range labels {
			one := passerelle.Transaction{TransactionDetails: passerelle.TransactionDetails{
				Key: label, Date: day(i), RDate: day(i), Type: "card", Wording: label, Value: decimal.MustNew(1, 0),
			}, ApplicationDate: day(i), Scraped: now, LastUpdate: now}
			s.write(func(tx *store.Tx) error {
				bankstore.In(tx).CountTransactions(s.domain, h.accounts[0], 1, 0)
				return bankstore.In(tx).CreateTransactions(s.domain, h.accounts[0], 1, bankstore.NewTransaction{Transaction: &one})
			})
			if custom := "ÉTÉ à la mer"; label == "MARCHE" {
				s.write(func(tx *store.Tx) error {
					bankstore.In(tx).EditTransaction(s.domain, 7, one.ID, bankstore.TransactionEdit{Wording: &custom}, now)
					return nil
				})
			}
		}
		for part, want := range map[string]string{
			"café": "01", "CAFÉ de": "01", "cafe": "", "bÄCK": "02", "GROSSMANN": "02", "großm": "02", "οδός": "", "οδοσ αθ": "03", "οδος ΑΘ": "03",
			"ИНТЕР": "04", "0% coton_": "05", "BIO!": "05", "%": "05", "_": "05", "été À": "06", "marche": "",
		} {
			for name, f := range map[string]bankstore.TransactionFilter{"wording": {Wording: part}, "search": {Search: part}} {
				f.Domain, f.User = s.domain, 7
				if got := h.days(f); got != want {
					t.Errorf("%s %q: %q, want %q", name, part, got, want)
				}
			}
		}
		none := ""
		s.write(func(tx *store.Tx) error {
			bankstore.In(tx).EditTransaction(s.domain, 7, h.found(t, "été")[0].ID, bankstore.TransactionEdit{Wording: &none}, now)
			return nil
		})
		if got := h.found(t, "marché"); len(got) > 0 || len(h.found(t, "Marche")) != 1 {
			t.Errorf("without a label of the person's: %v", got)
		}
	})
}

func (h *userAccounts) found(t *testing.T, label string) []passerelle.Transaction {
	t.Helper()
	f := h.filter()
	f.Wording = label
	return h.readTransactions(t, f, store.Window{Limit: 10})
}

// pages returns the ids of a list read forward and backward, by cursors and by offsets.
func (h *userAccounts) pages(f bankstore.TransactionFilter) (ids []passerelle.TransactionID) {
	h.t.Helper()
	const size = 30
	read := func(w store.Window) []passerelle.Transaction {
		page, err := bankstore.From(h.db).Transactions(h.t.Context(), f, w)
		if err != nil {
			h.t.Fatal(err)
		}
		return page
	}
	place := func(t passerelle.Transaction) []any { return []any{t.ApplicationDate.String(), int64(t.ID)} }
	w := store.Window{Limit: size}
	for page := read(w); len(page) > 0; page = read(w) {
		for i, one := range read(store.Window{Limit: size, Offset: int64(len(ids))}) {
			if one.ID != page[i].ID {
				h.t.Errorf("offset %d: %d, want %d", len(ids)+i, one.ID, page[i].ID)
			}
		}
		for _, one := range page {
			ids = append(ids, one.ID)
		}
		w.From = place(page[len(page)-1])
	}
	back := store.Window{Limit: 2 * len(ids), Backward: true, From: []any{"0001-01-01", int64(0)}}
	for _, one := range read(back) {
		ids = append(ids, one.ID)
	}
	return ids
}
