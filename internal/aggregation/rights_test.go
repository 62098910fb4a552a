package aggregation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// pending returns the names of the events with deliveries that were not dropped, and of the events
// whose deliveries were dropped. It checks that exactly the dropped events have the body {}.
func (h *fixture) pending() (pending, lost []string) {
	h.t.Helper()
	for _, d := range storetest.Inspect(h.t, h.url).Deliveries() {
		if d.Dropped != (d.Body == "{}") {
			h.t.Errorf("%s %d: dropped %t, body %.40s", d.Name, d.Version, d.Dropped, d.Body)
		}
		list := &pending
		if d.Dropped {
			list = &lost
		}
		*list = append(*list, d.Name)
	}
	return pending, lost
}

func (h *fixture) erased() {
	h.t.Helper()
	must(h.t, h.EraseWithdrawn(h.t.Context()))
}

// TestWithdrawalStopsWhatIsOnItsWay checks that deliveries with withdrawn data are dropped, and
// that other deliveries stay.
func TestWithdrawalStopsWhatIsOnItsWay(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		_, err := h.connect("anna", "1234")
		must(t, err)
		all := h.accounts(true)
		h.share(all[0], true)
		h.share(all[1], true)
		h.sync()
		before, lost := h.pending()
		if len(lost) != 0 {
			t.Fatalf("lost %v", lost)
		}
		h.share(all[0], false)
		after, lost := h.pending()
		if want := []string{"ACCOUNT_ENABLED", "ACCOUNTS_FETCHED", "ACCOUNT_SYNCED", "ACCOUNT_CATEGORIZED", "ACCOUNT_OWNERSHIPS_FOUND", "CONNECTION_SYNCED"}; !slices.Equal(lost, want) {
			t.Errorf("lost %v, want %v", lost, want)
		}
		if len(after) != len(before)-len(lost)+1 || !slices.Contains(after, "ACCOUNT_SYNCED") || after[len(after)-1] != "ACCOUNT_DISABLED" {
			t.Errorf("left %v of %v", after, before)
		}
		eyes := storetest.Inspect(t, h.url)
		if n := eyes.Count(`SELECT count(*) FROM delivery WHERE drop_reason = 'its data was withdrawn'`); n != int64(len(lost)) {
			t.Errorf("%d deliveries say why", n)
		}
		h.erased()
		for _, e := range eyes.Events() {
			if strings.Contains(e.Body, fmt.Sprintf(`"id_account":%d,`, all[0].ID)) {
				t.Errorf("%s %d still has transactions of the account", e.Name, e.Version)
			}
		}
		h.share(all[0], true)
		h.sync()
		h.erased()
		if _, again := h.pending(); len(again) != len(lost) {
			t.Errorf("what was shared anew is lost: %v", again)
		}
	})
}

// TestDisconnectingStopsWhatIsOnItsWay does the same as TestWithdrawalStopsWhatIsOnItsWay for a
// connection, a subscription, and bodies in several parts.
func TestDisconnectingStopsWhatIsOnItsWay(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c, err := h.connect("one", "1234")
		must(t, err)
		subscriptions, err := bankstore.From(h.DB).SubscriptionsOf(t.Context(), h.domain.ID, c.ID)
		must(t, err)
		turn := func(disabled bool) {
			t.Helper()
			must(t, h.ChangeSubscriptions(t.Context(), h.domain, h.user.ID, []passerelle.SubscriptionID{subscriptions[0].ID}, aggregation.SubscriptionChange{Disabled: &disabled, Origin: "api"}))
		}
		turn(false)
		h.sync()
		turn(true)
		_, lost := h.pending()
		if want := []string{"SUBSCRIPTION_SYNCED", "CONNECTION_SYNCED"}; !slices.Equal(lost, want) {
			t.Errorf("lost with a subscription: %v, want %v", lost, want)
		}
		h.share(h.accounts(true)[0], true)
		h.sync()
		eyes := storetest.Inspect(t, h.url)
		if eyes.Count(`SELECT count(*) FROM event_part`) == 0 {
			t.Fatal("no body is large")
		}
		must(t, h.Disconnect(t.Context(), h.domain, h.user.ID, c.ID))
		left, lost := h.pending()
		if want := 2 + 6; len(lost) != want || left[len(left)-1] != "CONNECTION_DELETED" || slices.Contains(left, "ACCOUNT_SYNCED") {
			t.Errorf("left %v, lost %v", left, lost)
		}
		if n := eyes.Count(`SELECT count(*) FROM event_part`); n != 0 {
			t.Errorf("%d parts of large bodies are left", n)
		}
		h.erased()
		consents, err := bankstore.From(h.DB).Consents(t.Context(), bankstore.ConsentFilter{Domain: h.domain.ID, User: h.user.ID}, store.Window{Limit: 9})
		if err != nil || len(consents) != 2 || consents[0].Withdrawn == nil || consents[1].Withdrawn == nil {
			t.Errorf("consents %+v (%v)", consents, err)
		}
	})
}

// TestWithdrawalWhileTemporary checks that withdrawn data in the events of a temporary user is not
// sent when the user becomes permanent.
func TestWithdrawalWhileTemporary(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		var err error
		nothing := func(*store.Tx, passerelle.User) error { return nil }
		h.user, err = h.CreateUser(t.Context(), h.domain, false, nothing)
		must(t, err)
		_, err = h.connect("one", "1234")
		must(t, err)
		account := h.accounts(true)[0]
		h.share(account, true)
		h.sync()
		h.share(account, false)
		_, err = h.KeepUser(t.Context(), h.domain, h.user.ID, nothing)
		must(t, err)
		want := "USER_CREATED ACCOUNT_FOUND ACCOUNTS_FETCHED SUBSCRIPTION_FOUND SUBSCRIPTION_FOUND CONNECTION_SYNCED CONNECTION_CERTIFICATE_AVAILABLE ACCOUNT_DISABLED"
		if got := names(h.events()); got != want {
			t.Errorf("events %s, want %s", got, want)
		}
	})
}

func (h *fixture) through(source, login string) bankstore.Connection {
	h.t.Helper()
	c, err := h.Connect(h.t.Context(), h.domain, h.user.ID, aggregation.Request{
		Connector: sandbox.TestConnector, Source: source, Values: map[string]string{"login": login, "password": "1234"},
	})
	must(h.t, err)
	return c
}

// TestConsentsEnd checks that the end of a consent sets SCARequired and emits CONNECTION_SYNCED
// once. Afterwards, the service must not read the connection without the user.
func TestConsentsEnd(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c := h.through("directaccess", "one")
		end := *c.ConsentUntil
		if want := noon.AddDate(0, 0, 180); !end.Equal(want) {
			t.Fatalf("the consent ends %s, want %s", end, want)
		}
		state := func() passerelle.ConnectionState {
			one, err := h.Connection(t.Context(), h.domain, h.user.ID, c.ID)
			must(t, err)
			return one.State
		}
		h.now = end.Add(-time.Microsecond)
		must(t, h.LapseConsents(t.Context(), h.domain))
		h.events()
		if got := state(); got != "" {
			t.Errorf("before the end: %s", got)
		}
		h.now = end
		for _, want := range []string{"CONNECTION_SYNCED", ""} {
			read, err := h.RunDue(t.Context(), h.domain)
			must(t, err)
			events := h.events()
			if names(events) != want || read != 0 || state() != passerelle.SCARequired {
				t.Errorf("at the end: %d read, events %s, state %s", read, names(events), state())
			}
			if want != "" {
				reported := events[0].body["connection"].(map[string]any)
				if reported["state"] != "SCARequired" || reported["expire"] != passerelle.FormatDateTime(end, time.UTC) || len(reported["accounts"].([]any)) != 0 {
					t.Errorf("told %v", reported)
				}
			}
		}
		absent, err := h.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{Absent: true})
		must(t, err)
		if got := names(h.events()); got != "" || absent.State != passerelle.SCARequired {
			t.Errorf("read without the person: events %s, state %s", got, absent.State)
		}
		present, err := h.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{})
		must(t, err)
		if want := end.AddDate(0, 0, 180); present.State != "" || !present.ConsentUntil.Equal(want) {
			t.Errorf("with the person: %+v", present)
		}
	})
}

// TestConsentsEndWhereTheyWereGranted checks that the end of a consent sets the state
// webauthRequired if the user granted the consent on a page of the institution.
func TestConsentsEndWhereTheyWereGranted(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		var want []passerelle.ConnectionState
		for range 3 {
			c := h.through("openapi", "one")
			must(t, h.DB.Write(t.Context(), func(tx *store.Tx) error {
				c.State, c.ConsentUntil = "", &noon
				bankstore.In(tx).SaveConnection(c, c.Version)
				return nil
			}))
			want = append(want, passerelle.WebauthRequired)
		}
		must(t, h.LapseConsents(t.Context(), h.domain))
		list, err := bankstore.From(h.DB).Connections(t.Context(), h.domain.ID, h.user.ID, store.Window{Limit: 9})
		must(t, err)
		var got []passerelle.ConnectionState
		for _, c := range list {
			got = append(got, c.State)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
	})
}

// TestUserSynced checks that a batch that reads two or more connections of a user emits one
// USER_SYNCED with all changes, after the last read.
func TestUserSynced(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		for range 2 {
			_, err := h.connect("one", "1234")
			must(t, err)
		}
		for _, a := range h.accounts(true) {
			h.share(a, true)
		}
		h.events()
		if n := h.sync(); n != 2 {
			t.Fatalf("%d connections were due", n)
		}
		events := h.events()
		last := events[len(events)-1]
		if last.name != "USER_SYNCED" || strings.Count(names(events), "USER_SYNCED") != 1 || strings.Count(names(events), "CONNECTION_SYNCED") != 2 {
			t.Fatalf("events %s", names(events))
		}
		reported := last.body["connections"].([]any)
		var alone []any
		for _, e := range events {
			if e.name == "CONNECTION_SYNCED" {
				alone = append(alone, e.body["connection"])
				if diff := cmp.Diff(e.body["user"], last.body["user"]); diff != "" {
					t.Errorf("user: %s", diff)
				}
			}
		}
		slices.SortFunc(alone, func(a, b any) int {
			return int(a.(map[string]any)["id"].(float64) - b.(map[string]any)["id"].(float64))
		})
		if diff := cmp.Diff(alone, reported); diff != "" {
			t.Errorf("connections are told of otherwise than by themselves:\n%s", diff)
		}
		if n := len(reported[0].(map[string]any)["accounts"].([]any)[0].(map[string]any)["transactions"].([]any)); n < 100 {
			t.Errorf("%d transactions", n)
		}
	})
}

// TestUserSyncedWithLostAccounts checks that USER_SYNCED contains the accounts and subscriptions
// that the institutions no longer list.
func TestUserSyncedWithLostAccounts(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		h.shared(s)
		h.shared(s)
		b := soundBooks()
		b.accounts, b.subscriptions = b.accounts[1:], b.subscriptions[1:]
		s.read = b.read
		h.now = h.now.Add(24 * time.Hour)
		h.sync()
		for _, e := range h.events() {
			connections, _ := e.body["connections"].([]any)
			for _, c := range connections {
				for _, list := range []string{"accounts", "subscriptions"} {
					lost := c.(map[string]any)[list].([]any)
					if len(lost) != 1 || lost[0].(map[string]any)["deleted"] == nil {
						t.Errorf("%s: %v", list, lost)
					}
				}
			}
			if e.name == "USER_SYNCED" && len(connections) == 2 {
				return
			}
		}
		t.Error("USER_SYNCED is missing")
	})
}

// TestUserSyncedOnRequest checks that a request to read all connections of a user emits USER_SYNCED
// if the user has two or more. When the user stops sharing an account, an undelivered USER_SYNCED
// with its data must be dropped.
func TestUserSyncedOnRequest(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		all := func() string {
			t.Helper()
			list, err := h.SyncAll(t.Context(), h.domain, h.user.ID, true)
			must(t, err)
			for _, c := range list {
				if c.State != "" || c.LastUpdate == nil {
					t.Errorf("connection %+v", c)
				}
			}
			got := names(h.events())
			return fmt.Sprintf("%d %t", len(list), strings.HasSuffix(got, "USER_SYNCED"))
		}
		if got := all(); got != "0 false" {
			t.Errorf("of no connections: %s", got)
		}
		for _, want := range []string{"1 false", "2 true", "3 true"} {
			_, err := h.connect("one", "1234")
			must(t, err)
			h.events()
			if got := all(); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		account := h.share(h.accounts(true)[0], true)
		h.sync()
		all()
		h.share(account, false)
		_, lost := h.pending()
		if !slices.Contains(lost, "USER_SYNCED") {
			t.Errorf("lost %v", lost)
		}
		before := storetest.Inspect(t, h.url).Rows()["event"]
		must(t, h.DeleteUser(t.Context(), h.domain, h.user.ID))
		if _, err := h.SyncAll(t.Context(), h.domain, h.user.ID, true); err != nil {
			t.Error(err)
		}
		if after := storetest.Inspect(t, h.url).Rows()["event"]; after != before+1 {
			t.Errorf("%d events of a deleted user", after-before)
		}
	})
}
