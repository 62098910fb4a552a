package remote

import (
	"context"
	"io"
	"time"
)

// SetNow sets the clock of a program.
func (p *Program) SetNow(now func() time.Time) { p.now = now }

// Paced limits the rate at which the body of a stream is read.
func Paced(ctx context.Context, body io.Reader) io.Reader { return newPaced(ctx, body) }
