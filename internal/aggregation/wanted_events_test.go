package aggregation_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/connector"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/webhook"
)

// deafen deletes all webhooks.
func (h *fixture) deafen() {
	h.t.Helper()
	must(h.t, h.DB.Write(h.t.Context(), func(tx *store.Tx) error { tx.DeleteWebhooks(h.domain.ID, h.now); return nil }))
	h.hooks = nil
}

func (h *fixture) registerWebhook() {
	h.t.Helper()
	for _, entry := range webhook.Events() {
		w := store.Webhook{Domain: h.domain.ID, Event: entry.Event, URL: "https://receiver.example", Created: h.now}
		must(h.t, h.DB.Write(h.t.Context(), func(tx *store.Tx) error { return tx.CreateWebhook(&w) }))
		h.hooks = append(h.hooks, w)
	}
}

// bodies returns the bodies of the events about connections and of USER_SYNCED, by event name.
func (h *fixture) bodies() map[string]string {
	h.t.Helper()
	all := map[string]string{}
	for _, e := range storetest.Inspect(h.t, h.url).Events() {
		if e.Subject == "connection" || e.Name == "USER_SYNCED" {
			all[e.Name] = e.Body
		}
	}
	return all
}

// TestUnwantedEvents checks that an event to which no webhook is subscribed is stored without a
// body and without a delivery.
func TestUnwantedEvents(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		h.deafen()
		before := storetest.Inspect(t, h.url).Rows()["delivery"]
		h.shared(s)
		h.shared(s)
		_, err := h.SyncAll(t.Context(), h.domain, h.user.ID, true)
		must(t, err)
		want := map[string]string{}
		for _, name := range []string{
			"ACCOUNTS_FETCHED", "ACCOUNT_FOUND", "ACCOUNT_ENABLED", "ACCOUNT_SYNCED", "SUBSCRIPTION_FOUND", "SUBSCRIPTION_SYNCED",
			"ACCOUNT_CATEGORIZED", "ACCOUNT_OWNERSHIPS_FOUND", "CONNECTION_SYNCED", "CONNECTION_CERTIFICATE_AVAILABLE", "USER_SYNCED",
		} {
			want[name] = "{}"
		}
		if diff := cmp.Diff(want, h.bodies()); diff != "" {
			t.Errorf("bodies (-want +got):\n%s", diff)
		}
		rows := storetest.Inspect(t, h.url).Rows()
		if rows["event_part"] != 0 || rows["delivery"] != before {
			t.Errorf("%d parts of bodies, %d deliveries", rows["event_part"], rows["delivery"]-before)
		}
	})
}

// TestUnwantedAttachments checks that a webhook that is registered between two database
// transactions of a sync gets every later event about attachments. All earlier events must have no
// body.
func TestUnwantedAttachments(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		h.deafen()
		b := soundBooks()
		for i := range 150 {
			one := booked(fmt.Sprint("more ", i), 0)
			one.Attachments = receipts(1)
			b.transactions = append(b.transactions, one)
		}
		s.read = b.read
		eyes := storetest.Inspect(t, h.url)
		h.Wake = func() { // called after each commit with events
			if len(h.hooks) == 0 && h.attachmentEvents(eyes) > 0 {
				h.registerWebhook()
			}
		}
		state, err := h.resume(id)
		if all := h.attachmentEvents(eyes); err != nil || state != "" || all != 150 {
			t.Errorf("%q (%v), %d events about attachments", state, err, all)
		}
		if bare := h.bareAttachmentEvents(eyes); bare != 150-52 {
			t.Errorf("%d events about attachments have no body", bare)
		}
		if got, want := names(h.events()), strings.Repeat("TRANSACTION_ATTACHMENTS_FOUND ", 52)+"CONNECTION_SYNCED"; got != want {
			t.Errorf("events %s", got)
		}
	})
}

func (h *fixture) attachmentEvents(eyes *storetest.Inspection) (n int) {
	for _, e := range eyes.Events() {
		if e.Name == "TRANSACTION_ATTACHMENTS_FOUND" {
			n++
		}
	}
	return n
}

func (h *fixture) bareAttachmentEvents(eyes *storetest.Inspection) (n int) {
	for _, e := range eyes.Events() {
		if e.Name == "TRANSACTION_ATTACHMENTS_FOUND" && e.Body == "{}" {
			n++
		}
	}
	return n
}

// TestWebhookRegisteredDuringASync begins a sync in a domain without webhooks. It checks that a
// webhook that is registered during the sync gets complete events from then on.
func TestWebhookRegisteredDuringASync(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		h.deafen()
		s.read = soundBooks().read
		c, err := h.connect("anna", "1234")
		must(t, err)
		h.share(h.accounts(true)[0], true)
		s.read = func(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			defer h.registerWebhook()
			return soundBooks().read(ctx, req, out)
		}
		if state, err := h.resume(c.ID); err != nil || state != "" {
			t.Fatalf("read: %s (%v)", state, err)
		}
		if body := h.bodies()["ACCOUNT_SYNCED"]; body != "{}" {
			t.Errorf("nobody wanted %s", body)
		}
		events := h.events()
		if got, want := names(events), "ACCOUNT_CATEGORIZED ACCOUNT_OWNERSHIPS_FOUND CONNECTION_SYNCED"; got != want {
			t.Fatalf("events %s, want %s", got, want)
		}
		reported := events[2].body["connection"].(map[string]any)["accounts"].([]any)[0].(map[string]any)["transactions"].([]any)
		categorized := events[0].body["transactions"].([]any)
		if len(reported) != 3 || !cmp.Equal(reported, categorized) {
			t.Errorf("told of %v, categorized %v", reported, categorized)
		}
	})
}

// TestUserEventsAreWantedLate checks the same as TestWebhookRegisteredDuringASync for the event
// about several connections of a user.
func TestUserEventsAreWantedLate(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		h.shared(s)
		h.shared(s)
		h.deafen()
		eyes := storetest.Inspect(t, h.url)
		before := synced(eyes)
		var n sync.Mutex
		h.Wake = func() { // called after each commit that stores events
			n.Lock()
			defer n.Unlock()
			if len(h.hooks) == 0 && synced(eyes) == before+2 {
				h.registerWebhook()
			}
		}
		_, err := h.SyncAll(t.Context(), h.domain, h.user.ID, true)
		must(t, err)
		events := h.events()
		if names(events) != "USER_SYNCED" || len(events[0].body["connections"].([]any)) != 2 {
			t.Errorf("told of %v", events)
		}
	})
}

func synced(eyes *storetest.Inspection) (n int) {
	for _, e := range eyes.Events() {
		if e.Name == "CONNECTION_SYNCED" {
			n++
		}
	}
	return n
}
