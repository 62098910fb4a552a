package httpd

import (
	"io"
	"net/http"
	"sync/atomic"
)

// Door lets only so many requests at once be worked on, so that memory and the
// time of those inside stay bounded whatever the number of those outside. The
// others are turned away at once: who would have to wait longer than for an
// answer is better off to know. A request that waits for its own client, to
// send the rest of its body or to take the answer, is not being worked on.
type Door struct {
	// Limit is how many are worked on at once.
	Limit int64
	// Full answers the others.
	Full http.HandlerFunc

	working atomic.Int64
}

// Around puts a handler behind the door.
func (d *Door) Around(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.working.Add(1) > d.Limit {
			d.working.Add(-1)
			d.Full(w, r)
			return
		}
		defer d.working.Add(-1)
		inside := *r
		inside.Body = &sent{ReadCloser: r.Body, door: d}
		handler.ServeHTTP(&taken{ResponseWriter: w, door: d}, &inside)
	})
}

// outside does something for which the door does not count the request. It comes
// back in whoever is inside by then: what was begun is finished.
func (d *Door) outside(do func() (int, error)) (int, error) {
	d.working.Add(-1)
	defer d.working.Add(1)
	return do()
}

// sent is the body of a request inside.
type sent struct {
	io.ReadCloser
	door *Door
}

func (s *sent) Read(p []byte) (int, error) {
	return s.door.outside(func() (int, error) { return s.ReadCloser.Read(p) })
}

// taken is the answer to a request inside.
type taken struct {
	http.ResponseWriter
	door *Door
}

func (t *taken) Write(p []byte) (int, error) {
	return t.door.outside(func() (int, error) { return t.ResponseWriter.Write(p) })
}

// Unwrap lets http.ResponseController reach the connection.
func (t *taken) Unwrap() http.ResponseWriter { return t.ResponseWriter }
