package delivery

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// The limits of an exchange with a receiver.
const (
	// MaxTimeout limits the time from the connection to the last byte of the answer. It is also
	// the largest value that a domain can set.
	MaxTimeout = 300 * time.Second
	// MaxAnswer is the number of bytes of an answer's body that can be read.
	MaxAnswer = 64 << 10

	dialTimeout = 5 * time.Second
	maxHeader   = 64 << 10
)

// ErrAddress means that the address of a host is not allowed.
var ErrAddress = errors.New("delivery: the address is not open to outgoing requests")

// Outbound defines the destinations that the operator allows for outgoing requests. The zero
// value allows public addresses only.
type Outbound struct {
	// Timeout limits a complete exchange. Zero means MaxTimeout. The context of a request may
	// end earlier, according to the setting of its domain.
	Timeout time.Duration
	// Loopback allows the addresses of this machine, for development.
	Loopback bool
	// Networks lists private networks of the operator that are allowed.
	Networks []netip.Prefix
	// Ports are the only allowed ports. An empty list allows any port.
	Ports []uint16
}

// NewClient makes the HTTP client for requests to addresses that clients of the service chose:
// webhooks and the token endpoints of their providers. It checks every address to which it
// connects, after name resolution. It follows no redirects, so an answer with status 3xx is a
// failed delivery. It reads at most MaxAnswer bytes of a body, which then ends without an error.
// It ignores a proxy that the environment names. It is safe for concurrent use and keeps
// connections, so make one and share it.
func NewClient(o Outbound) *http.Client {
	return &http.Client{
		Transport: bounded{o.transport(), cmp.Or(o.Timeout, MaxTimeout)},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

func (o Outbound) transport() *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, Control: o.guard()}
	return &http.Transport{
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: maxInFlight, // so that no request has to open a new connection

		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
		// A small compressed answer could decompress to a large one.
		DisableCompression: true,
	}
}

// bounded limits the time of an exchange, and how much of the answer can be read. The timeout of
// an http.Client would cost a goroutine for each request, even for requests whose context ends
// earlier and which need no other limit.
type bounded struct {
	*http.Transport
	most time.Duration
}

// RoundTrip sends the request and shortens the body of the answer.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	cancel := func() {}
	if end, ends := r.Context().Deadline(); !ends || time.Until(end) > b.most {
		var ctx context.Context
		ctx, cancel = context.WithTimeout(r.Context(), b.most)
		r = r.WithContext(ctx)
	}
	answer, err := b.Transport.RoundTrip(r)
	if err != nil {
		cancel()
		return nil, err
	}
	answer.Body = &shortened{io.LimitedReader{R: answer.Body, N: MaxAnswer}, answer.Body, cancel}
	return answer, nil
}

// shortened is a body that ends after MaxAnswer bytes. If bytes are left, closing it also closes
// the connection.
type shortened struct {
	io.LimitedReader
	whole  io.Closer
	cancel context.CancelFunc
}

// Close closes the complete body.
func (s *shortened) Close() error {
	defer s.cancel()
	return s.whole.Close()
}
