package remote

import (
	"context"
	"io"
	"time"
)

// SetNow sets the clock of a program.
func (p *Program) SetNow(now func() time.Time) { p.now = now }

// SetSilence sets the longest pause in a stream, and returns the former one.
func SetSilence(d time.Duration) time.Duration {
	defer func() { silence = d }()
	return silence
}

// Paced returns a reader of the body that is limited to the rate of the program's streams.
func (p *Program) Paced(ctx context.Context, body io.Reader) io.Reader {
	return &paced{ctx: ctx, from: body, allowed: p.streamLimiter}
}
