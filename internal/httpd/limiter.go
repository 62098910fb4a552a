package httpd

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
)

// Limiter limits the concurrent requests. Memory and time then stay limited for any number of
// clients. Limiter refuses further requests immediately. A request does not count while it waits
// for its own client: for the rest of its body, or until the client takes the response. Separate
// limits apply to the bytes of bodies and of responses in memory. A client that takes its response
// slowly keeps room only for the bytes of the response. While there are many such bytes, it keeps
// them only for a short time (see Options.Unsent).
type Limiter struct {
	// Limit is the largest number of concurrent requests.
	Limit int64
	// Bodies is the largest number of bytes of bodies that all requests together may have in memory.
	// It includes the converted bodies that Counted and Reserve count. The first 16 KiB of each
	// request are free. Their sum is limited anyway, because the number of connections is limited.
	// Small bodies therefore take no room from large bodies.
	Bodies int64
	// Responses is the largest number of bytes that ReserveResponse counts for all requests
	// together.
	Responses int64
	// Full is the error of a refused request. Reading a body fails with Full when there is no room
	// for the body. Reading also fails with Full when the body ends while too many other requests
	// run.
	Full error
	// Refuse responds to refused requests.
	Refuse func(http.ResponseWriter, *http.Request, error)

	working, held, responses atomic.Int64
}

// Wrap returns a handler that applies the limiter before it calls handler.
func (l *Limiter) Wrap(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.enter() {
			l.working.Add(-1)
			l.Refuse(w, r, l.Full)
			return
		}
		defer l.working.Add(-1)
		h := &holding{limiter: l, response: w}
		defer h.giveBack()
		exchangeOf(r.Context()).body = h
		inside := *r
		if r.Body != http.NoBody {
			inside.Body = &limitedBody{ReadCloser: r.Body, holding: h}
		}
		handler.ServeHTTP(&limitedWriter{ResponseWriter: w, holding: h}, &inside)
	})
}

// enter counts one more request, and reports whether there is room for it.
func (l *Limiter) enter() bool { return l.working.Add(1) <= l.Limit }

// limitedBody is the body of an admitted request.
type limitedBody struct {
	io.ReadCloser
	*holding
	ended error
}

// Read releases the request's slot in the limiter while it waits for the client. At the end of the
// body, it refuses a request beyond the limit, because such a request has not begun anything yet.
// In the middle of the body, the request must continue to read.
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

// limitedWriter is the response to an admitted request.
type limitedWriter struct {
	http.ResponseWriter
	*holding
}

// Write releases the request's slot in the limiter while it writes. It then takes a slot again
// without waiting, even beyond the limit. A request that waited here would hold memory that other
// requests wait for. The first write gives back the room that the response needed only while the
// handler made it.
func (t *limitedWriter) Write(p []byte) (int, error) {
	t.keepAnswer(int64(len(p)))
	t.limiter.working.Add(-1)
	defer t.limiter.working.Add(1)
	return t.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (t *limitedWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }
