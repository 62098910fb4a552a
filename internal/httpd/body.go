package httpd

import (
	"context"
	"io"
	"net/http"
	"strings"
)

// Bounded is the body of a request up to so many bytes: reading on is an
// *http.MaxBytesError, after which the server reads nothing more from the client,
// answers without waiting for the rest, and closes the connection in a way that
// lets the client read the answer. Only the innermost writer knows that server, so
// it is looked for below those around it.
func Bounded(w http.ResponseWriter, body io.ReadCloser, most int64) io.ReadCloser {
	for {
		outer, wraps := w.(interface{ Unwrap() http.ResponseWriter })
		if !wraps {
			return http.MaxBytesReader(w, body, most)
		}
		w = outer.Unwrap()
	}
}

// cut has the server treat a body as one beyond its bound, without reading on.
func cut(w http.ResponseWriter) {
	beyond := Bounded(w, io.NopCloser(strings.NewReader("x")), 0)
	_, _ = beyond.Read(make([]byte, 1)) // always the error
}

// Counted is something that the body of a request becomes in memory, such as what
// it is once inflated: what is read of it counts as the body does, and is refused
// with the same error.
func Counted(ctx context.Context, from io.Reader) io.Reader {
	if h := exchangeOf(ctx).body; h != nil {
		return &counted{from, h}
	}
	return from
}

type counted struct {
	from io.Reader
	*holding
}

func (c *counted) Read(p []byte) (int, error) { return c.readInto(p, c.from) }

// free is how much of a body each request may hold whatever others hold.
const free = 16 << 10

// holding is what a request holds of its body. It belongs to the goroutine of the
// request.
type holding struct {
	door   *Door
	answer http.ResponseWriter
	// read is how much there is of it, room how much of the door's it has taken.
	read, room int64
	refused    bool
}

// readInto reads when there is room for all of a buffer, which exists however
// little a client sends.
func (h *holding) readInto(p []byte, from io.Reader) (int, error) {
	if !h.makeRoom(h.read + int64(len(p)) - free - h.room) {
		return 0, h.door.Full
	}
	n, err := from.Read(p)
	h.read += int64(n)
	return n, err
}

func (h *holding) makeRoom(more int64) bool {
	if h.refused || more <= 0 {
		return !h.refused
	}
	if h.door.held.Add(more) > h.door.Bodies {
		h.door.held.Add(-more)
		h.refused = true
		cut(h.answer)
		return false
	}
	h.room += more
	return true
}

func (h *holding) giveBack() { h.door.held.Add(-h.room) }
