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

// These are the limits of an exchange with a receiver.
const (
	// MaxTimeout limits the time from the start of the connection to the last byte of the response.
	// A domain can set no larger value.
	MaxTimeout = 300 * time.Second
	// MaxAnswer is the largest number of bytes that the client reads from a response body.
	MaxAnswer = 64 << 10

	dialTimeout = 5 * time.Second
	maxHeader   = 64 << 10
)

// ErrAddress means that no requests may be sent to the address of a host.
var ErrAddress = errors.New("delivery: the address is not open to outgoing requests")

// Outbound defines the destinations that the operator allows for outgoing requests. The zero
// value allows public addresses only.
type Outbound struct {
	// Timeout limits a complete exchange. Zero means MaxTimeout. A setting of the domain can end a
	// request earlier.
	Timeout time.Duration
	// Loopback allows loopback addresses, for development.
	Loopback bool
	// Networks lists the operator's private networks that are allowed.
	Networks []netip.Prefix
	// Ports are the only allowed ports. An empty list allows any port.
	Ports []uint16
}

// NewClient returns an HTTP client that connects only to allowed addresses. The service uses it for
// webhooks, token endpoints and the identity provider of operators. After name resolution, the
// client checks every address before it connects. It follows no redirects. A response with status
// 3xx is therefore a failed delivery. The client reads at most MaxAnswer bytes of a body. The body
// then ends without an error. The client ignores a proxy that the environment names. It is safe for
// concurrent use and keeps connections open, so share one client.
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
		MaxIdleConnsPerHost: maxInFlight, // otherwise requests would often have to open new connections

		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
		// A small compressed response could decompress to a very large one.
		DisableCompression: true,
	}
}

// bounded limits the time of an exchange, and the number of bytes that are read from the response.
// With the timeout of an http.Client, each request would cost a goroutine. Most requests do not
// need that timeout, because their contexts end earlier.
type bounded struct {
	*http.Transport
	most time.Duration
}

// RoundTrip sends the request, and limits the body of the response.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	cancel := func() {}
	if end, ends := r.Context().Deadline(); !ends || time.Until(end) > b.most {
		var ctx context.Context
		ctx, cancel = context.WithTimeout(r.Context(), b.most)
		r = r.WithContext(ctx)
	}
	response, err := b.Transport.RoundTrip(r)
	if err != nil {
		cancel()
		return nil, err
	}
	response.Body = &shortened{io.LimitedReader{R: response.Body, N: MaxAnswer}, response.Body, cancel}
	return response, nil
}

// shortened is a body that ends after MaxAnswer bytes. When it is closed before the end of the
// original body, an HTTP/1 connection is also closed.
type shortened struct {
	io.LimitedReader
	whole  io.Closer
	cancel context.CancelFunc
}

// Close closes the original body.
func (s *shortened) Close() error {
	defer s.cancel()
	return s.whole.Close()
}
