package httpd

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
)

// Door lets only so many requests at once be worked on, so that memory and the
// time of those inside stay bounded whatever the number of those outside. The
// others are turned away at once: who would have to wait longer than for an
// answer is better off to know. A request that waits for its own client, to
// send the rest of its body or to take the answer, is not being worked on; what
// it holds of its body meanwhile is bounded by itself.
type Door struct {
	// Limit is how many are worked on at once.
	Limit int64
	// Bodies is how many bytes of bodies are held at once, by all requests
	// together. The first 16 KiB of each are free: their number is bounded by
	// that of the connections, and small bodies need no room that large ones take.
	Bodies int64
	// Full is why a request is refused. Reading a body that there is no room for
	// fails with it, and so does its end when too many are worked on by then.
	Full error
	// Refuse answers those that are turned away.
	Refuse func(http.ResponseWriter, *http.Request, error)

	working, held atomic.Int64
}

// Around puts a handler behind the door.
func (d *Door) Around(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.enter() {
			d.working.Add(-1)
			d.Refuse(w, r, d.Full)
			return
		}
		defer d.working.Add(-1)
		h := &holding{door: d, answer: w}
		defer h.giveBack()
		exchangeOf(r.Context()).body = h
		inside := *r
		if r.Body != http.NoBody {
			inside.Body = &sent{ReadCloser: r.Body, holding: h}
		}
		handler.ServeHTTP(&taken{ResponseWriter: w, door: d}, &inside)
	})
}

// enter counts one more, and reports whether there is room for it.
func (d *Door) enter() bool { return d.working.Add(1) <= d.Limit }

// sent is the body of a request inside.
type sent struct {
	io.ReadCloser
	*holding
	ended error
}

// Read is done outside. What has come back with the whole body has begun nothing
// yet, and can be turned away; in the middle of it there is nothing to be done
// but to read on.
func (s *sent) Read(p []byte) (int, error) {
	if s.ended != nil {
		return 0, s.ended
	}
	s.door.working.Add(-1)
	n, err := s.readInto(p, s.ReadCloser)
	if !s.door.enter() && errors.Is(err, io.EOF) {
		err = s.door.Full
	}
	s.ended = err
	return n, err
}

// taken is the answer to a request inside.
type taken struct {
	http.ResponseWriter
	door *Door
}

// Write is done outside. It comes back in whoever is inside by then: what was
// begun is finished, and who waited here would keep what those inside wait for.
func (t *taken) Write(p []byte) (int, error) {
	t.door.working.Add(-1)
	defer t.door.working.Add(1)
	return t.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (t *taken) Unwrap() http.ResponseWriter { return t.ResponseWriter }
