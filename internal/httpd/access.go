package httpd

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// around returns the handler with all processing that every request needs.
func (s *Server) around(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		x := &exchange{id: s.ids.next(begun), responseHeader: w.Header()}
		r = x.attach(s.options.Tracer, r)
		w.Header().Set(RequestIDHeader, x.id)
		s.closeConnection(w, r)
		response := &recorder{ResponseWriter: w, stall: s.options.Stall, unsent: &s.unsent}
		response.deadline(time.Time{}) // remove the deadline of the previous response on this connection
		s.options.Metrics.begin()
		defer func() { s.finish(x, r, response, time.Since(begun)) }()
		s.guard(handler, response, r)
	})
}

// closeConnection ends the connection after the response while the server drains. It also ends the
// connection after an HTTP/1 request with Transfer-Encoding. Such a request may hide another
// request if it also has a Content-Length (RFC 9112, 6.1). net/http drops that header, so httpd
// cannot know whether the request had one. An HTTP/1.0 request with Transfer-Encoding may hide
// another request too. net/http drops this header, so each HTTP/1.0 request ends its connection.
func (s *Server) closeConnection(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() || r.ProtoMajor == 1 && (r.ProtoMinor == 0 || len(r.TransferEncoding) > 0) {
		w.Header().Set("Connection", "close")
	}
}

func (s *Server) finish(x *exchange, r *http.Request, response *recorder, took time.Duration) {
	route := x.matched(r)
	method := methodLabel(r.Method)
	s.options.Metrics.end(method, route, response.status, took)
	x.endSpan(method, route, response.status)
	s.options.Log.LogAttrs(r.Context(), slog.LevelInfo, "request",
		slog.String("request_id", x.id),
		slog.String("method", r.Method),
		slog.String("route", route),
		slog.Int("status", response.status),
		slog.Int64("bytes", response.bytes),
		slog.Int64("duration_us", took.Microseconds()),
	)
}

// guard runs the handler. When the handler panics before it writes anything, Options.Failure writes
// the response.
func (s *Server) guard(handler http.Handler, response *recorder, r *http.Request) {
	defer func() {
		if cause := recover(); cause != nil {
			s.recovered(cause, response, r)
		}
	}()
	handler.ServeHTTP(response, r)
	response.begin(http.StatusOK) // net/http sends this status when a handler writes nothing
}

func (s *Server) recovered(cause any, response *recorder, r *http.Request) {
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler)
	}
	s.options.Log.LogAttrs(r.Context(), slog.LevelError, "handler panicked",
		slog.String("request_id", RequestID(r.Context())),
		slog.String("panic", fmt.Sprint(cause)),
		slog.String("stack", string(debug.Stack())),
	)
	if response.status != 0 {
		// The handler has begun the response, which must not appear complete.
		panic(http.ErrAbortHandler)
	}
	clear(response.Header())
	response.Header().Set(RequestIDHeader, RequestID(r.Context()))
	s.closeConnection(response, r)
	exchangeOf(r.Context()).demandTLS()
	s.options.Failure(response, r)
}

// recorder records the status and the size of a response. The status is 0 until the header is
// written. It stays 0 when the connection ends before that.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
	stall  time.Duration
	unsent *unsent
}

// part is the size of the parts of a response, in bytes. The client must take each part within the
// stall time.
const part = 64 << 10

// unsent counts the bytes of the long responses that wait in memory for their clients. A response
// is long if a handler writes more than a part of it at once. These responses are in memory as a
// whole, until their clients have taken them. Without a limit, slow clients could fill the memory.
type unsent struct {
	bytes atomic.Int64
	most  int64
}

// hurry divides the stall time of long responses while there are too many bytes of them.
const hurry = 30

// timeout returns the time within which a client must take the next part of a response.
func (u *unsent) timeout(length int, stall time.Duration) time.Duration {
	if length > part && u.bytes.Load() > u.most {
		return stall / hurry
	}
	return stall
}

// WriteHeader records the first final status. Informational statuses may come before it.
func (r *recorder) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		r.begin(status)
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write writes bytes of the body in parts. It counts the bytes before any transfer coding.
func (r *recorder) Write(body []byte) (written int, err error) {
	r.begin(http.StatusOK)
	defer func() { r.bytes += int64(written) }()
	if len(body) > part {
		r.unsent.bytes.Add(int64(len(body)))
		defer r.unsent.bytes.Add(-int64(len(body)))
	}
	for {
		r.deadline(time.Now().Add(r.unsent.timeout(len(body), r.stall)))
		n, err := r.ResponseWriter.Write(body[written:min(len(body), written+part)])
		if written += n; err != nil || written == len(body) {
			return written, err
		}
	}
}

// deadline sets the time by which the client must take the bytes that are written next.
func (r *recorder) deadline(at time.Time) {
	// An error means that the connection has ended, or has no deadlines, as in tests.
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(at)
}

// Unwrap lets http.ResponseController reach the connection, to flush or to set deadlines.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) begin(status int) {
	if r.status == 0 {
		r.status = status
	}
}
