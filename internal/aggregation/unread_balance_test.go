package aggregation_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/govalues/decimal"

	"passerelle"
)

// TestUnreadBalances checks that a read that could not read the balances of an account keeps the stored
// balances, and stores the other details. A new account then has no balances.
func TestUnreadBalances(t *testing.T) {
	account := func(key, name string) passerelle.AccountDetails {
		return passerelle.AccountDetails{Key: key, Name: name, Type: "checking", Currency: "EUR"}
	}
	unread := func(key, name string) passerelle.AccountDetails {
		a := account(key, name)
		a.BalanceUnread = true
		return a
	}
	known := func(key, name, balance, coming string) passerelle.AccountDetails {
		a := account(key, name)
		a.Balance, a.Coming = new(decimal.MustParse(balance)), new(decimal.MustParse(coming))
		return a
	}
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		var id passerelle.ConnectionID
		for n, step := range []struct{ reported, want []passerelle.AccountDetails }{
			{[]passerelle.AccountDetails{known("a", "Account", "10.00", "2.50")}, []passerelle.AccountDetails{known("a", "Account", "10.00", "2.50")}},
			{[]passerelle.AccountDetails{unread("a", "Renamed"), unread("b", "New")}, []passerelle.AccountDetails{known("a", "Renamed", "10.00", "2.50"), account("b", "New")}},
			{[]passerelle.AccountDetails{unread("a", "Renamed"), unread("b", "New")}, []passerelle.AccountDetails{known("a", "Renamed", "10.00", "2.50"), account("b", "New")}},
			{[]passerelle.AccountDetails{known("a", "Renamed", "12.00", "0.00"), account("b", "New")}, []passerelle.AccountDetails{known("a", "Renamed", "12.00", "0.00"), account("b", "New")}},
			{[]passerelle.AccountDetails{account("a", "Renamed"), account("b", "New")}, []passerelle.AccountDetails{account("a", "Renamed"), account("b", "New")}},
		} {
			b := soundBooks()
			b.accounts = step.reported
			s.read = b.read
			if n == 0 {
				c, err := h.connect("anna", "1234")
				must(t, err)
				id = c.ID
			} else if _, err := h.resume(id); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(balances(step.want), balances(h.details())); diff != "" {
				t.Errorf("after read %d (-want +got):\n%s", n+1, diff)
			}
		}
	})
}

func (h *fixture) details() []passerelle.AccountDetails {
	h.t.Helper()
	var all []passerelle.AccountDetails
	for _, a := range h.accounts(true) {
		all = append(all, a.AccountDetails)
	}
	return all
}

func balances(all []passerelle.AccountDetails) []string {
	var lines []string
	for _, a := range all {
		line := fmt.Sprint(a.Key, " ", a.Name, " ", a.BalanceUnread)
		for _, d := range []*decimal.Decimal{a.Balance, a.Coming} {
			if d != nil {
				line += " " + d.String()
			}
		}
		lines = append(lines, line)
	}
	return lines
}
