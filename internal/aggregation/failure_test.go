package aggregation_test

import (
	"testing"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// errors returns the errors of the user's enabled accounts and subscriptions. It fails the test
// when a disabled account or subscription has an error.
func (h *fixture) errors() (all []passerelle.ConnectionState) {
	h.t.Helper()
	subscriptions, err := bankstore.From(h.DB).Subscriptions(h.t.Context(), bankstore.SubscriptionFilter{Domain: h.domain.ID, User: h.user.ID, All: true}, store.Window{Limit: 1000})
	must(h.t, err)
	for _, a := range h.accounts(true) {
		if a.Disabled == nil {
			all = append(all, a.Error)
		} else if a.Error != "" {
			h.t.Errorf("account %d is withheld and has the error %s", a.ID, a.Error)
		}
	}
	for _, s := range subscriptions {
		if s.Disabled == nil {
			all = append(all, s.Error)
		} else if s.Error != "" {
			h.t.Errorf("subscription %d is withheld and has the error %s", s.ID, s.Error)
		}
	}
	return all
}

// errorEvents returns the errors of the accounts and subscriptions in the last event. It fails the
// test when an account or a subscription in it contains transactions or documents.
func (h *fixture) errorEvents(events []event) (all []any) {
	h.t.Helper()
	last := events[len(events)-1]
	connection := last.body["connection"].(map[string]any)
	for kind, fresh := range map[string]string{"accounts": "transactions", "subscriptions": "documents"} {
		for _, one := range connection[kind].([]any) {
			shown := one.(map[string]any)
			all = append(all, shown["error"])
			if n := len(shown[fresh].([]any)); last.name != "CONNECTION_SYNCED" || n != 0 {
				h.t.Errorf("%s tells of %d %s", last.name, n, fresh)
			}
		}
	}
	return all
}

// TestErrorOfAFailedUpdate checks that enabled accounts and subscriptions get the error code of a
// failed update, and that events report them with this code.
func TestErrorOfAFailedUpdate(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c, err := h.connect("anna", "1234")
		must(t, err)
		h.share(h.accounts(true)[0], true)
		h.share(h.accounts(true)[1], true)
		h.shareSubscription(c.ID, "power")
		h.sync()
		h.events()
		for login, want := range map[string]passerelle.ConnectionState{
			"down": passerelle.WebsiteUnavailable, "bug": passerelle.Bug, "action": passerelle.ActionNeeded, "otp": passerelle.AdditionalInformationNeeded,
		} {
			h.ends(c.ID, login, want)
			reported := h.errorEvents(h.events())
			if len(reported) != 3 || reported[0] != string(want) || reported[1] != string(want) || reported[2] != string(want) {
				t.Errorf("%s is told as %v", login, reported)
			}
			h.ends(c.ID, "anna", "")
			events := h.events()
			for _, e := range events[:len(events)-1] {
				if e.body["error"] != nil {
					t.Errorf("%s has the error %v after a success", e.name, e.body["error"])
				}
			}
			if reported := h.errorEvents(events); len(reported) != 3 || reported[0] != nil || reported[1] != nil || reported[2] != nil {
				t.Errorf("a success is told as %v", reported)
			}
		}
		h.ends(c.ID, "down", passerelle.WebsiteUnavailable)
		h.share(h.accounts(true)[0], false)
		if got := h.errors(); len(got) != 2 {
			t.Errorf("with one withheld: %v", got)
		}
	})
}

// ends makes the next update end in a state. It checks that all enabled accounts and subscriptions
// have this state as their error.
func (h *fixture) ends(id passerelle.ConnectionID, login string, want passerelle.ConnectionState) {
	h.t.Helper()
	c, err := h.Resume(h.t.Context(), h.domain, h.user.ID, id, aggregation.Request{Values: map[string]string{"login": login}})
	if err != nil || c.State != want || c.Connector != sandbox.TestConnector {
		h.t.Fatalf("%s ends in %q (%v)", login, c.State, err)
	}
	for _, got := range h.errors() {
		if got != want {
			h.t.Errorf("after %s an error is %q, want %q", login, got, want)
		}
	}
}
