package aggregation_test

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/aggregation"
	"passerelle/internal/store/storetest"
)

// memory returns the reachable heap at the last collection, and the anonymous resident memory of
// the process. The database engine allocates memory outside the Go heap.
func memory(t *testing.T) (live, anonymous int64) {
	t.Helper()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	status, err := os.ReadFile("/proc/self/status")
	must(t, err)
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	pages, err := strconv.ParseInt(number, 10, 64)
	must(t, err)
	return int64(sample[0].Value.Uint64()), pages << 10
}

// most returns the largest growth of the memory while the function runs. It measures at each call
// of the clock.
func (h *fixture) most(run func()) (live, anonymous int64) {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	debug.FreeOSMemory() // collects garbage, so that the initial value is exact
	liveBefore, anonymousBefore := memory(h.t)
	clock := h.Now
	defer func() { h.Now = clock }()
	inspect := func() {
		a, b := memory(h.t)
		live, anonymous = max(live, a-liveBefore), max(anonymous, b-anonymousBefore)
	}
	h.Now = func() time.Time {
		inspect()
		return clock()
	}
	run()
	inspect()
	return live, anonymous
}

// TestLongHistoryNeedsLittleMemory checks that the first read of an account with 50,000
// transactions, with its events, needs at most 128 MiB of memory.
func TestLongHistoryNeedsLittleMemory(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		_, err := h.connect("big", "1234")
		must(t, err)
		h.share(h.accounts(true)[0], true)
		live, anonymous := h.most(func() {
			if h.sync() != 1 {
				t.Error("nothing was read")
			}
		})
		if n := h.transactions(); n != 50_000 {
			t.Errorf("%d transactions", n)
		}
		t.Logf("the live heap grew by %d KiB, anonymous memory by %d KiB", live>>10, anonymous>>10)
		if live+anonymous > 128<<20 {
			t.Errorf("the live heap grew by %d MiB, anonymous memory by %d MiB", live>>20, anonymous>>20)
		}
	})
}

// changedByReads contains the columns that a read without changes may write, by table.
var changedByReads = map[string][]string{
	"bank_account":      {"last_update", "readings"},
	"subscription":      {"last_update", "readings"},
	"connection":        {"last_update", "last_push", "next_try", "consent_until", "memory", "version", "sync"},
	"connection_source": {"last_update", "access_expire", "next_try"},
}

// kept returns a query for each column that a read without changes must not write.
func kept(eyes *storetest.Inspection) map[string]string {
	queries := map[string]string{}
	for table, columns := range eyes.Columns() {
		for _, column := range columns {
			if !tellTale[table] && !slices.Contains(changedByReads[table], column) {
				queries[table+"."+column] = `SELECT "` + columns[0] + `", "` + column + `" FROM "` + table + `"`
			}
		}
	}
	return queries
}

// tellTale contains the tables that record a read without changes.
var tellTale = map[string]bool{"event": true, "delivery": true, "connection_log": true, "sequence": true, "counter": true}

// TestNothingNewWritesNothing checks that a read without changes writes only the columns of
// changedByReads and rows of tellTale. The read must still emit its events, with empty lists.
func TestNothingNewWritesNothing(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
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
		kept := kept(eyes)
		before, rows := eyes.Lines(kept), eyes.Rows()
		h.now = h.now.Add(time.Hour)
		c, err = h.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{})
		if err != nil || c.State != "" || c.LastUpdate == nil || !c.LastUpdate.Equal(h.now) {
			t.Errorf("read again: %+v (%v)", c, err)
		}
		if diff := cmp.Diff(before, eyes.Lines(kept)); diff != "" {
			t.Errorf("a read without changes wrote these columns; add a column to changedByReads if each read must write it (-before +after):\n%s", diff)
		}
		for table, n := range eyes.Rows() {
			if n != rows[table] && !tellTale[table] {
				t.Errorf("%d rows of %s came", n-rows[table], table)
			}
		}
		h.wantNoEvents()
	})
}

// wantNoEvents checks the events of a read that finds no changes in four accounts.
func (h *fixture) wantNoEvents() {
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
		if list, supplied := account.(map[string]any)["transactions"].([]any); !supplied || len(list) > 0 {
			h.t.Errorf("%d transactions are told of", len(list))
		}
	}
}
