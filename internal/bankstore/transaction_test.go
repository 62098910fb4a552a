package bankstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/bankstore/bankstoretest"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

func (h *userAccounts) days(f bankstore.TransactionFilter) string {
	h.t.Helper()
	days := h.daysBy(f)
	if within := h.daysBy(h.Within(f)); within != days {
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
		h.Add(0, 0, 2, 4, 6)
		gone := h.Add(1, 1, 3, 3)
		truth, no := true, decimal.MustNew(-5, 0)
		for name, test := range map[string]struct {
			with func(*bankstore.TransactionFilter)
			want string
		}{
			"all":                {func(*bankstore.TransactionFilter) {}, "07 05 04 04 03 02 01"},
			"of an account":      {func(f *bankstore.TransactionFilter) { f.Account = h.Accounts[1].ID }, "04 04 02"},
			"of a connection":    {func(f *bankstore.TransactionFilter) { f.Connection = h.Connection.ID }, "07 05 04 04 03 02 01"},
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
			f := h.Filter()
			test.with(&f)
			if got := h.days(f); got != test.want {
				t.Errorf("%s: %q, want %q", name, got, test.want)
			}
		}
		span, err := bankstore.From(h.db).TransactionSpan(t.Context(), h.Filter())
		if err != nil || span.First != day(0) || span.Last != day(6) {
			t.Errorf("from %s to %s (%v)", span.First, span.Last, err)
		}
		for i, a := range h.Accounts {
			if c, noted := span.Currency(a.ID); !noted || c != bankstoretest.Currency(i) {
				t.Errorf("account %d is in %q, noted: %t", a.ID, c, noted)
			}
		}
		if _, noted := span.Currency(h.Accounts[len(h.Accounts)-1].ID + 1); noted {
			t.Error("an account that is none is noted")
		}
	})
}

// TestWithdrawnTransactions checks that withdrawn transactions are hidden immediately and erased
// later. CountTransactions must fail for the account as it was before the withdrawal.
func TestWithdrawnTransactions(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h := newUserAccounts(t, s)
		h.Add(0, 0, 1, 2)
		h.Add(1, 3)
		s.write(func(tx *store.Tx) error {
			bankstore.In(tx).DisableAccounts(s.domain, 7, now, h.Accounts[0])
			return nil
		})
		all := h.Filter()
		all.All = true
		if got := h.days(h.Filter()) + " | " + h.days(all); got != "04 | 04" {
			t.Errorf("listed %q", got)
		}
		wantError(t, s.try(func(tx *store.Tx) error {
			bankstore.In(tx).CountTransactions(s.domain, h.Accounts[0], 1, 0)
			return nil
		}), store.ErrConflict)
		h.eraseAll(2)
		if left := h.rows("bank_transaction"); left != 1 {
			t.Errorf("%d transactions are left, want 1", left)
		}
		s.write(func(tx *store.Tx) error {
			bankstore.In(tx).DeleteConnection(s.domain, 7, h.Connection.ID, now)
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

// TestErasersAtOnce checks that simultaneous erasers erase everything. No eraser may remove a row
// through which another eraser finds further rows.
func TestErasersAtOnce(t *testing.T) {
	days := make([]int, 3000)
	for i := range days {
		days[i] = i
	}
	for name, withdraw := range map[string]func(tx *store.Tx, h *userAccounts){
		"an account": func(tx *store.Tx, h *userAccounts) { bankstore.In(tx).DisableAccounts(h.domain, 7, now, h.Accounts[0]) },
		"a connection": func(tx *store.Tx, h *userAccounts) {
			bankstore.In(tx).DeleteConnection(h.domain, 7, h.Connection.ID, now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEachDatabase(t, func(t *testing.T, s fixture) {
				h := newUserAccounts(t, s)
				h.Add(0, days...)
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

// TestChangesOfTransactions checks that a change by the institution keeps the user's values, that a
// deleted transaction can reappear, and that ChangedTransactions lists the transaction.
func TestChangesOfTransactions(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h := newUserAccounts(t, s)
		a, made := h.Accounts[0], h.Add(0, 0, 1)
		s.write(func(tx *store.Tx) error {
			bankstore.In(tx).CountReadings(s.domain, []bankstore.StoredAccount{a}, nil)
			return nil
		})
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

// TestTransactionsOfAConnection checks that the list of a connection contains the transactions of
// all its sixty accounts.
func TestTransactionsOfAConnection(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h, other := newUserAccounts(t, s), newUserAccounts(t, s)
		const many = 60
		for len(h.Accounts) < many {
			h.Enable(fmt.Sprint("k", len(h.Accounts)))
		}
		own := map[passerelle.TransactionID]bool{}
		for i := range h.Accounts {
			for _, one := range h.Add(i, i%7, i%5) {
				own[one.ID] = true
			}
		}
		other.Add(0, 1, 2, 3)
		f := h.Filter()
		f.Connection = h.Connection.ID
		there := h.pages(f)
		for _, id := range there {
			if !own[id] {
				t.Errorf("%d is of another connection", id)
			}
		}
		if len(there) != 4*many || h.Count(f) != 2*many {
			t.Errorf("%d rows there and back, %d counted", len(there), h.Count(f))
		}
	})
}

// TestLabelsInAnyCase checks that searches ignore the case of Latin, Greek and Cyrillic letters,
// but not accents. A wording that the user has set replaces the wording of the bank.
func TestLabelsInAnyCase(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h := newUserAccounts(t, s)
		labels := []string{"CAFÉ DE LA GARE", "Bäckerei Großmann", "ΟΔΟΣ ΑΘΗΝΑΣ", "Интернет", "100% COTON_BIO!", "MARCHE"}
		for i, label := range labels {
			one := passerelle.Transaction{TransactionDetails: passerelle.TransactionDetails{
				Key: label, Date: day(i), RDate: day(i), Type: "card", Wording: label, Value: decimal.MustNew(1, 0),
			}, ApplicationDate: day(i), Scraped: now, LastUpdate: now}
			s.write(func(tx *store.Tx) error {
				bankstore.In(tx).CountTransactions(s.domain, h.Accounts[0], 1, 0)
				return bankstore.In(tx).CreateTransactions(s.domain, h.Accounts[0], 1, bankstore.NewTransaction{Transaction: &one})
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
	f := h.Filter()
	f.Wording = label
	return h.Transactions(f, store.Window{Limit: 10})
}

// pages returns the ids of a list, read forward and then backward. It compares each forward page
// with the page at the same offset.
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
