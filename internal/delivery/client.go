// Package delivery sends webhooks.
//
// It owns the guarded way out to addresses that clients of the service name:
// which of them may be dialled, for how long, and how much of an answer is
// read. It does not own events, their bodies or signatures. A refused address
// is an error that is ErrAddress; whatever else goes wrong on the way is the
// error of net/http.
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
	// DefaultTimeout is from dialling to the last byte of the answer.
	DefaultTimeout = 10 * time.Second
	// MaxAnswer is how many bytes of an answer's body can be read.
	MaxAnswer = 64 << 10

	dialTimeout = 5 * time.Second
	maxHeader   = 64 << 10
	// maxIdle is the number of deliveries in flight to one webhook, so that
	// none of them has to dial again.
	maxIdle = 8
)

// ErrAddress means that a host stands for an address that may not be dialled.
var ErrAddress = errors.New("delivery: the address is not open to outgoing requests")

// Outbound is what the operator allows outgoing requests. The zero value
// allows public addresses alone.
type Outbound struct {
	// Timeout bounds a whole exchange; zero means DefaultTimeout. The context
	// of a request can shorten it.
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
		Timeout:   cmp.Or(o.Timeout, DefaultTimeout),
		Transport: bounded{o.transport()},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

func (o Outbound) transport() *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, Control: o.control()}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    maxIdle,
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
