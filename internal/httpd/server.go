package httpd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"passerelle/internal/tracing"
)

// These are the default limits of Options.
const (
	DefaultHeaderTimeout  = 10 * time.Second
	DefaultReadTimeout    = time.Minute
	DefaultIdleTimeout    = 2 * time.Minute
	DefaultMaxHeaderBytes = 64 << 10
	DefaultStall          = 30 * time.Second
	DefaultUnsent         = 64 << 20
	DefaultConnections    = 8192
)

// maxStreams is the largest number of concurrent requests on an HTTP/2 connection. Without it, the
// limit of connections would not limit the requests on such connections.
const maxStreams = 16

// Options configures a server. Only Log is required.
type Options struct {
	// Addr is the address to listen on, as host:port. Port 0 means a free port. An empty Addr means
	// a free port on the loopback interface.
	Addr string
	// TLS makes the server speak HTTPS.
	TLS *tls.Config
	// Log receives one line for each request, and one for each panic.
	Log *slog.Logger
	// Metrics counts requests. It may be nil.
	Metrics *Metrics
	// Tracer records requests. It may be nil.
	Tracer *tracing.Tracer
	// Failure handles a request whose handler panicked before it wrote anything. Without Failure,
	// the response is a 500 without a body.
	Failure http.HandlerFunc

	// HeaderTimeout limits the time to read a request's header. ReadTimeout limits the time to read
	// the whole request. IdleTimeout limits the wait for the next request. Zero means the default,
	// and a negative value means no limit.
	HeaderTimeout, ReadTimeout, IdleTimeout time.Duration
	// Stall is the longest time that a client may need to take each part of a response. A part has
	// at most 64 KiB. The server cuts off a slower client. Zero means the default. The time for the
	// complete response has no limit, because a large file, or a call that waits for a bank, may
	// take long.
	Stall time.Duration
	// Unsent is a number of bytes. While long responses of more bytes in all wait in memory for
	// their clients, these clients have only a thirtieth of Stall for each part. Zero means the
	// default.
	Unsent int64
	// Connections limits the open connections. At the limit, the server closes an idle connection
	// for a new one. When no connection is idle, the new connection waits. Zero means the default.
	Connections int
	// MaxHeaderBytes limits the size of a request's header. Zero means the default.
	MaxHeaderBytes int
}

// Server is a listener, with the processing around each request. The caller calls Listen, Start,
// Drain and Stop in this order, and may omit Drain.
type Server struct {
	options  Options
	listener net.Listener
	server   *http.Server
	ids      sequence
	unsent   unsent
	ended    chan error
	// draining is set when the server ends each connection after the next response.
	draining atomic.Bool
}

// Listen opens the address. The caller therefore knows the address before the server serves
// anything. Clients that connect wait until Start.
func Listen(o Options) (*Server, error) {
	listener, err := net.Listen("tcp", cmp.Or(o.Addr, "127.0.0.1:0"))
	if err != nil {
		return nil, fmt.Errorf("listen for HTTP: %w", err)
	}
	if o.Failure == nil {
		o.Failure = bareFailure
	}
	if o.Stall == 0 {
		o.Stall = DefaultStall
	}
	o.Connections = cmp.Or(o.Connections, DefaultConnections)
	listener = netutil.LimitListener(listener, o.Connections)
	return &Server{
		options: o, listener: listener, server: o.server(), unsent: unsent{most: cmp.Or(o.Unsent, DefaultUnsent)}, ended: make(chan error, 1),
	}, nil
}

func (o Options) server() *http.Server {
	return &http.Server{
		TLSConfig: o.TLS,
		// Without this, the server itself would handle "OPTIONS *" and not call the handler.
		DisableGeneralOptionsHandler: true,

		ReadHeaderTimeout: cmp.Or(o.HeaderTimeout, DefaultHeaderTimeout),
		ReadTimeout:       cmp.Or(o.ReadTimeout, DefaultReadTimeout),
		IdleTimeout:       cmp.Or(o.IdleTimeout, DefaultIdleTimeout),
		MaxHeaderBytes:    cmp.Or(o.MaxHeaderBytes, DefaultMaxHeaderBytes),
		ConnState:         newIdlers(o.Connections).note,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		// The log messages of net/http itself are about connections, and contain addresses.
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
}

// Addr returns the address of the listener, as host:port with the actual port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Start serves the handler in the background.
func (s *Server) Start(handler http.Handler) {
	s.server.Handler = s.around(handler)
	go func() {
		if err := s.serve(); !errors.Is(err, http.ErrServerClosed) {
			s.ended <- fmt.Errorf("serve HTTP on %s: %w", s.Addr(), err)
		}
		close(s.ended)
	}()
}

func (s *Server) serve() error {
	if s.options.TLS != nil {
		return s.server.ServeTLS(s.listener, "", "")
	}
	return s.server.Serve(s.listener)
}

// Ended returns a channel that is closed when serving has ended. The channel has the error if
// serving ended without Stop.
func (s *Server) Ended() <-chan error { return s.ended }

// Drain makes the server end each connection after the next response. The server still accepts
// connections, and does not close idle ones, because a proxy could be sending a request on such a
// connection. A proxy can therefore leave the server without an error.
func (s *Server) Drain() { s.draining.Store(true) }

// Stop accepts no more connections, and waits for running requests. When the context ends first,
// Stop cuts these requests off and returns an error. A second call, or a call before Start, is
// harmless.
func (s *Server) Stop(ctx context.Context) error {
	err := s.server.Shutdown(ctx)
	// Shutdown closes the listener only if the server has begun to serve.
	if closeErr := s.listener.Close(); !errors.Is(closeErr, net.ErrClosed) {
		err = errors.Join(err, closeErr)
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("drain HTTP on %s: %w", s.Addr(), errors.Join(err, s.server.Close()))
}

func bareFailure(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusInternalServerError)
}
