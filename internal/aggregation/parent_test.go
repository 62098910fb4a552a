package aggregation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
)

func (h *fixture) parents() map[string]string {
	h.t.Helper()
	keys, parents := map[passerelle.AccountID]string{}, map[string]string{}
	for _, a := range h.accounts(true) {
		keys[a.ID] = a.Key
	}
	for _, a := range h.accounts(true) {
		if a.ParentID != 0 {
			parents[a.Key] = keys[a.ParentID]
		}
	}
	return parents
}

// TestCardsBeforeTheirAccounts checks that a card gets its account as its parent, wherever the
// institution lists the account, and even if the account comes with a later read.
func TestCardsBeforeTheirAccounts(t *testing.T) {
	account := passerelle.AccountDetails{Key: "a", Name: "Account", Type: "checking", Currency: "EUR"}
	late := passerelle.AccountDetails{Key: "late", Name: "Late", Type: "checking", Currency: "EUR"}
	card := func(key, parent string) passerelle.AccountDetails {
		return passerelle.AccountDetails{Key: key, Name: "Card", Type: "card", Currency: "EUR", Parent: parent}
	}
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		b := soundBooks()
		b.accounts = []passerelle.AccountDetails{card("before", "a"), account, card("after", "a"), card("early", "late"), card("own", "own")}
		s.read = b.read
		c, err := h.connect("anna", "1234")
		must(t, err)
		want := map[string]string{"before": "a", "after": "a"}
		if diff := cmp.Diff(want, h.parents()); diff != "" {
			t.Errorf("parents (-want +got):\n%s", diff)
		}
		h.events()
		b.accounts = append(b.accounts, late)
		s.read = b.read
		_, err = h.resume(c.ID)
		must(t, err)
		want["early"] = "late"
		if diff := cmp.Diff(want, h.parents()); diff != "" {
			t.Errorf("parents after the second read (-want +got):\n%s", diff)
		}
		if got := names(h.events()); got != "ACCOUNT_FOUND ACCOUNTS_FETCHED CONNECTION_SYNCED" {
			t.Errorf("events %s", got)
		}
	})
}
