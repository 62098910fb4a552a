package aggregation_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

func (h *fixture) subscriptions() []bankstore.StoredSubscription {
	h.t.Helper()
	all, err := bankstore.From(h.DB).Subscriptions(h.t.Context(), bankstore.SubscriptionFilter{Domain: h.domain.ID, User: h.user.ID, All: true}, store.Window{Limit: 1000})
	must(h.t, err)
	return all
}

// TestSubscriptionThatEnds checks a shared subscription after its last day. The next sync must
// report the subscription as deleted. When the connection is deleted, the service must erase the
// subscription.
func TestSubscriptionThatEnds(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c, err := h.connect("changing", "1234")
		must(t, err)
		if len(h.subscriptions()) == 2 { // on this day no subscription ends
			h.now = h.now.Add(24 * time.Hour)
			h.sync()
		}
		today := passerelle.DateOf(h.now, time.UTC)
		index := slices.IndexFunc(h.subscriptions(), func(s bankstore.StoredSubscription) bool { return s.Validity == today })
		if index < 0 {
			t.Fatalf("none ends on %s: %+v", today, h.subscriptions())
		}
		call := h.subscriptions()[index]
		h.shareSubscription(c.ID, call.Key)
		h.sync()
		h.events()
		h.now = h.now.Add(24 * time.Hour)
		if h.sync() != 1 {
			t.Error("the next day nothing was read")
		}
		h.deletedEvents(call)
		must(t, h.Disconnect(t.Context(), h.domain, h.user.ID, c.ID))
		must(t, h.EraseWithdrawn(t.Context()))
		if left := h.subscriptions(); len(left) != 0 {
			t.Errorf("%d are left", len(left))
		}
		documents, err := bankstore.From(h.DB).Documents(t.Context(), bankstore.DocumentFilter{Domain: h.domain.ID, User: h.user.ID}, store.Window{Limit: 10})
		if err != nil || len(documents) != 0 {
			t.Errorf("%d documents are left (%v)", len(documents), err)
		}
	})
}

// TestOrderOfLostItems checks the event that a sync emits after it has deleted most accounts and
// all subscriptions. The event must list the accounts and subscriptions in the order of their ids.
func TestOrderOfLostItems(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		many := institutionData{}
		for i := range 10 {
			many.accounts = append(many.accounts, passerelle.AccountDetails{Key: fmt.Sprint("a", i), Name: "Account", Type: "savings", Currency: "EUR"})
			many.subscriptions = append(many.subscriptions, passerelle.SubscriptionDetails{Key: fmt.Sprint("s", i), Label: "Power"})
		}
		s.read = many.read
		c, err := h.connect("anna", "1234")
		must(t, err)
		for _, one := range h.accounts(true) {
			h.share(one, true)
		}
		for _, one := range many.subscriptions {
			h.shareSubscription(c.ID, one.Key)
		}
		h.events()
		s.read = institutionData{accounts: many.accounts[:1]}.read
		_, err = h.resume(c.ID)
		must(t, err)
		events := h.events()
		connection := events[len(events)-1].body["connection"].(map[string]any)
		for list, want := range map[string]int{"accounts": 9, "subscriptions": 10} {
			var ids []float64
			for _, one := range connection[list].([]any) {
				ids = append(ids, one.(map[string]any)["id"].(float64))
			}
			if len(ids) != want || !slices.IsSorted(ids) {
				t.Errorf("%s: %v, want %d ids in order", list, ids, want)
			}
		}
	})
}

func (h *fixture) deletedEvents(call bankstore.StoredSubscription) {
	h.t.Helper()
	events := h.events()
	last := events[len(events)-1]
	reported := last.body["connection"].(map[string]any)["subscriptions"].([]any)
	if last.name != "CONNECTION_SYNCED" || len(reported) != 1 || reported[0].(map[string]any)["deleted"] == nil || reported[0].(map[string]any)["id"] != float64(call.ID) {
		h.t.Errorf("%s tells of %v", last.name, reported)
	}
	for _, s := range h.subscriptions() {
		if (s.Deleted != nil) != (s.ID == call.ID) {
			h.t.Errorf("subscription %s is deleted at %v", s.Key, s.Deleted)
		}
	}
	_, err := h.Resume(h.t.Context(), h.domain, h.user.ID, call.Connection, aggregation.Request{})
	must(h.t, err)
}
