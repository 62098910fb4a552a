package aggregation_test

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/aggregation"
)

// otherProcess returns a process on the same database, such as another replica.
func (h *fixture) otherProcess() *aggregation.Aggregation {
	return &aggregation.Aggregation{
		DB: h.DB, Connectors: h.Connectors, Now: h.Now, Wake: h.Wake, Erase: h.Erase, Sync: h.Sync, Fetch: h.Fetch, Background: h.later, Name: "other", Log: h.Log,
	}
}

// TestDeviceOfTheUserWhoShares checks that the read of newly shared data has the device of the user
// who shared it, if the same process reads it. An address that is more than five minutes old must
// not be sent, because the institution would assume that the user is present.
func TestDeviceOfTheUserWhoShares(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		other, first, second := h.otherProcess(), netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("192.0.2.8")
		var seen []netip.Addr
		s.read = func(ctx context.Context, r connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			seen = append(seen, r.Device.Address)
			return soundBooks().read(ctx, r, out)
		}
		share := func(through *aggregation.Aggregation, at netip.Addr) {
			t.Helper()
			ctx := connector.WithDevice(t.Context(), connector.Device{Address: at})
			account := h.accounts(false)
			for _, disabled := range []bool{true, false} {
				_, err := through.ChangeAccounts(ctx, h.domain, h.user.ID, []passerelle.AccountID{account[0].ID}, aggregation.AccountChange{Disabled: &disabled, Origin: "api"})
				must(t, err)
			}
		}
		read := func(through *aggregation.Aggregation) {
			t.Helper()
			if n, err := through.SyncDue(t.Context(), h.domain); err != nil || n != 1 {
				t.Errorf("%d reads of connection %d: %v", n, id, err)
			}
		}
		share(h.Aggregation, first)
		h.now = h.now.Add(4 * time.Minute)
		read(h.Aggregation)

		share(h.Aggregation, first)
		read(other)
		h.now = h.now.Add(6 * time.Minute)
		share(other, second)
		read(h.Aggregation)

		if want := []netip.Addr{first, {}, {}}; !slices.Equal(seen, want) {
			t.Errorf("the institution saw %v, want %v", seen, want)
		}
	})
}
