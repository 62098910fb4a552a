package httpd

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
)

// Limiter limits the concurrent requests, so that memory and time stay limited for any number of
// clients. Further requests are refused at once, so that clients need not wait long just to be
// admitted. A request does not count while it waits for its own client, to send the rest of its
// body or take the answer. The bytes that it holds of its body have a separate limit.
type Limiter struct {
	// Limit is the number of requests that may run at once.
	Limit int64
	// Bodies is the number of bytes of bodies that all requests together may hold at once. The
	// first 16 KiB of each body do not count. The limit of connections limits them, and small
	// bodies then need no room that large ones use.
	Bodies int64
	// Full is the error of a refused request. Reading a body fails with it when there is no room
	// for the body, or when the body ends while too many requests are being processed.
	Full error
	// Refuse answers refused requests.
	Refuse func(http.ResponseWriter, *http.Request, error)

	working, held atomic.Int64
}

// Wrap returns a handler that runs behind the limiter.
func (l *Limiter) Wrap(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.enter() {
			l.working.Add(-1)
			l.Refuse(w, r, l.Full)
			return
		}
		defer l.working.Add(-1)
		h := &holding{limiter: l, answer: w}
		defer h.giveBack()
		exchangeOf(r.Context()).body = h
		inside := *r
		if r.Body != http.NoBody {
			inside.Body = &limitedBody{ReadCloser: r.Body, holding: h}
		}
		handler.ServeHTTP(&limitedWriter{ResponseWriter: w, limiter: l}, &inside)
	})
}

// enter counts one more request, and reports whether there is room for it.
func (l *Limiter) enter() bool { return l.working.Add(1) <= l.Limit }

// limitedBody is the body of a request that was admitted.
type limitedBody struct {
	io.ReadCloser
	*holding
	ended error
}

// Read releases the place of the request while it waits for the client. At the end of the body, a
// request beyond the limit is refused, because it has not begun anything yet. In the middle of the
// body it must go on reading.
func (s *limitedBody) Read(p []byte) (int, error) {
	if s.ended != nil {
		return 0, s.ended
	}
	s.limiter.working.Add(-1)
	n, err := s.readInto(p, s.ReadCloser)
	if !s.limiter.enter() && errors.Is(err, io.EOF) {
		err = s.limiter.Full
	}
	s.ended = err
	return n, err
}

// limitedWriter is the answer to a request that was admitted.
type limitedWriter struct {
	http.ResponseWriter
	limiter *Limiter
}

// Write releases the request's place while it writes. It then takes the place back without waiting,
// even beyond the limit, because a request that waited here would hold memory that other requests
// wait for.
func (t *limitedWriter) Write(p []byte) (int, error) {
	t.limiter.working.Add(-1)
	defer t.limiter.working.Add(1)
	return t.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (t *limitedWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }
