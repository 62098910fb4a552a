package bankstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

func (h *userAccounts) assets(account int, reading int64, list ...bankstore.NewAsset) {
	h.t.Helper()
	h.write(func(tx *store.Tx) error {
		for _, n := range list {
			if err := bankstore.In(tx).CreateAsset(h.domain, h.Accounts[account], n, now, reading); err != nil {
				return err
			}
		}
		return nil
	})
}

func fund(key string, n int, value string) bankstore.NewAsset {
	worth := decimal.MustParse(value)
	return bankstore.NewAsset{
		Kind: bankstore.Investments, Key: key, Date: day(n), Details: passerelle.InvestmentDetails{Key: key, UnitValue: &worth, ValueDate: day(n)},
		Value: &passerelle.UnitValue{Value: worth, OriginalCurrency: "USD", OriginalValue: &worth},
	}
}

func pocketOf(investment, key string) bankstore.NewAsset {
	return bankstore.NewAsset{Kind: bankstore.Pockets, Key: key, Investment: investment, Details: passerelle.PocketDetails{Key: key, Investment: investment}}
}

// listed reads the keys in pages of two, and compares their number with the count.
func listed[D any](h *userAccounts, f bankstore.AssetFilter, key func(D) string) string {
	h.t.Helper()
	var keys []string
	w := store.Window{Limit: 2}
	for {
		page, err := bankstore.ReadAssets[D](h.t.Context(), bankstore.From(h.db), f, w)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, one := range page {
			keys = append(keys, key(one.Details))
			w.From = []any{int64(one.ID)}
		}
		if len(page) < w.Limit {
			break
		}
	}
	if n, err := bankstore.From(h.db).CountAssets(h.t.Context(), f); err != nil || int(n) != len(keys) {
		h.t.Errorf("counted %d (%v), listed %v", n, err, keys)
	}
	return strings.Join(keys, " ")
}

func keyOfFund(d passerelle.InvestmentDetails) string { return d.Key }
func keyOfPocket(d passerelle.PocketDetails) string   { return d.Key }

func TestAssets(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h := newUserAccounts(t, s)
		h.assets(0, 1, fund("x", 1, "10"), fund("y", 1, "20"), pocketOf("x", "x"), pocketOf("y", "p"), pocketOf("", "q"))
		h.assets(1, 2, fund("x", 1, "30"))
		funds := bankstore.AssetFilter{Domain: s.domain, User: 7, Kind: bankstore.Investments}
		all, err := bankstore.ReadAssets[passerelle.InvestmentDetails](t.Context(), bankstore.From(s.db), funds, store.Window{Limit: 10})
		if err != nil || len(all) != 3 {
			t.Fatalf("%d investments (%v)", len(all), err)
		}
		for name, test := range map[string]struct {
			with func(*bankstore.AssetFilter)
			want string
		}{
			"all":             {func(*bankstore.AssetFilter) {}, "x y x"},
			"of an account":   {func(f *bankstore.AssetFilter) { f.Account = h.Accounts[1].ID }, "x"},
			"of accounts":     {func(f *bankstore.AssetFilter) { f.Accounts = []passerelle.AccountID{h.Accounts[1].ID, 99} }, "x"},
			"of no accounts":  {func(f *bankstore.AssetFilter) { f.Accounts = []passerelle.AccountID{} }, ""},
			"of a connection": {func(f *bankstore.AssetFilter) { f.Connection = h.Connection.ID }, "x y x"},
			"of another one":  {func(f *bankstore.AssetFilter) { f.Connection = 99 }, ""},
			"of another user": {func(f *bankstore.AssetFilter) { f.User = 8 }, ""},
			"of a domain":     {func(f *bankstore.AssetFilter) { f.Domain = s.other }, ""},
			"of a reading":    {func(f *bankstore.AssetFilter) { f.Reading = 2 }, "x"},
			"none of":         {func(f *bankstore.AssetFilter) { f.IDs = []passerelle.AssetID{} }, ""},
			"one":             {func(f *bankstore.AssetFilter) { f.IDs = []passerelle.AssetID{all[1].ID} }, "y"},
		} {
			f := funds
			test.with(&f)
			if got := listed(h, f, keyOfFund); got != test.want {
				t.Errorf("%s: %q, want %q", name, got, test.want)
			}
		}
		pockets := bankstore.AssetFilter{Domain: s.domain, User: 7, Kind: bankstore.Pockets}
		of := pockets
		of.Investment = all[0].ID
		if got := listed(h, pockets, keyOfPocket) + "|" + listed(h, of, keyOfPocket); got != "x p q|x" {
			t.Errorf("pockets %q", got)
		}
		wantError(t, s.try(func(tx *store.Tx) error {
			return bankstore.In(tx).CreateAsset(s.domain, h.Accounts[1], fund("x", 2, "1"), now, 3)
		}), store.ErrDuplicate)
	})
}

// TestChangesOfAssets checks that earlier values are kept, that each day has one value, and that a
// deleted asset can come back.
func TestChangesOfAssets(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h := newUserAccounts(t, s)
		a := h.Accounts[0]
		h.assets(0, 1, fund("x", 1, "10"))
		f := bankstore.AssetFilter{Domain: s.domain, User: 7, Kind: bankstore.Investments, All: true}
		read := func() passerelle.Asset[passerelle.InvestmentDetails] {
			all, err := bankstore.ReadAssets[passerelle.InvestmentDetails](t.Context(), bankstore.From(s.db), f, store.Window{Limit: 10})
			if err != nil || len(all) != 1 {
				t.Fatalf("%+v (%v)", all, err)
			}
			return all[0]
		}
		id := read().ID
		for i, n := range []bankstore.NewAsset{fund("x", 1, "11"), fund("x", 2, "12"), fund("x", 2, "12.50")} {
			s.write(func(tx *store.Tx) error { return bankstore.In(tx).UpdateAsset(s.domain, a, id, n, now, int64(i)) })
		}
		if got := read(); got.Details.UnitValue.String() != "12.50" || got.Previous == nil || got.Previous.UnitValue.String() != "11" {
			t.Errorf("%+v before %+v", got.Details, got.Previous)
		}
		s.write(func(tx *store.Tx) error { bankstore.In(tx).LoseAsset(s.domain, a, id, now, 4); return nil })
		known, err := bankstore.From(s.db).KnownByKey(t.Context(), bankstore.SyncedAssets(a), []string{"investment:x", "pocket:x"})
		if err != nil || len(known) != 1 || !known["investment:x"].Deleted || read().Deleted == nil {
			t.Errorf("known %+v (%v)", known, err)
		}
		s.write(func(tx *store.Tx) error {
			return bankstore.In(tx).UpdateAsset(s.domain, a, id, fund("x", 3, "13"), now, 5)
		})
		var ids []int64
		err = bankstore.From(s.db).EachKey(t.Context(), bankstore.SyncedAssets(a), passerelle.Date{}, func(id int64, _ string) { ids = append(ids, id) })
		if err != nil || !slices.Equal(ids, []int64{int64(id)}) || read().Deleted != nil {
			t.Errorf("keys of %v (%v)", ids, err)
		}
		h.values3(id)
	})
}

func (h *userAccounts) values3(id passerelle.AssetID) {
	h.t.Helper()
	var got []string
	w := store.Window{Limit: 2}
	for range 2 {
		page, err := bankstore.From(h.db).InvestmentValues(h.t.Context(), h.domain, id, w)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, v := range page {
			got = append(got, fmt.Sprint(v.Date, " ", v.Value, v.OriginalCurrency, v.OriginalValue))
			w.From = []any{v.Date.String(), v.ID}
		}
	}
	if want := "2026-01-04 13USD13, 2026-01-03 12.50USD12.50, 2026-01-02 11USD11"; strings.Join(got, ", ") != want {
		h.t.Errorf("values %v, want %s", got, want)
	}
	if n, err := bankstore.From(h.db).CountInvestmentValues(h.t.Context(), h.domain, id); err != nil || n != 3 {
		h.t.Errorf("%d values (%v)", n, err)
	}
}

func TestWithdrawnAssets(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h := newUserAccounts(t, s)
		h.assets(0, 1, fund("x", 1, "10"), pocketOf("x", "p"))
		h.assets(1, 1, fund("z", 1, "10"))
		worth := passerelle.Worth{Valuation: new(decimal.MustParse("10")), Calculated: []string{"valuation"}}
		s.write(func(tx *store.Tx) error { return bankstore.In(tx).SetAccountWorth(s.domain, h.Accounts[0], &worth) })
		stored, err := bankstore.From(s.db).AccountsOf(t.Context(), s.domain, h.Connection.ID)
		if err != nil || stored[0].Worth == nil || !stored[0].Worth.Equal(worth) || stored[1].Worth != nil {
			t.Errorf("worth %+v (%v)", stored[0].Worth, err)
		}
		s.write(func(tx *store.Tx) error {
			bankstore.In(tx).DisableAccounts(s.domain, 7, now, h.Accounts[0])
			return nil
		})
		f := bankstore.AssetFilter{Domain: s.domain, User: 7, Kind: bankstore.Investments, All: true}
		if got := listed(h, f, keyOfFund); got != "z" {
			t.Errorf("listed %q", got)
		}
		wantError(t, s.try(func(tx *store.Tx) error { bankstore.In(tx).KeepAccount(s.domain, h.Accounts[0]); return nil }), store.ErrConflict)
		h.eraseAll(1)
		if assets, values := h.rows("asset"), h.rows("investment_value"); assets != 1 || values != 1 {
			t.Errorf("%d assets and %d values are left", assets, values)
		}
		s.write(func(tx *store.Tx) error {
			bankstore.In(tx).DeleteConnection(s.domain, 7, h.Connection.ID, now)
			return nil
		})
		if got := listed(h, f, keyOfFund); got != "" {
			t.Errorf("of a deleted connection: %q", got)
		}
		h.eraseAll(1)
		if assets, values := h.rows("asset"), h.rows("investment_value"); assets+values != 0 {
			t.Errorf("%d assets and %d values are left", assets, values)
		}
	})
}
