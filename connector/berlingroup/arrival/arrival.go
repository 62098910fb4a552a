// Package arrival reads the bodies of a bank's responses within limits of size, nesting and time.
//
// It owns the limits for responses that are read while they arrive, and the limit of the wait that a
// response asks for. It does not own the request or the meaning of the response. It fails with
// ErrTooLarge when a response exceeds its limit, and with the error of the connection when the bank
// is too slow.
package arrival

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// These are the limits for responses. All but maxDepth are for responses that are read while they
// arrive.
const (
	// largestReport is the maximum size of a response in bytes. largestItem is the maximum number
	// of bytes before the next item.
	largestReport = 256 << 20
	largestItem   = 1 << 20
	// maxDepth is the maximum nesting of JSON. The standard needs seven levels.
	maxDepth = 64
	// slowest is the number of bytes that add one second to the time limit of a bank.
	slowest = 64 << 10
)

// ErrTooLarge means that a response exceeds its limit.
var ErrTooLarge = errors.New("its response is too large")

// All reads a complete response. It fails with ErrTooLarge when the response exceeds the limit.
func All(body io.Reader, most int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(body, most+1))
	if int64(len(content)) > most {
		return nil, ErrTooLarge
	}
	return content, err
}

// Body is the body of a response while its consumer reads it. The time that the bank needs counts
// towards the limit. The time that the consumer needs does not count.
type Body struct {
	from    io.Reader
	now     func() time.Time
	timeout *time.Timer
	// limit is the time that the bank may need, in addition to the time for the bytes. waited is
	// the time that it has needed so far.
	limit, waited time.Duration
	// read is the number of all bytes. since is the number of bytes after the last item.
	read, since int64
	// failed is the reason why the body cannot be read completely.
	failed error
}

// New returns a body. The timer runs only while Read waits for the bank, and ends the exchange
// after the limit.
func New(from io.Reader, timeout *time.Timer, limit time.Duration, now func() time.Time) *Body {
	timeout.Stop()
	return &Body{from: from, timeout: timeout, limit: limit, now: now}
}

// Item records that the consumer has taken an item.
func (b *Body) Item() { b.since = 0 }

// Waited returns the time that the bank has needed so far.
func (b *Body) Waited() time.Duration { return b.waited }

// Failed returns the reason why the body cannot be read completely, or nil.
func (b *Body) Failed() error { return b.failed }

// Read reads more of the body. It fails when an item or the response is too large, or when the bank
// is too slow.
func (b *Body) Read(p []byte) (int, error) {
	if b.since > largestItem || b.read > largestReport {
		b.failed = ErrTooLarge
		return 0, b.failed
	}
	begun := b.now()
	b.timeout.Reset(b.limit + time.Duration(b.read/slowest)*time.Second - b.waited)
	n, err := b.from.Read(p)
	b.timeout.Stop()
	b.waited += b.now().Sub(begun)
	b.read, b.since = b.read+int64(n), b.since+int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed = err
	}
	return n, err
}

// TooDeep reports whether JSON is nested too deeply to be decoded.
func TooDeep(body []byte) bool {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest > maxDepth
}

// longestRetry is the longest wait that a bank can ask for.
const longestRetry = 24 * time.Hour

// RetryAfter returns how long a bank asks the service to wait before the next request (RFC 9110,
// section 10.2.3). It returns at most longestRetry.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	reported := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(reported); err == nil {
		return time.Duration(min(max(seconds, 0), int(longestRetry/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(reported); err == nil {
		return min(max(at.Sub(now), 0), longestRetry)
	}
	return 0
}
