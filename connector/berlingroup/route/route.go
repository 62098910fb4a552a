// Package route finds the address from which this machine calls a bank.
//
// It owns this address, which is looked up once unless the operator names it. It does not own
// connections. It fails when the name of the bank cannot be resolved, and when there is no route to
// the bank.
package route

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"
)

// Ends are the addresses of this machine and of the bank.
type Ends struct{ Own, Bank netip.Addr }

// Route determines the addresses at both ends of the connection to one bank.
type Route struct {
	// Find finds the ends of the route to a host and port.
	Find func(ctx context.Context, to string) (Ends, error)
	to   string
	own  atomic.Pointer[netip.Addr]
}

// lookupTime limits resolving the name of a bank.
const lookupTime = 10 * time.Second

// New returns the route to a bank. api is the address of the bank's API. own is our address as the
// operator names it, or "".
func New(api, own string) *Route {
	r := &Route{Find: find}
	if base, err := url.Parse(api); err == nil {
		r.to = net.JoinHostPort(base.Hostname(), cmp.Or(base.Port(), "443"))
	}
	if named, err := netip.ParseAddr(own); err == nil {
		r.own.Store(&named)
	}
	return r
}

// Own returns the address that the operator names or, without one, the address of the network
// interface that leads to the bank. Behind address translation, the bank sees a different address.
// Own determines the interface only once, because this requires resolving the bank's name.
func (r *Route) Own(ctx context.Context) (netip.Addr, error) {
	if known := r.own.Load(); known != nil {
		return *known, nil
	}
	ends, err := r.Ends(ctx)
	if err != nil {
		return netip.Addr{}, err
	}
	r.own.Store(&ends.Own)
	return ends.Own, nil
}

// Ends looks up the ends of the route.
func (r *Route) Ends(ctx context.Context) (Ends, error) { return r.Find(ctx, r.to) }

// find asks the system for the route to an address. It sends nothing there.
func find(ctx context.Context, to string) (Ends, error) {
	conn, err := (&net.Dialer{Timeout: lookupTime}).DialContext(ctx, "udp", to)
	if err != nil {
		return Ends{}, err
	}
	own, err := netip.ParseAddrPort(conn.LocalAddr().String())
	bank, wrong := netip.ParseAddrPort(conn.RemoteAddr().String())
	_ = conn.Close() // nothing was sent
	return Ends{own.Addr().WithZone(""), bank.Addr()}, errors.Join(err, wrong)
}
