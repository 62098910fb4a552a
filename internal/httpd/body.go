package httpd

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// These limit how many bytes beyond the limit of a body are read and discarded, and for how long.
const (
	maxDrained = 8 << 20
	drainTime  = 5 * time.Second
)

// Bounded returns a body that can be read up to a number of bytes. Reading more fails with
// *http.MaxBytesError. Many clients do not read the answer before they have written everything.
// Therefore up to 8 MiB more are discarded, for at most 5 s. When a client sends even more, nothing
// more is read: it gets its answer, and its connection is closed.
func Bounded(w http.ResponseWriter, body io.ReadCloser, most int64) io.ReadCloser {
	return &bounded{ReadCloser: body, answer: w, most: most, left: most}
}

type bounded struct {
	io.ReadCloser
	answer     http.ResponseWriter
	most, left int64
	err        error
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.err != nil || len(p) == 0 {
		return 0, b.err
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) <= b.left {
		b.left, b.err = b.left-int64(n), err
		return n, err
	}
	n, b.left, b.err = int(b.left), 0, &http.MaxBytesError{Limit: b.most}
	if !b.drained() {
		cut(b.answer)
	}
	return n, b.err
}

// drained discards the rest of the body, and reports whether it reached the end. Discarded bytes
// are not held in memory. While the request waits for them, the limiter does not count it.
func (b *bounded) drained() bool {
	rest := b.ReadCloser
	if s, is := rest.(*limitedBody); is {
		rest = s.ReadCloser
		s.limiter.working.Add(-1)
		defer s.limiter.working.Add(1)
	}
	if http.NewResponseController(b.answer).SetReadDeadline(time.Now().Add(drainTime)) != nil {
		return false // without a deadline nothing would limit the time
	}
	_, err := io.CopyN(io.Discard, rest, maxDrained)
	return errors.Is(err, io.EOF)
}

// cut makes the server read nothing more from the client, answer without waiting for the rest, and
// close the connection so that the client can read the answer. Only the innermost writer knows the
// server, so cut searches below the writers around it.
func cut(w http.ResponseWriter) {
	for {
		outer, wraps := w.(interface{ Unwrap() http.ResponseWriter })
		if !wraps {
			break
		}
		w = outer.Unwrap()
	}
	_, _ = http.MaxBytesReader(w, io.NopCloser(strings.NewReader("x")), 0).Read(make([]byte, 1)) // this always returns the error
}

// Counted counts the memory that a body takes in another form, such as its inflated form. That
// memory counts like the body itself, and is refused with the same error.
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

// free is how many bytes of its body each request may always hold.
const free = 16 << 10

// holding counts the bytes of its body that a request holds. It belongs to the goroutine of the
// request.
type holding struct {
	limiter *Limiter
	answer  http.ResponseWriter
	// read is how many bytes were read, and room how many bytes were taken from the limiter.
	read, room int64
	refused    bool
}

// readInto reads only when there is room for the whole buffer, because the buffer takes its memory
// even if the client sends few bytes.
func (h *holding) readInto(p []byte, from io.Reader) (int, error) {
	if !h.makeRoom(h.read + int64(len(p)) - free - h.room) {
		return 0, h.limiter.Full
	}
	n, err := from.Read(p)
	h.read += int64(n)
	return n, err
}

func (h *holding) makeRoom(more int64) bool {
	if h.refused || more <= 0 {
		return !h.refused
	}
	if h.limiter.held.Add(more) > h.limiter.Bodies {
		h.limiter.held.Add(-more)
		h.refused = true
		cut(h.answer)
		return false
	}
	h.room += more
	return true
}

func (h *holding) giveBack() { h.limiter.held.Add(-h.room) }
