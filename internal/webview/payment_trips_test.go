package webview_test

import (
	"math"
	"testing"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// TestTripsOfAPaymentPage limits how often a payment's page waits for the database. Browsers of
// waiting payers load this page again and again. The first loads also prepare statements.
func TestTripsOfAPaymentPage(t *testing.T) {
	const most = 5
	address := storetest.Postgres(t)
	n := servicetest.StartNetwork(t, servicetest.HostOf(t, address))
	s := start(t, n.Through(address), nil)
	_, page := s.ordered(t, "", labelled("actn(psu)/done"))
	least := int64(math.MaxInt64)
	for range 6 {
		before := n.Trips()
		s.get(t, page)
		least = min(least, n.Trips()-before)
	}
	if t.Log(least); least > most {
		t.Errorf("the page waits for the database %d times, at most %d", least, most)
	}
}
