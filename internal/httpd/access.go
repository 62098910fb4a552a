package httpd

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"
)

// around wraps the handler in everything that is done for each request.
func (s *Server) around(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		x := &exchange{id: s.ids.next(begun), answer: w.Header()}
		r = x.attach(s.options.Tracer, r)
		w.Header().Set(RequestIDHeader, x.id)
		closeAfterChunks(w, r)
		answer := &recorder{ResponseWriter: w, stall: s.options.Stall}
		answer.deadline(time.Time{}) // removes the deadline that the previous answer set on this connection
		s.options.Metrics.begin()
		defer func() { s.finish(x, r, answer, time.Since(begun)) }()
		s.guard(handler, answer, r)
	})
}

// closeAfterChunks ends the connection of a request with Transfer-Encoding. Such a request may hide
// another request when it also has a Content-Length (RFC 9112, 6.1). net/http drops that header, so
// it is not known whether there was one.
func closeAfterChunks(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 && r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
}

func (s *Server) finish(x *exchange, r *http.Request, answer *recorder, took time.Duration) {
	route := x.matched(r)
	s.options.Metrics.end(route, answer.status, took)
	x.endSpan(r.Method, route, answer.status)
	s.options.Log.LogAttrs(r.Context(), slog.LevelInfo, "request",
		slog.String("request_id", x.id),
		slog.String("method", r.Method),
		slog.String("route", route),
		slog.Int("status", answer.status),
		slog.Int64("bytes", answer.bytes),
		slog.Int64("duration_us", took.Microseconds()),
	)
}

// guard runs the handler. When the handler panics, guard answers instead.
func (s *Server) guard(handler http.Handler, answer *recorder, r *http.Request) {
	defer func() {
		if cause := recover(); cause != nil {
			s.recovered(cause, answer, r)
		}
	}()
	handler.ServeHTTP(answer, r)
	answer.begin(http.StatusOK) // net/http sends this status when a handler wrote nothing
}

func (s *Server) recovered(cause any, answer *recorder, r *http.Request) {
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler)
	}
	s.options.Log.LogAttrs(r.Context(), slog.LevelError, "handler panicked",
		slog.String("request_id", RequestID(r.Context())),
		slog.String("panic", fmt.Sprint(cause)),
		slog.String("stack", string(debug.Stack())),
	)
	if answer.status != 0 {
		// The client has received a part of the answer. It must not look complete.
		panic(http.ErrAbortHandler)
	}
	clear(answer.Header())
	answer.Header().Set(RequestIDHeader, RequestID(r.Context()))
	closeAfterChunks(answer, r)
	exchangeOf(r.Context()).demandTLS()
	s.options.Failure(answer, r)
}

// recorder records the answer's status and size. The status is 0 until the header is written, and
// stays 0 when the connection is cut before that.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
	stall  time.Duration
}

// part is the size in bytes of the parts of an answer. The client must take each part within the
// stall time.
const part = 64 << 10

// WriteHeader records the first final status. Informational statuses may come before it.
func (r *recorder) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		r.begin(status)
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes of the body, before any transfer coding.
func (r *recorder) Write(body []byte) (written int, err error) {
	r.begin(http.StatusOK)
	defer func() { r.bytes += int64(written) }()
	for {
		n, err := r.writePart(body[written:min(len(body), written+part)])
		if written += n; err != nil || written == len(body) {
			return written, err
		}
	}
}

func (r *recorder) writePart(p []byte) (int, error) {
	r.deadline(time.Now().Add(r.stall))
	return r.ResponseWriter.Write(p)
}

// deadline sets when the client must have taken the bytes that are written next.
func (r *recorder) deadline(at time.Time) {
	// An error is ignored, because only connections in tests have no deadlines.
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(at)
}

// Unwrap lets http.ResponseController reach the connection, to flush or to set deadlines.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) begin(status int) {
	if r.status == 0 {
		r.status = status
	}
}
