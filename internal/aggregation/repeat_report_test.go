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
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// ofBoth reads soundBooks, with the same number of transactions for both accounts.
func ofBoth(many int) reading {
	books := soundBooks()
	return func(_ context.Context, _ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
		err := out.Accounts(books.accounts)
		for _, a := range books.accounts {
			var all []passerelle.TransactionDetails
			for n := range many {
				all = append(all, booked(fmt.Sprint(n), n))
			}
			if from, wanted := out.Wanted(a.Key); wanted {
				err = errors.Join(err, out.Transactions(a.Key, all), out.AccountRead(a.Key, from))
			}
		}
		err = errors.Join(err, out.Subscriptions(books.subscriptions))
		if out.SubscriptionWanted("s") {
			err = errors.Join(err, out.Documents("s", books.documents), out.SubscriptionRead("s"))
		}
		return connector.Outcome{}, err
	}
}

// reported returns the numbers of transactions of each account, and of documents of each
// subscription, in the first CONNECTION_SYNCED since the last call of events. It omits zeros.
func (h *fixture) reported() string {
	h.t.Helper()
	all := h.events()
	first := slices.IndexFunc(all, func(e event) bool { return e.name == "CONNECTION_SYNCED" })
	if first < 0 {
		return "no event"
	}
	var list []string
	connection := all[first].body["connection"].(map[string]any)
	for kind, rows := range map[string]string{"accounts": "transactions", "subscriptions": "documents"} {
		for _, one := range connection[kind].([]any) {
			if n := len(one.(map[string]any)[rows].([]any)); n > 0 {
				list = append(list, fmt.Sprintf("%s %d", kind, n))
			}
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// TestWithdrawalRepeatsLostReports: a user withdraws an account or a subscription, and the service
// therefore drops undelivered reports that also contain other data. The next report must repeat the
// other data, and later reports must not.
func TestWithdrawalRepeatsLostReports(t *testing.T) {
	const everything, second = "accounts 3, subscriptions 1", "accounts 1"
	delivered := `UPDATE delivery SET delivered = 1, attempts = 1`
	for name, c := range map[string]struct {
		temporary    bool
		change       string // SQL, between the two reports and the withdrawal
		subscription bool   // is withdrawn, instead of an account
		repeated     string
	}{
		"an account":              {repeated: everything},
		"a subscription":          {subscription: true, repeated: "accounts 3, accounts 3"},
		"of a temporary user":     {temporary: true, repeated: everything},
		"after all was delivered": {change: delivered},
		"after one was delivered": {change: delivered + ` WHERE event_id <> (SELECT MAX(id) FROM event WHERE name = 'CONNECTION_SYNCED')`, repeated: second},
	} {
		t.Run(name, func(t *testing.T) {
			amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
				nothing := func(*store.Tx, passerelle.User) error { return nil }
				var err error
				h.user, err = h.CreateUser(t.Context(), h.domain, !c.temporary, nothing)
				must(t, err)
				s.read = ofBoth(2)
				made, err := h.connect("anna", "1234")
				must(t, err)
				accounts := h.accounts(true)
				h.share(accounts[0], true)
				h.share(accounts[1], true)
				h.shareSubscription(made.ID, "s")
				for many := 2; many <= 3; many++ {
					s.read = ofBoth(many)
					_, err = h.resume(made.ID)
					must(t, err)
				}
				if c.change != "" {
					storetest.Break(t, h.url, c.change)
				}
				if c.subscription {
					found, err := bankstore.From(h.DB).SubscriptionsOf(t.Context(), h.domain.ID, made.ID)
					must(t, err)
					yes := true
					must(t, h.ChangeSubscriptions(t.Context(), h.domain, h.user.ID, []passerelle.SubscriptionID{found[0].ID}, aggregation.SubscriptionChange{Disabled: &yes, Origin: "api"}))
				} else {
					h.share(accounts[0], false)
				}
				if c.temporary {
					_, err = h.KeepUser(t.Context(), h.domain, h.user.ID, nothing)
					must(t, err)
				}
				for _, want := range []string{c.repeated, ""} {
					h.events()
					_, err = h.resume(made.ID)
					must(t, err)
					if got := h.reported(); got != want {
						t.Errorf("the report contains %q, want %q", got, want)
					}
				}
			})
		})
	}
}

// TestWithdrawalRepeatsLostDeletions: an undelivered report says that the institution no longer
// lists an account and a subscription. After another account of the report was withdrawn, the next
// report must say so again, and later reports must not.
func TestWithdrawalRepeatsLostDeletions(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		h.share(h.accounts(true)[1], true)
		fewer := soundBooks()
		fewer.accounts, fewer.subscriptions = fewer.accounts[:1], fewer.subscriptions[1:]
		s.read = fewer.read
		_, err := h.resume(id)
		must(t, err)
		h.share(h.accounts(true)[0], false)
		for _, want := range []int{2, 0} {
			h.events()
			_, err := h.resume(id)
			must(t, err)
			deleted := 0
			for _, e := range h.events() {
				if connection, is := e.body["connection"].(map[string]any); is && e.name == "CONNECTION_SYNCED" {
					for _, one := range slices.Concat(connection["accounts"].([]any), connection["subscriptions"].([]any)) {
						if one.(map[string]any)["deleted"] != nil {
							deleted++
						}
					}
				}
			}
			if deleted != want {
				t.Errorf("the report contains %d deletions, want %d", deleted, want)
			}
		}
	})
}
