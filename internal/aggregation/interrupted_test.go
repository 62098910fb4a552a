package aggregation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/aggregation"
)

// stopping returns a read that executes another read and then ends the process. It also returns the
// context of this process.
func stopping(t *testing.T, first reading) (reading, context.Context) {
	process, stop := context.WithCancel(t.Context())
	return func(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
		_, err := first(ctx, req, out)
		must(t, err)
		stop()
		<-ctx.Done()
		return connector.Outcome{}, ctx.Err()
	}, process
}

// rowsOf counts the transactions and documents of an event, and its deleted accounts.
func rowsOf(e event) (transactions, documents, deleted int) {
	all := e.body
	if c, is := e.body["connection"].(map[string]any); is {
		all = c
	}
	if of, is := all["transactions"].([]any); is {
		transactions += len(of)
	}
	accounts, _ := all["accounts"].([]any)
	for _, a := range accounts {
		account := a.(map[string]any)
		of, _ := account["transactions"].([]any) // ACCOUNTS_FETCHED has none
		transactions += len(of)
		if account["deleted"] != nil {
			deleted++
		}
	}
	subscriptions, _ := all["subscriptions"].([]any)
	for _, s := range subscriptions {
		documents += len(s.(map[string]any)["documents"].([]any))
	}
	return transactions, documents, deleted
}

// TestInterruptedSyncsAreReported checks that the events at the end of a sync contain the
// transactions and documents that interrupted syncs have read, even after a failed sync. If no sync
// failed in between, the events also report the attachments and the account that the bank no longer
// lists. A later sync must not report this data again.
func TestInterruptedSyncsAreReported(t *testing.T) {
	for name, between := range map[string]int{"next": 0, "after a failure": 1} {
		t.Run(name, func(t *testing.T) {
			amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
				c := h.established(s)
				for _, a := range h.accounts(true) {
					h.share(a, true)
				}
				h.shareSubscription(c.ID, "s")
				h.events()
				b := soundBooks()
				b.accounts = b.accounts[:1]
				b.transactions[0].Attachments = receipts(1)
				for range 2 {
					read, process := stopping(t, b.read)
					s.read = read
					if _, err := h.SyncDue(process, h.domain); !errors.Is(err, context.Canceled) {
						t.Fatal(err)
					}
				}
				for range between {
					s.read = ending(connector.Outcome{State: passerelle.WebsiteUnavailable})
					_, err := h.resume(c.ID)
					must(t, err)
				}
				h.events()
				s.read = b.read
				for _, want := range [][3]int{{3, 1, 1 - between}, {0, 0, 0}} {
					_, err := h.resume(c.ID)
					must(t, err)
					events := h.events()
					if between == 0 && strings.Contains(names(events), "ATTACHMENTS") != (want[0] > 0) {
						t.Errorf("events %s", names(events))
					}
					for _, e := range events {
						transactions, documents, deleted := rowsOf(e)
						if e.name == "CONNECTION_SYNCED" && [3]int{transactions, documents, deleted} != want || e.name == "ACCOUNT_CATEGORIZED" && transactions != want[0] {
							t.Errorf("%s has %d transactions, %d documents and %d deleted accounts, want %v", e.name, transactions, documents, deleted, want)
						}
					}
				}
			})
		})
	}
}

// TestInterruptedDeletionsAreReported checks that a failed sync reports, once, the account and the
// subscription that an interrupted sync marked as deleted.
func TestInterruptedDeletionsAreReported(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		c := h.established(s)
		for _, a := range h.accounts(true) {
			h.share(a, true)
		}
		h.shareSubscription(c.ID, "u")
		b := soundBooks()
		b.accounts, b.subscriptions = b.accounts[:1], b.subscriptions[:1]
		read, process := stopping(t, b.read)
		s.read = read
		if _, err := h.SyncDue(process, h.domain); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		s.read = ending(connector.Outcome{State: passerelle.WebsiteUnavailable})
		for _, want := range []string{"Other Phone", ""} {
			h.events()
			_, err := h.resume(c.ID)
			must(t, err)
			for _, e := range h.events() {
				if got := deletedIn(e); e.name == "CONNECTION_SYNCED" && got != want {
					t.Errorf("the failed sync reports as deleted %q, want %q", got, want)
				}
			}
		}
	})
}

// deletedIn returns the names of the deleted accounts and subscriptions of an event.
func deletedIn(e event) string {
	var gone []string
	c, _ := e.body["connection"].(map[string]any)
	for list, name := range map[string]string{"accounts": "original_name", "subscriptions": "label"} {
		items, _ := c[list].([]any)
		for _, item := range items {
			if of := item.(map[string]any); of["deleted"] != nil {
				gone = append(gone, fmt.Sprint(of[name]))
			}
		}
	}
	slices.Sort(gone)
	return strings.Join(gone, " ")
}

// TestInterruptedReadOfAnInactiveConnection ends the process during a background read of an
// inactive connection. It checks that the service repeats the read. Otherwise the state would stay
// validating.
func TestInterruptedReadOfAnInactiveConnection(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id, inactive := h.shared(s), false
		read, process := stopping(t, ending(connector.Outcome{}))
		s.read = read
		_, err := h.Resume(t.Context(), h.domain, h.user.ID, id, aggregation.Request{Background: true, Active: &inactive})
		must(t, err)
		h.waiting[0](process)
		if c := h.loaded(id); process.Err() == nil || c.State != passerelle.Validating || c.Active {
			t.Fatalf("a stop leaves %+v", c)
		}
		s.read = soundBooks().read
		for _, want := range []int{1, 0} {
			if got := h.sync(); got != want {
				t.Errorf("%d connections are read, want %d", got, want)
			}
		}
		if c := h.loaded(id); c.State != "" || c.Active {
			t.Errorf("after the stop: %+v", c)
		}
	})
}
