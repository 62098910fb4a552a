package aggregation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

func (h *fixture) positions() []passerelle.Asset[passerelle.InvestmentDetails] {
	h.t.Helper()
	all, err := bankstore.ReadAssets[passerelle.InvestmentDetails](h.t.Context(), bankstore.From(h.DB),
		bankstore.AssetFilter{Domain: h.domain.ID, User: h.user.ID, Kind: bankstore.Investments, All: true}, store.Window{Limit: 100})
	must(h.t, err)
	return all
}

func (h *fixture) held(kind bankstore.AssetKind) int64 {
	h.t.Helper()
	n, err := bankstore.From(h.DB).CountAssets(h.t.Context(), bankstore.AssetFilter{Domain: h.domain.ID, User: h.user.ID, Kind: kind})
	must(h.t, err)
	return n
}

func (h *fixture) sharedAssets() bankstore.Connection {
	h.t.Helper()
	c, err := h.connect("wealth", "1234")
	must(h.t, err)
	for _, a := range h.accounts(true) {
		h.share(a, true)
	}
	h.events()
	if h.sync() != 1 {
		h.t.Fatal("nothing was read")
	}
	return c
}

func members(object any, names ...string) []int {
	var lengths []int
	for _, name := range names {
		list, _ := object.(map[string]any)[name].([]any)
		lengths = append(lengths, len(list))
	}
	return lengths
}

func assetEvents(accounts []any) (sum [3]int) {
	for _, a := range accounts {
		lengths := members(a, "investments", "market_orders")
		sum[0], sum[2] = sum[0]+lengths[0], sum[2]+lengths[1]
		for _, i := range a.(map[string]any)["investments"].([]any) {
			sum[1] += members(i, "pockets")[0]
		}
	}
	return sum
}

func (h *fixture) lastEventAccounts() []any {
	h.t.Helper()
	events := h.events()
	return events[len(events)-1].body["connection"].(map[string]any)["accounts"].([]any)
}

// TestAssets checks that assets are read and reported, change from day to day, and disappear when
// the user stops sharing the account.
func TestAssets(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		h.sharedAssets()
		last := h.lastEventAccounts()
		if got := assetEvents(last); got != [3]int{8, 3, 4} {
			t.Errorf("told of %v investments, pockets and orders", got)
		}
		if n := []int64{h.held(bankstore.Investments), h.held(bankstore.Pockets), h.held(bankstore.MarketOrders), h.held(bankstore.Amortizations)}; !slices.Equal(n, []int64{8, 3, 4, 240}) {
			t.Errorf("%v things are held", n)
		}
		for _, a := range h.accounts(false) {
			if invests := a.Type.Details().Invest; invests != (a.Worth != nil) {
				t.Errorf("%s is worth %+v", a.Key, a.Worth)
			}
		}
		h.nextDayOfAssets()
		for _, a := range h.accounts(true) {
			h.share(a, false)
		}
		must(t, h.EraseWithdrawn(t.Context()))
		rows := storetest.Inspect(t, h.url).Rows()
		if rows["asset"]+rows["investment_value"] != 0 || len(h.positions()) != 0 {
			t.Errorf("%d assets and %d values are left", rows["asset"], rows["investment_value"])
		}
	})
}

// nextDayOfAssets checks that prices have moved, that a position was sold and that an order has
// ended.
func (h *fixture) nextDayOfAssets() {
	h.t.Helper()
	h.now = h.now.Add(24 * time.Hour)
	if h.sync() != 1 {
		h.t.Fatal("the next day nothing was read")
	}
	gone := 0
	for _, a := range h.positions() {
		if a.Deleted != nil {
			gone++
		} else if a.Previous == nil || !passerelle.WorthOf(a).Valuation.IsPos() || passerelle.WorthOf(a).PrevDiff == nil {
			h.t.Errorf("%s: %+v", a.Details.Label, a)
		}
	}
	if n := h.held(bankstore.MarketOrders); gone != 1 || n != 3 {
		h.t.Errorf("%d positions are gone, %d orders are there", gone, n)
	}
	for _, a := range h.accounts(false) {
		if a.Worth != nil && a.Worth.PrevDiff == nil {
			h.t.Errorf("%s has gained nothing: %+v", a.Key, a.Worth)
		}
	}
	last := h.lastEventAccounts()
	if got := assetEvents(last); got != [3]int{8, 3, 1} { // pockets change with the unit value
		h.t.Errorf("told of %v investments, pockets and orders", got)
	}
}

// TestSameAssetsWriteNothing checks that a second read on the same day writes no assets and reports
// no assets.
func TestSameAssetsWriteNothing(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c := h.sharedAssets()
		eyes := storetest.Inspect(t, h.url)
		kept := map[string]string{"assets": `SELECT * FROM asset`, "values": `SELECT * FROM investment_value`, "accounts": `SELECT id, worth, changed FROM bank_account`}
		before := eyes.Lines(kept)
		h.now = h.now.Add(time.Hour)
		h.events()
		_, err := h.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{})
		must(t, err)
		if diff := cmp.Diff(before, eyes.Lines(kept)); diff != "" {
			t.Errorf("written (-before +after):\n%s", diff)
		}
		last := h.lastEventAccounts()
		if got := assetEvents(last); got != [3]int{} || len(last) != 6 {
			t.Errorf("told of %v investments, pockets and orders of %d accounts", got, len(last))
		}
	})
}
