package aggregation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// TestManualTransactionsOutliveSyncs checks that a transaction of a client stays after a read,
// although the institution does not report this transaction.
func TestManualTransactionsOutliveSyncs(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		a := h.sharedAccount(s)
		mine := booked("mine", 1)
		mine.RDate = mine.Date
		ids, err := h.CreateTransactions(t.Context(), h.domain, a, []aggregation.ManualTransaction{{Details: mine}, {Details: mine}})
		if err != nil || len(ids) != 2 {
			t.Fatalf("%v: %v", ids, err)
		}
		for range 2 {
			_, err = h.resume(a.Connection)
			must(t, err)
		}
		if diff := cmp.Diff([]string{"SHOP mine", "SHOP mine"}, h.eventWordings()); diff != "" {
			t.Errorf("told of (-want +got):\n%s", diff)
		}
		if n := h.transactions(); n != 5 {
			t.Errorf("%d transactions after two visits", n)
		}
		s.read = func(_ context.Context, _ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			return connector.Outcome{}, errors.Join(out.Accounts(soundBooks().accounts), out.AccountRead("a", passerelle.Date{}))
		}
		_, err = h.resume(a.Connection)
		must(t, err)
		if left := h.wordings(a); !slices.Equal(left, []string{"SHOP mine", "SHOP mine"}) {
			t.Errorf("after the institution lost its own: %v", left)
		}
		a = h.accounts(true)[0]
		must(t, h.DeleteTransactions(t.Context(), h.domain, a))
		if left := h.wordings(a); len(left) > 0 {
			t.Errorf("after their deletion: %v", left)
		}
		if a = h.accounts(true)[0]; a.Transactions != 0 || a.DeletedTransactions != 5 {
			t.Errorf("counted %d and %d deleted", a.Transactions, a.DeletedTransactions)
		}
		h.share(a, false)
		for _, act := range []error{
			h.DeleteTransactions(t.Context(), h.domain, a), // a was read before the withdrawal
			second(h.CreateTransactions(t.Context(), h.domain, a, []aggregation.ManualTransaction{{Details: mine}})),
			second(h.CreateTransactions(t.Context(), h.domain, h.accounts(true)[0], []aggregation.ManualTransaction{{Details: mine}})),
		} {
			if !errors.Is(act, passerelle.Conflict) {
				t.Errorf("in a withheld account: %v", act)
			}
		}
	})
}

// TestManualTransactionsDuringSyncs creates and deletes a transaction of a client at the end of
// syncs, after the body of ACCOUNT_SYNCED was written. The next sync must report each change once.
// This also holds if the argument of CreateTransactions is the account as it was before an earlier
// sync.
func TestManualTransactionsDuringSyncs(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		before := h.sharedAccount(s)
		mine := booked("mine", 1)
		mine.RDate = mine.Date
		create := func() error {
			return second(h.CreateTransactions(t.Context(), h.domain, before, []aggregation.ManualTransaction{{Details: mine}}))
		}
		remove := func() error { return h.DeleteTransactions(t.Context(), h.domain, h.accounts(true)[0]) }
		for i, step := range []struct {
			change func() error
			want   []string
		}{
			{create, nil}, {nil, []string{"SHOP mine"}}, {nil, nil}, {remove, nil}, {nil, []string{"SHOP mine"}}, {nil, nil},
		} {
			h.atTheEndOfARead(step.change)
			_, err := h.resume(before.Connection)
			must(t, err)
			if got := h.eventWordings(); !slices.Equal(got, step.want) {
				t.Errorf("sync %d reports %q, want %q", i, got, step.want)
			}
		}
		must(t, create())
		_, err := h.resume(before.Connection)
		must(t, err)
		if got := h.eventWordings(); !slices.Equal(got, []string{"SHOP mine"}) {
			t.Errorf("the account of an earlier sync: %q", got)
		}
	})
}

// atTheEndOfARead executes a change once, before the database executes the statements that complete
// the next read of an account.
func (h *fixture) atTheEndOfARead(change func() error) {
	h.DB.Database.Observe(func(_ context.Context, statements []database.Statement) error {
		ends := slices.ContainsFunc(statements, func(s database.Statement) bool { return strings.Contains(s.SQL, "UPDATE bank_account SET last_update") })
		if !ends || change == nil {
			return nil
		}
		now := change
		change = nil
		return now()
	})
}

func second[T any](_ T, err error) error { return err }

func (h *fixture) wordings(a bankstore.StoredAccount) (all []string) {
	h.t.Helper()
	rows, err := bankstore.From(h.DB).Transactions(h.t.Context(), bankstore.TransactionFilter{Domain: h.domain.ID, User: h.user.ID, Account: a.ID, Epoch: a.Epoch}, store.Window{Limit: 1000})
	must(h.t, err)
	for _, one := range rows {
		all = append(all, one.Wording)
	}
	slices.Sort(all)
	return all
}

func (h *fixture) eventWordings() (all []string) {
	h.t.Helper()
	for _, e := range h.events() {
		if e.name != "ACCOUNT_SYNCED" {
			continue
		}
		for _, one := range e.body["transactions"].([]any) {
			all = append(all, one.(map[string]any)["original_wording"].(string))
		}
	}
	slices.Sort(all)
	return all
}
