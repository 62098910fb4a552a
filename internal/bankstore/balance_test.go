package bankstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// values stores transactions of an account. Each list item contains a day, a value and, for a
// coming transaction, the word coming.
func (h *userAccounts) values(account int, list ...string) []passerelle.Transaction {
	h.t.Helper()
	var stored []passerelle.Transaction
	h.write(func(tx *store.Tx) error {
		stored = nil
		for i, text := range list {
			var n int
			var value string
			_, err := fmt.Sscan(text, &n, &value)
			d := passerelle.TransactionDetails{Key: fmt.Sprint("v", account, i), Date: day(n), RDate: day(n + 40), Type: "card", Wording: "Shop", Value: decimal.MustParse(value)}
			d.Coming = strings.HasSuffix(text, "coming")
			one := passerelle.Transaction{TransactionDetails: d, ApplicationDate: d.RDate, Active: true, Scraped: now, LastUpdate: now}
			if err == nil {
				err = bankstore.In(tx).CreateTransactions(h.domain, h.Accounts[account], 1, bankstore.NewTransaction{Transaction: &one})
			}
			if err != nil {
				return err
			}
			stored = append(stored, one)
		}
		return nil
	})
	return stored
}

func (h *userAccounts) moved(accounts []bankstore.StoredAccount, first, last int) (lines []string) {
	h.t.Helper()
	all, err := bankstore.From(h.db).Movements(h.t.Context(), accounts, day(first), day(last))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, m := range all {
		lines = append(lines, fmt.Sprint(m.Day, " ", m.In, " ", m.Out))
	}
	return lines
}

// TestMovements checks that sums are exact, and nil when they have too many digits. The sums must
// contain only booked transactions that are not deleted, by booking day. One further movement
// must contain the sums of all transactions after the period.
func TestMovements(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h := newUserAccounts(t, s)
		h.values(0, "0 5", "1 10.10", "1 -0.005", "1 9000000000000000", "2 -1 coming", "3 1", "9 2", "12 -3.5")
		gone := h.values(1, "1 -7", "3 4")[1]
		s.write(func(tx *store.Tx) error {
			bankstore.In(tx).LoseTransaction(s.domain, h.Accounts[1], gone.ID, now, 2)
			return nil
		})
		h.Enable("long")
		h.values(2, "1 9223372036854775807", "1 9223372036854775807", "2 -9223372036854775807", "2 -9223372036854775807")
		for _, test := range []struct {
			accounts    []bankstore.StoredAccount
			first, last int
			want        []string
		}{
			{h.Accounts[:2], 1, 3, []string{"2026-01-02 9000000000000010.100 -7.005", "2026-01-04 1 0", "2026-01-05 2.0 -3.5"}},
			{h.Accounts[1:2], 0, 1, []string{"2026-01-02 0 -7"}},
			{h.Accounts[1:2], 2, 3, nil},
			{h.Accounts[2:], 1, 2, []string{"2026-01-02 <nil> 0", "2026-01-03 0 <nil>"}},
		} {
			if diff := cmp.Diff(test.want, h.moved(test.accounts, test.first, test.last)); diff != "" {
				t.Errorf("from %d to %d (-want +got):\n%s", test.first, test.last, diff)
			}
		}
		s.write(func(tx *store.Tx) error {
			bankstore.In(tx).DisableAccounts(s.domain, 7, now, h.Accounts[1])
			return nil
		})
		if left := h.moved(h.Accounts[1:2], 0, 9); left != nil {
			t.Errorf("of an account that was withdrawn: %v", left)
		}
	})
}
