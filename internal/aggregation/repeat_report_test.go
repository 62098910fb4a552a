package aggregation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/webhook"
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
// report of a sync that reads the lists must say so again, and later reports must not.
func TestWithdrawalRepeatsLostDeletions(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		h.share(h.accounts(true)[1], true)
		fewer := fewerBooks()
		s.read = fewer.read
		_, err := h.resume(id)
		must(t, err)
		h.share(h.accounts(true)[0], false)
		for i, want := range []int{0, 2, 0} {
			s.read = fewer.read
			if i == 0 {
				s.read = unavailable
			}
			h.events()
			_, err := h.resume(id)
			must(t, err)
			deleted := 0
			for _, one := range h.reportedItems() {
				if one["deleted"] != nil {
					deleted++
				}
			}
			if deleted != want {
				t.Errorf("report %d contains %d deletions, want %d", i, deleted, want)
			}
		}
	})
}

// unavailable is a read that fails before it reads anything.
func unavailable(context.Context, connector.DataRequest, connector.Sink) (connector.Outcome, error) {
	return connector.Outcome{State: passerelle.WebsiteUnavailable}, nil
}

// reportedItems returns the accounts and subscriptions in each CONNECTION_SYNCED since the last call
// of events.
func (h *fixture) reportedItems() (all []map[string]any) {
	h.t.Helper()
	for _, e := range h.events() {
		if e.name != "CONNECTION_SYNCED" {
			continue
		}
		connection := e.body["connection"].(map[string]any)
		for _, one := range slices.Concat(connection["accounts"].([]any), connection["subscriptions"].([]any)) {
			all = append(all, one.(map[string]any))
		}
	}
	return all
}

// TestWithdrawalRepeatsLostChanges: a report that says that an account has a new name is lost, and
// the service does not read the account. The next report must contain the account, and later reports
// must not.
func TestWithdrawalRepeatsLostChanges(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		h.share(h.accounts(true)[1], true)
		renamed := soundBooks()
		renamed.accounts[1].Name = "New"
		s.read = renamed.read // reads only the first account
		_, err := h.resume(id)
		must(t, err)
		h.share(h.accounts(true)[0], false)
		for i, want := range []bool{true, false} {
			h.events()
			_, err := h.resume(id)
			must(t, err)
			if got := slices.ContainsFunc(h.reportedItems(), func(one map[string]any) bool { return one["original_name"] == "New" }); got != want {
				t.Errorf("report %d contains the account: %t, want %t", i, got, want)
			}
		}
	})
}

// TestWithdrawalRepeatsNothingDelivered: reports were delivered, and the undelivered reports of
// later failed syncs contain no rows. After a withdrawal, no report may repeat rows, and no
// connection may become due.
func TestWithdrawalRepeatsNothingDelivered(t *testing.T) {
	for name, failed := range map[string]int{"after failed syncs": 4, "without failed syncs": 0} {
		t.Run(name, func(t *testing.T) {
			amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
				made := h.bothShared(s)
				for many := 2; many <= 6; many++ {
					s.read = ofBoth(many)
					_, err := h.resume(made)
					must(t, err)
				}
				storetest.Break(t, h.url, `UPDATE delivery SET delivered = 1, attempts = 1`)
				s.read = unavailable
				for range failed {
					_, err := h.resume(made)
					must(t, err)
				}
				h.share(h.accounts(true)[0], false)
				if n := h.sync(); n != 0 {
					t.Errorf("%d connections are due", n)
				}
				s.read = ofBoth(6)
				for range 2 {
					h.events()
					_, err := h.resume(made)
					must(t, err)
					if got := h.reported(); got != "" {
						t.Errorf("the report repeats %q", got)
					}
				}
			})
		})
	}
}

// bothShared returns a connection of ofBoth with two shared accounts, which were not read yet.
func (h *fixture) bothShared(s *hostileConnector) passerelle.ConnectionID {
	h.t.Helper()
	s.read = ofBoth(2)
	made, err := h.connect("anna", "1234")
	must(h.t, err)
	for _, a := range h.accounts(true) {
		if a.Connection == made.ID {
			h.share(a, true)
		}
	}
	return made.ID
}

// TestWithdrawalMakesConnectionDue: after a withdrawal with a lost report, the service must read the
// connection soon, and then repeat the other account's rows.
func TestWithdrawalMakesConnectionDue(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		h.bothShared(s)
		if first, second := h.sync(), h.sync(); first != 1 || second != 0 {
			t.Fatalf("%d and %d connections are due", first, second)
		}
		h.share(h.accounts(true)[0], false)
		h.events()
		if n := h.sync(); n != 1 {
			t.Errorf("%d connections are due", n)
		}
		if got := h.reported(); got != "accounts 2" {
			t.Errorf("the report contains %q", got)
		}
		if n := h.sync(); n != 0 {
			t.Errorf("%d connections are due again", n)
		}
	})
}

// TestWithdrawalDuringADueRead: a user deletes a connection while the service reads another one in
// the background, and a lost report contains data of both. The service must read the other
// connection once more, although it was already due.
func TestWithdrawalDuringADueRead(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		kept, withdrawn := h.bothShared(s), h.bothShared(s)
		h.sync()
		storetest.Break(t, h.url, fmt.Sprint(`UPDATE connection SET next_try = 1 WHERE id = `, kept))
		s.read = func(ctx context.Context, r connector.DataRequest, sink connector.Sink) (connector.Outcome, error) {
			outcome, err := ofBoth(2)(ctx, r, sink)
			return outcome, errors.Join(err, h.Disconnect(ctx, h.domain, h.user.ID, withdrawn))
		}
		for _, want := range []int{1, 1, 0} {
			if n := h.sync(); n != want {
				t.Errorf("%d connections are due, want %d", n, want)
			}
			s.read = ofBoth(2)
		}
	})
}

// TestWithdrawalDuringARequestedRead is about connections that the service reads only on request. A
// withdrawal during such a read does not make the connection due.
func TestWithdrawalDuringARequestedRead(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		kept, withdrawn := h.bothShared(s), h.bothShared(s)
		h.sync()
		storetest.Break(t, h.url, fmt.Sprint(`UPDATE connection SET next_try = NULL WHERE id = `, kept))
		s.read = func(ctx context.Context, r connector.DataRequest, sink connector.Sink) (connector.Outcome, error) {
			s.read = ofBoth(2)
			outcome, err := ofBoth(2)(ctx, r, sink)
			return outcome, errors.Join(err, h.Disconnect(ctx, h.domain, h.user.ID, withdrawn))
		}
		_, err := h.resume(kept)
		must(t, err)
		if n := h.sync(); n != 0 {
			t.Errorf("%d connections are due, want none", n)
		}
	})
}

// TestWithdrawalRepeatsEachEvent: the only undelivered event of a sync is not CONNECTION_SYNCED. A
// withdrawal drops it, so the next sync must repeat its other rows, and later syncs must not.
func TestWithdrawalRepeatsEachEvent(t *testing.T) {
	for name, disconnect := range map[string]bool{"ACCOUNT_CATEGORIZED": false, "USER_SYNCED": false, "USER_SYNCED and a deleted connection": true} {
		t.Run(name, func(t *testing.T) {
			amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
				kept, withdrawn := h.bothShared(s), h.bothShared(s)
				if n := h.sync(); n != 2 {
					t.Fatalf("%d connections are due", n)
				}
				event, _, _ := strings.Cut(name, " ")
				storetest.Break(t, h.url, `UPDATE delivery SET delivered = 1, attempts = 1 WHERE event_id NOT IN (SELECT id FROM event WHERE name = '`+event+`')`)
				read, want := kept, "accounts 2, accounts 2"
				if event == "ACCOUNT_CATEGORIZED" {
					read, want = withdrawn, "accounts 2"
				}
				if disconnect {
					must(t, h.Disconnect(t.Context(), h.domain, h.user.ID, withdrawn))
				} else {
					first := slices.IndexFunc(h.accounts(true), func(a bankstore.StoredAccount) bool { return a.Connection == withdrawn })
					h.share(h.accounts(true)[first], false)
				}
				for _, want := range []string{want, ""} {
					h.events()
					_, err := h.resume(read)
					must(t, err)
					if got := h.reported(); got != want {
						t.Errorf("the report contains %q, want %q", got, want)
					}
				}
			})
		})
	}
}

// frenchSink gives the second account of soundBooks what a statement needs.
type frenchSink struct {
	connector.Sink
	balance decimal.Decimal
}

func (f frenchSink) Accounts(all []passerelle.AccountDetails) error {
	all = slices.Clone(all)
	all[1].IBAN, all[1].Balance = "FR7630006000011234567890189", &f.balance
	return f.Sink.Accounts(all)
}

func french(read reading) reading {
	return func(ctx context.Context, r connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
		return read(ctx, r, frenchSink{out, decimal.MustNew(9000, 2)})
	}
}

// TestWithdrawalRepeatsNoMovement: receivers book the movements of statements, so all statements
// that may have been sent must state a movement at most once. After a lost report, only a temporary
// user's next statement contains the movements, because nobody received the lost report.
func TestWithdrawalRepeatsNoMovement(t *testing.T) {
	for name, c := range map[string]struct {
		temporary bool
		change    string // SQL, before the withdrawal
		failed    int
		correct   bool // the institution corrects a movement of the lost report
		movements int
	}{
		"delivered":                             {change: `UPDATE delivery SET delivered = 1, attempts = 1`},
		"delivered, with failed syncs":          {change: `UPDATE delivery SET delivered = 1, attempts = 1`, failed: 4},
		"undelivered":                           {},
		"undelivered, corrected":                {correct: true},
		"of a temporary user":                   {temporary: true, movements: 3},
		"of a temporary user, corrected":        {temporary: true, correct: true, movements: 3},
		"of a temporary user, with failed sync": {temporary: true, failed: 1, movements: 3},
	} {
		t.Run(name, func(t *testing.T) {
			amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
				nothing := func(*store.Tx, passerelle.User) error { return nil }
				var err error
				h.user, err = h.CreateUser(t.Context(), h.domain, !c.temporary, nothing)
				must(t, err)
				must(t, settings.Set(t.Context(), h.DB, h.domain.ID, map[string]string{settings.CFONB: "1"}, h.now))
				id := h.bothShared(s)
				for many := 2; many <= 3; many++ {
					s.read = french(ofBoth(many))
					_, err = h.resume(id)
					must(t, err)
				}
				if c.change != "" {
					storetest.Break(t, h.url, c.change)
				}
				s.read = unavailable
				for range c.failed {
					_, err = h.resume(id)
					must(t, err)
				}
				h.share(h.accounts(true)[0], false)
				before := h.statements()
				if c.temporary {
					_, err = h.KeepUser(t.Context(), h.domain, h.user.ID, nothing)
					must(t, err)
				}
				s.read = french(ofBoth(3))
				if c.correct {
					s.read = french(corrected(s.read))
				}
				for range 2 {
					_, err = h.resume(id)
					must(t, err)
				}
				if got := h.statements() - before; got != c.movements {
					t.Errorf("statements contain %d movements after the withdrawal, want %d", got, c.movements)
				}
			})
		})
	}
}

// statements returns the number of movements in all CONNECTION_SYNCED that were not dropped.
func (h *fixture) statements() (n int) {
	h.t.Helper()
	all, bodies := h.sent(webhook.ConnectionSynced)
	for i, d := range all {
		if d.MediaType != store.JSON && string(bodies[i]) != "{}" {
			for _, one := range movements(h.t, bodies[i]) {
				n += one
			}
		}
	}
	return n
}

// corrected changes the wording of all transactions.
func corrected(read reading) reading {
	return func(ctx context.Context, r connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
		return read(ctx, r, correctingSink{out})
	}
}

type correctingSink struct{ connector.Sink }

func (c correctingSink) Transactions(key string, all []passerelle.TransactionDetails) error {
	all = slices.Clone(all)
	for i := range all {
		all[i].Wording += " CORRECTED"
	}
	return c.Sink.Transactions(key, all)
}

// TestWithdrawalStatesMovementsOfEarlierLosses: a temporary user's lost statements contain movements
// that a later sync corrected, or that an earlier withdrawal already repeated. The next statement
// must contain these movements, because nobody received the lost statements.
func TestWithdrawalStatesMovementsOfEarlierLosses(t *testing.T) {
	nothing := func(*store.Tx, passerelle.User) error { return nil }
	for name, c := range map[string]struct {
		earlier   bool // withdraw an account of another connection first
		corrected bool // correct the movements before the withdrawal
	}{
		"corrected before":                      {corrected: true},
		"lost before":                           {earlier: true},
		"lost before, and corrected in between": {earlier: true, corrected: true},
	} {
		t.Run(name, func(t *testing.T) {
			amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
				var err error
				h.user, err = h.CreateUser(t.Context(), h.domain, false, nothing)
				must(t, err)
				must(t, settings.Set(t.Context(), h.DB, h.domain.ID, map[string]string{settings.CFONB: "1"}, h.now))
				id, other := h.bothShared(s), h.bothShared(s)
				s.read = french(ofBoth(2))
				_, err = h.SyncAll(t.Context(), h.domain, h.user.ID, true)
				must(t, err)
				if c.earlier {
					h.share(h.firstOf(other), false)
				}
				if c.corrected {
					s.read = corrected(s.read)
					_, err = h.resume(id)
					must(t, err)
				}
				h.share(h.firstOf(id), false)
				must(t, h.Disconnect(t.Context(), h.domain, h.user.ID, other))
				before := h.statements()
				_, err = h.KeepUser(t.Context(), h.domain, h.user.ID, nothing)
				must(t, err)
				for range 2 {
					_, err = h.resume(id)
					must(t, err)
				}
				if got := h.statements() - before; got != 2 {
					t.Errorf("statements contain %d movements after the withdrawal, want 2", got)
				}
			})
		})
	}
}

// fewerBooks returns sound books without the second account and the first subscription.
func fewerBooks() institutionData {
	fewer := soundBooks()
	fewer.accounts, fewer.subscriptions = fewer.accounts[:1], fewer.subscriptions[1:]
	return fewer
}

// firstOf returns the first account of a connection.
func (h *fixture) firstOf(id passerelle.ConnectionID) bankstore.StoredAccount {
	h.t.Helper()
	all := h.accounts(true)
	return all[slices.IndexFunc(all, func(a bankstore.StoredAccount) bool { return a.Connection == id })]
}

// TestWithdrawalKeepsTimesOfDeletions: an account and a subscription keep the time at which the
// institution no longer listed them when a later report must repeat the deletion.
func TestWithdrawalKeepsTimesOfDeletions(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		h.share(h.accounts(true)[1], true)
		s.read = fewerBooks().read
		_, err := h.resume(id)
		must(t, err)
		want := passerelle.FormatDateTime(h.now, time.UTC)
		h.share(h.accounts(true)[0], false)
		h.now = h.now.Add(time.Hour)
		h.events()
		_, err = h.resume(id)
		must(t, err)
		times := []any{}
		for _, one := range h.reportedItems() {
			times = append(times, one["deleted"])
		}
		if diff := cmp.Diff([]any{want, want}, times); diff != "" {
			t.Error(diff)
		}
	})
}
