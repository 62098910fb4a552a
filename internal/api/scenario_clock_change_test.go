package api_test

import (
	"testing"
	"time"

	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// A client polls with the last time that it has seen. When clocks go back, this time occurs twice,
// and the list contains the changes after the first occurrence. When clocks go forward, the list
// starts at the change.
func TestPollingAcrossAClockChange(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		h, who := s.holdings(t, ""), s.domainOf("")
		s.do(t, ask{method: "POST", path: "/config", token: "config", body: `{"api.timezone":"Europe/Paris"}`}).says(t, 200, "", "")
		for i, at := range []time.Time{
			time.Date(2027, 3, 28, 1, 10, 0, 0, time.UTC),  // 03:10, after the clocks went forward
			time.Date(2027, 10, 31, 0, 20, 0, 0, time.UTC), // 02:20
			time.Date(2027, 10, 31, 0, 40, 0, 0, time.UTC), // 02:40
			time.Date(2027, 10, 31, 1, 10, 0, 0, time.UTC), // 02:10, after the clocks went back
			time.Date(2027, 10, 31, 10, 0, 0, 0, time.UTC), // 11:00
			time.Date(2027, 10, 30, 10, 0, 0, 0, time.UTC), // 12:00 on the day before
		} {
			s.write(t, func(tx *store.Tx) error {
				bankstore.In(tx).EditTransaction(who.domain.ID, who.user, h.transactions[i], bankstore.TransactionEdit{Comment: new("seen")}, at)
				return nil
			})
		}
		for since, want := range map[string]string{
			"2027-03-28+01:59:59": "5 3 1 2 0 4",
			"2027-03-28+02:30:00": "5 3 1 2 0 4",
			"2027-03-28+03:10:01": "5 3 1 2 4",
			"2027-10-31+02:00:00": "3 1 2 4",
			"2027-10-31+02:20:01": "3 2 4",
			"2027-10-31+02:40:01": "3 4",
			"2027-10-31+03:00:00": "4",
		} {
			var page listedTransactions
			s.do(t, ask{method: "GET", path: "/transactions?last_update=" + since, token: "user"}).decode(t, &page)
			if got := h.numbers(page); got != want {
				t.Errorf("%s: %q, want %q", since, got, want)
			}
		}
	})
}
