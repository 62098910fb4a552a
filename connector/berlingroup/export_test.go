package berlingroup

import (
	"context"
	"net/netip"
	"time"

	"passerelle/connector/berlingroup/route"
)

// SetClock replaces the machine's clock for a bank.
func (b *Bank) SetClock(now func() time.Time) { b.now = now }

// SetLimit sets how long one exchange may take.
func (b *Bank) SetLimit(most time.Duration) { b.limit = most }

// SetRoute sets the addresses of this machine and of the bank. The returned function returns the
// number of lookups of these addresses.
func (b *Bank) SetRoute(own, bank string) func() int {
	lookups := 0
	b.route.Find = func(context.Context, string) (route.Ends, error) {
		lookups++
		return route.Ends{Own: netip.MustParseAddr(own), Bank: netip.MustParseAddr(bank)}, nil
	}
	return func() int { return lookups }
}
