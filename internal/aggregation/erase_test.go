package aggregation_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// lengthOfHistory returns the number of transactions that the test withdraws. In a long run,
// PASSERELLE_TEST_TRANSACTIONS sets this number, and the test also compares times.
func lengthOfHistory(t *testing.T) (transactions int, timed bool) {
	t.Helper()
	text, long := os.LookupEnv("PASSERELLE_TEST_TRANSACTIONS")
	if !long {
		return 3_000, false
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("PASSERELLE_TEST_TRANSACTIONS is %q, not a number", text)
	}
	return n, true
}

// TestMillionTransactionsWithdrawn checks that an account with many transactions is erased
// completely when the user stops sharing it. In a long run, the change may take at most ten times
// as long as for a small account, and other writes may take at most twice as long during the
// erasure.
func TestMillionTransactionsWithdrawn(t *testing.T) {
	n, timed := lengthOfHistory(t)
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		small, big, other := h.sharedAccount(s), h.sharedAccount(s), h.sharedAccount(s)
		h.book(big, "history", n)
		h.Now = time.Now // the erasure waits in real time
		little, much := h.withhold(small), h.withhold(big)
		if left := h.transactions(); left != 3 {
			t.Errorf("%d transactions are left", left)
		}
		alone, beside := h.contend(other)
		for tries := 0; timed && beside > 2*alone && tries < 2; tries++ {
			alone, beside = h.contend(other) // another process may have used the processor
		}
		must(t, h.EraseWithdrawn(t.Context()))
		left := storetest.Inspect(t, h.url).Lines(map[string]string{"rows": fmt.Sprintf(`SELECT id FROM bank_transaction WHERE account_id <> %d`, other.ID)})["rows"]
		if len(left) > 0 {
			t.Errorf("%d rows are left", len(left))
		}
		t.Logf("withheld in %s and %s; of a hundred writes 99 took less than %s alone, and %s beside the erasure", little, much, alone, beside)
		if timed && (much > 10*little || beside > 2*alone) {
			t.Error("others are held up")
		}
	})
}

// contend writes transactions alone and during the erasure, alternately. It returns the 99th
// percentiles of both times.
func (h *fixture) contend(a bankstore.StoredAccount) (alone, beside time.Duration) {
	h.t.Helper()
	var quiet, loud []time.Duration
	for range 10 {
		quiet = h.write(a, quiet)
		ctx, stop := context.WithCancel(h.t.Context())
		stopped := make(chan error)
		go func() { stopped <- h.EraseWithdrawn(ctx) }()
		loud = h.write(a, loud)
		stop()
		if err := <-stopped; err != nil && !errors.Is(err, context.Canceled) {
			h.t.Error(err)
		}
	}
	slices.Sort(quiet)
	slices.Sort(loud)
	return quiet[len(quiet)*99/100], loud[len(loud)*99/100]
}

func (h *fixture) write(a bankstore.StoredAccount, took []time.Duration) []time.Duration {
	h.t.Helper()
	for range 50 {
		start := time.Now()
		h.book(a, fmt.Sprint("write ", len(took), start.UnixNano()), 1)
		took = append(took, time.Since(start))
	}
	return took
}

func (h *fixture) sharedAccount(s *hostileConnector) bankstore.StoredAccount {
	h.t.Helper()
	id := h.shared(s)
	for _, a := range h.accounts(false) {
		if a.Connection == id {
			return a
		}
	}
	h.t.Fatal("no account is shared")
	return bankstore.StoredAccount{}
}

func (h *fixture) book(a bankstore.StoredAccount, prefix string, n int) {
	h.t.Helper()
	for first := 0; first < n; first += 500 {
		last := min(first+500, n)
		must(h.t, h.DB.Write(h.t.Context(), func(tx *store.Tx) error {
			for i := first; i < last; i++ {
				d := booked(fmt.Sprint(prefix, i), i*7000/n)
				one := passerelle.Transaction{TransactionDetails: d, ApplicationDate: d.Date, Scraped: noon, LastUpdate: noon}
				if err := bankstore.In(tx).CreateTransactions(h.domain.ID, a, a.NextReading(), bankstore.NewTransaction{Transaction: &one}); err != nil {
					return err
				}
			}
			bankstore.In(tx).CountTransactions(h.domain.ID, a, int64(last-first), 0)
			return nil
		}))
	}
}

func (h *fixture) withhold(a bankstore.StoredAccount) time.Duration {
	h.t.Helper()
	start := time.Now()
	h.share(a, false)
	return time.Since(start)
}

// stuck makes the database refuse to change or delete the rows whose column has the value.
func (h *fixture) stuck(table, column string, value passerelle.UserID) {
	h.t.Helper()
	condition := fmt.Sprintf("OLD.%s = %d", column, value)
	if strings.HasPrefix(h.url, "sqlite:") {
		for _, act := range []string{"UPDATE", "DELETE"} {
			storetest.Break(h.t, h.url, fmt.Sprintf(`CREATE TRIGGER stuck_%s_%s BEFORE %s ON %s WHEN %s BEGIN SELECT RAISE(ABORT, 'stuck'); END`, table, act, act, table, condition))
		}
		return
	}
	storetest.Break(h.t, h.url, fmt.Sprintf(`CREATE FUNCTION stuck_%s() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''stuck''; END'`, table),
		fmt.Sprintf(`CREATE TRIGGER stuck BEFORE UPDATE OR DELETE ON %s FOR EACH ROW WHEN (%s) EXECUTE FUNCTION stuck_%s()`, table, condition, table))
}

// TestAFailingUserDelaysNobody makes the deletion of one user and the erasure of another user fail.
// All others must be deleted and erased.
func TestAFailingUserDelaysNobody(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		var users []passerelle.UserID
		for range 4 {
			u, err := h.CreateUser(t.Context(), h.domain, false, func(*store.Tx, passerelle.User) error { return nil })
			must(t, err)
			users = append(users, u.ID)
			h.now = h.now.Add(time.Second)
		}
		h.stuck("end_user", "id", users[0])
		h.now = h.now.Add(time.Hour)
		if err := h.ExpireUsers(t.Context(), h.domain); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("delete user %d:", users[0])) {
			t.Errorf("expired with %v", err)
		}
		left, err := h.DB.ExpiredUsers(t.Context(), h.domain.ID, h.now, 0, 10)
		if err != nil || len(left) != 1 || left[0].ID != users[0] {
			t.Errorf("not deleted: %+v, %v", left, err)
		}
		h.stuck("erasure", "user_id", users[1])
		h.now = h.now.Add(time.Hour)
		if err := h.EraseUsers(t.Context(), h.domain); err == nil || strings.Contains(err.Error(), "failures") {
			t.Errorf("erased with %v", err)
		}
		due, err := h.DB.ErasuresDue(t.Context(), h.domain.ID, h.now, 0, 10)
		if err != nil || len(due) != 1 || due[0].User != users[1] {
			t.Errorf("not erased: %+v, %v", due, err)
		}
	})
}
