// Package delivery sends webhooks.
//
// It owns the guarded way out to addresses that clients of the service name;
// the registration of webhooks and of the providers that sign for them; when a
// stored event is sent, in which order, and what a failure leads to; the form
// and signature of a request; and the built-in receiver. It does not own events
// or their bodies, nor the loop that calls it.
//
// One sender at a time works for a webhook, under a lease in the database, and
// webhooks never wait for each other. A request is recorded after it was
// answered: a sender that dies in between, or whose lease lapses, has its
// requests repeated by the next one, so that everything arrives at least once.
//
// Registrations fail with *passerelle.Error that names the field. A receiver
// that fails is not an error but an attempt on record, and nothing is given up
// unless its webhook is deleted. A refused address is ErrAddress.
package delivery

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// The bounds of an exchange with a receiver.
const (
	// MaxTimeout is from dialling to the last byte of the answer, and as much
	// as a domain can set.
	MaxTimeout = 300 * time.Second
	// MaxAnswer is how many bytes of an answer's body can be read.
	MaxAnswer = 64 << 10

	dialTimeout = 5 * time.Second
	maxHeader   = 64 << 10
)

// ErrAddress means that a host stands for an address that may not be dialled.
var ErrAddress = errors.New("delivery: the address is not open to outgoing requests")

// Outbound is what the operator allows outgoing requests. The zero value
// allows public addresses alone.
type Outbound struct {
	// Timeout bounds a whole exchange; zero means MaxTimeout. The context of a
	// request shortens it to what its domain has set.
	Timeout time.Duration
	// Loopback opens the machine itself; it is for development.
	Loopback bool
	// Networks opens private networks of the operator's.
	Networks []netip.Prefix
}

// metadata are the addresses at which cloud providers hand out credentials of
// the machine. No allow-list opens them.
var metadata = map[netip.Addr]bool{
	netip.MustParseAddr("169.254.169.254"): true,
	netip.MustParseAddr("169.254.170.2"):   true,
	netip.MustParseAddr("100.100.100.200"): true,
	netip.MustParseAddr("192.0.0.192"):     true,
	netip.MustParseAddr("168.63.129.16"):   true,
	netip.MustParseAddr("fd00:ec2::254"):   true,
	netip.MustParseAddr("fd20:ce::254"):    true,
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// NewClient makes the client for requests to addresses that clients of the
// service chose: webhooks and the token endpoints of their providers. It
// checks every address it dials, after resolving; it follows no redirect, so
// that the 3xx comes back as the answer, which is a failed delivery; it reads
// at most MaxAnswer bytes of a body, after which the body simply ends; it uses
// no proxy of the environment. It is safe for concurrent use and keeps
// connections: make one and share it.
func NewClient(o Outbound) *http.Client {
	return &http.Client{
		Timeout:   cmp.Or(o.Timeout, MaxTimeout),
		Transport: bounded{o.transport()},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

func (o Outbound) transport() *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, Control: o.control()}
	return &http.Transport{
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: maxInFlight, // so that none has to dial again

		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
		// A small compressed answer could unfold to a large one.
		DisableCompression: true,
	}
}

// control is asked about each address in turn, in the moment before it is
// dialled: what a name stood for when it was registered does not matter.
// Receivers listen on any port.
func (o Outbound) control() func(network, address string, conn syscall.RawConn) error {
	v4, v6 := o.allowed()
	guardian := ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
	return func(network, address string, conn syscall.RawConn) error {
		target, err := netip.ParseAddrPort(address)
		if err != nil || metadata[target.Addr().Unmap().WithZone("")] || metadata[translated(target.Addr())] {
			return fmt.Errorf("%w: %s", ErrAddress, address)
		}
		if err := guardian.Safe(network, address, conn); err != nil {
			return fmt.Errorf("%w: %w", ErrAddress, err)
		}
		return nil
	}
}

// allowed splits the open networks by family.
func (o Outbound) allowed() (v4, v6 []netip.Prefix) {
	open := append([]netip.Prefix(nil), o.Networks...)
	if o.Loopback {
		open = append(open, loopback...)
	}
	for _, prefix := range open {
		if prefix.Addr().Is4() {
			v4 = append(v4, prefix)
		} else {
			v6 = append(v6, prefix)
		}
	}
	return v4, v6
}

var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// translated is the IPv4 address that a NAT64 gateway would dial for an
// address, and the address itself when there is none.
func translated(addr netip.Addr) netip.Addr {
	if !nat64.Contains(addr) {
		return addr
	}
	wide := addr.As16()
	return netip.AddrFrom4([4]byte(wide[12:]))
}

// bounded limits how much of each answer can be read.
type bounded struct{ *http.Transport }

// RoundTrip sends the request and shortens the body of the answer.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = shortened{io.LimitReader(answer.Body, MaxAnswer), answer.Body}
	return answer, nil
}

// shortened ends after MaxAnswer bytes; closing it then drops the connection.
type shortened struct {
	io.Reader
	io.Closer
}
