package berlingroup

import (
	"context"
	"errors"
	"io"
	"time"
)

// The bounds of an answer that is taken as it comes.
const (
	// largestReport is how large the whole may be, and largestItem how much of it may come
	// before the next thing that is taken, in bytes.
	largestReport = 256 << 20
	largestItem   = 1 << 20
	// slowest is how many bytes a bank has to send in a second, beyond callTime.
	slowest = 64 << 10
)

// flow is the body of an answer on its way to whoever takes it. Time counts while the bank is
// waited for, and not while the taker is.
type flow struct {
	from    io.Reader
	now     func() time.Time
	timeout *time.Timer
	waited  time.Duration
	// read counts the bytes, and since those after the last item.
	read, since int64
	// failed is why the body cannot be read to its end.
	failed error
}

// item notes that something was taken.
func (f *flow) item() { f.since = 0 }

// Read reads on.
func (f *flow) Read(p []byte) (int, error) {
	if f.since > largestItem || f.read > largestReport {
		f.failed = errTooLarge
		return 0, f.failed
	}
	begun := f.now()
	f.timeout.Reset(callTime + time.Duration(f.read/slowest)*time.Second - f.waited)
	n, err := f.from.Read(p)
	f.timeout.Stop()
	f.waited += f.now().Sub(begun)
	f.read, f.since = f.read+int64(n), f.since+int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		f.failed = err
	}
	return n, err
}

// takerError is what went wrong with an answer at whoever took it.
type takerError struct{ error }

// pass has a request's answer taken as it comes.
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
