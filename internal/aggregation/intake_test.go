package aggregation_test

import (
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/aggregation"
	"passerelle/internal/store/storetest"
)

// liveHeap is what was reachable at the last collection.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// most follows the live heap while something runs, each time the clock is read.
func (h *home) most(run func()) (growth int64) {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	debug.FreeOSMemory() // collects, so that the beginning is known
	before, peak := liveHeap(), uint64(0)
	clock := h.Now
	defer func() { h.Now = clock }()
	h.Now = func() time.Time {
		peak = max(peak, liveHeap())
		return clock()
	}
	run()
	return int64(max(peak, liveHeap())) - int64(before)
}

// TestLongHistoryNeedsLittleMemory: the first read of an account with 50,000
// transactions holds pages of it, never the whole, and so do its events.
func TestLongHistoryNeedsLittleMemory(t *testing.T) {
	atHome(t, func(t *testing.T, h *home) {
		_, err := h.connect("big", "1234")
		must(t, err)
		h.share(h.accounts(true)[0], true)
		growth := h.most(func() {
			if h.sync() != 1 {
				t.Error("nothing was read")
			}
		})
		if n := h.transactions(); n != 50_000 {
			t.Errorf("%d transactions", n)
		}
		t.Logf("the live heap grew by %d KiB", growth>>10)
		if growth > 128<<20 {
			t.Errorf("the live heap grew by %d MiB", growth>>20)
		}
	})
}

// kept are what a read of the same leaves as it is: everything but when it was
// read.
var kept = map[string]string{
	"transactions": `SELECT * FROM bank_transaction`,
	"accounts": `SELECT id, key, type, details, digest, custom_name, display, bookmarked, usage, disabled, deleted, error, covered_from, epoch, transactions,
		deleted_transactions, changed FROM bank_account`,
	"subscriptions": `SELECT id, key, details, digest, disabled, deleted, error, epoch, documents, changed FROM subscription`,
	"documents":     `SELECT * FROM document`,
	"consents":      `SELECT * FROM consent`,
}

// tellTale are the tables that tell of a read that found nothing new.
var tellTale = map[string]bool{"event": true, "delivery": true, "connection_log": true, "sequence": true, "counter": true}

// TestNothingNewWritesNothing: a read of what is known already writes when it
// was, and tells of it all the same, with empty lists.
func TestNothingNewWritesNothing(t *testing.T) {
	atHome(t, func(t *testing.T, h *home) {
		c, err := h.connect("anna", "1234")
		must(t, err)
		for _, a := range h.accounts(true) {
			h.share(a, true)
		}
		if h.sync() != 1 || h.transactions() == 0 {
			t.Fatal("nothing was read")
		}
		h.events()
		eyes := storetest.Inspect(t, h.url)
		before, rows := eyes.Lines(kept), eyes.Rows()
		h.now = h.now.Add(time.Hour)
		c, err = h.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{})
		if err != nil || c.State != "" || c.LastUpdate == nil || !c.LastUpdate.Equal(h.now) {
			t.Errorf("read again: %+v (%v)", c, err)
		}
		if diff := cmp.Diff(before, eyes.Lines(kept)); diff != "" {
			t.Errorf("written (-before +after):\n%s", diff)
		}
		for table, n := range eyes.Rows() {
			if n != rows[table] && !tellTale[table] {
				t.Errorf("%d rows of %s came", n-rows[table], table)
			}
		}
		h.toldOfNothing()
	})
}

// toldOfNothing are the events of a read of four accounts without news.
func (h *home) toldOfNothing() {
	h.t.Helper()
	events := h.events()
	want := "ACCOUNTS_FETCHED" + strings.Repeat(" ACCOUNT_SYNCED", 4) + " ACCOUNT_CATEGORIZED ACCOUNT_OWNERSHIPS_FOUND CONNECTION_SYNCED"
	if got := names(events); got != want {
		h.t.Fatalf("events %s, want %s", got, want)
	}
	synced := events[len(events)-1].body["connection"].(map[string]any)["accounts"].([]any)
	if len(synced) != 4 {
		h.t.Errorf("%d accounts are told of", len(synced))
	}
	for _, e := range events[1:6] {
		synced = append(synced, e.body)
	}
	for _, account := range synced {
		if list, given := account.(map[string]any)["transactions"].([]any); !given || len(list) > 0 {
			h.t.Errorf("%d transactions are told of", len(list))
		}
	}
}
