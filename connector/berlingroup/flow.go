package berlingroup

import (
	"context"
	"errors"
	"io"
	"time"
)

// The limits for answers that are read while they arrive.
const (
	// largestReport is the maximum size of an answer in bytes. largestItem is the maximum number of
	// bytes before the next item.
	largestReport = 256 << 20
	largestItem   = 1 << 20
	// slowest is the minimum number of bytes per second that a bank must send after its deadline.
	slowest = 64 << 10
)

// flow is the body of an answer while its consumer reads it. The time that the bank needs counts
// towards the limit. The time that the consumer needs does not count.
type flow struct {
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

// item records that the consumer has taken an item.
func (f *flow) item() { f.since = 0 }

// Read reads more of the body. It fails when an item or the answer is too large, or when the
// bank is too slow.
func (f *flow) Read(p []byte) (int, error) {
	if f.since > largestItem || f.read > largestReport {
		f.failed = errTooLarge
		return 0, f.failed
	}
	begun := f.now()
	f.timeout.Reset(f.limit + time.Duration(f.read/slowest)*time.Second - f.waited)
	n, err := f.from.Read(p)
	f.timeout.Stop()
	f.waited += f.now().Sub(begun)
	f.read, f.since = f.read+int64(n), f.since+int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		f.failed = err
	}
	return n, err
}

// takerError wraps an error of the consumer, to distinguish it from errors in reading the answer.
type takerError struct{ error }

// pass calls the consumer of a request while the answer arrives.
func (b *Bank) pass(ctx context.Context, r request, a answer, body *flow) (answer, error) {
	begun := b.now()
	body.timeout.Stop()
	err := r.take(a, body)
	a.taking = b.now().Sub(begun) - body.waited
	switch {
	case err == nil:
		return a, nil
	case body.failed != nil:
		return a, b.broken(ctx, r, body.failed, false)
	}
	return a, &takerError{err}
}
