package httpd

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// A body can be longer than its handler accepts. These constants bound how much of the excess the
// server reads and discards, and for how long.
const (
	maxDrained = 8 << 20
	drainTime  = 5 * time.Second
)

// Bounded returns a body from which the handler can read up to a number of bytes. Reading more
// fails with *http.MaxBytesError. Many clients read the response only after they have written
// everything. The server therefore discards up to 8 MiB more, for at most 5 s. If the body does not
// end within these limits, the server stops reading, responds, and closes the connection.
func Bounded(w http.ResponseWriter, body io.ReadCloser, most int64) io.ReadCloser {
	return &bounded{ReadCloser: body, response: w, most: most, left: most}
}

type bounded struct {
	io.ReadCloser
	response   http.ResponseWriter
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
		cut(b.response)
	}
	return n, b.err
}

// drained discards the rest of the body, and reports whether it reached the end. drained does not
// hold the discarded bytes in memory. The limiter does not count a request that waits for these
// bytes.
func (b *bounded) drained() bool {
	rest := b.ReadCloser
	if s, is := rest.(*limitedBody); is {
		rest = s.ReadCloser
		s.limiter.working.Add(-1)
		defer s.limiter.working.Add(1)
	}
	if http.NewResponseController(b.response).SetReadDeadline(time.Now().Add(drainTime)) != nil {
		return false // without a deadline, nothing would limit the time
	}
	_, err := io.CopyN(io.Discard, rest, maxDrained)
	return errors.Is(err, io.EOF)
}

// cut makes the server respond without reading more from the client. The server then closes the
// connection in a way that lets the client read the response. Only the innermost writer knows the
// server, so cut looks for it below the other writers.
func cut(w http.ResponseWriter) {
	for {
		outer, wraps := w.(interface{ Unwrap() http.ResponseWriter })
		if !wraps {
			break
		}
		w = outer.Unwrap()
	}
	_, _ = http.MaxBytesReader(w, io.NopCloser(strings.NewReader("x")), 0).Read(make([]byte, 1)) // this read always returns the error
}

// Counted counts the memory for another form of a body, such as its decompressed form, in the same
// way as the memory for the body. Reading fails with Limiter.Full when there is no room.
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

// Reserve counts memory for the parsed form of a request's body in the same way as the memory for
// the body. It fails with Limiter.Full when there is no room.
func Reserve(ctx context.Context, bytes int64) error {
	h := exchangeOf(ctx).body
	if h == nil {
		return nil
	}
	if !h.makeRoom(h.read + bytes - free - h.room) {
		return h.limiter.Full
	}
	h.read += bytes
	return nil
}

// ReserveResponse counts memory for the response to a request. Once the handler writes the
// response, only its bytes count, until they are sent. ReserveResponse fails with Limiter.Full when
// there is no room.
func ReserveResponse(ctx context.Context, bytes int64) error {
	h := exchangeOf(ctx).body
	if h == nil || bytes <= free {
		return nil
	}
	if h.limiter.responses.Add(bytes) > h.limiter.Responses {
		h.limiter.responses.Add(-bytes)
		return h.limiter.Full
	}
	h.responseBytes += bytes
	return nil
}

// free is the number of bytes of a body or a response that a request may hold in memory even when
// the limiter has no room.
const free = 16 << 10

// holding counts the bytes that a request holds of its body. It belongs to the goroutine of the
// request.
type holding struct {
	limiter  *Limiter
	response http.ResponseWriter
	// read is the number of bytes of the body and of its other counted forms. room is the number of
	// bytes that the request has from the limiter.
	read, room int64
	refused    bool
	// responseBytes is the number of bytes that the request has from the limiter for its response.
	responseBytes int64
}

// readInto reads only when there is room for the whole buffer. The buffer takes its memory even if
// the client sends few bytes.
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
		cut(h.response)
		return false
	}
	h.room += more
	return true
}

// keepAnswer gives back the room for the response beyond a number of bytes.
func (h *holding) keepAnswer(bytes int64) {
	if excess := h.responseBytes - bytes; excess > 0 {
		h.limiter.responses.Add(-excess)
		h.responseBytes = bytes
	}
}

func (h *holding) giveBack() {
	h.limiter.held.Add(-h.room)
	h.keepAnswer(0)
}
