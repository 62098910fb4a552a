package remote

import (
	"context"
	"io"
	"time"
)

// SetNow sets the clock of a program.
func (p *Program) SetNow(now func() time.Time) { p.now = now }

// Paced returns a reader of the stream body at the limited rate.
func Paced(ctx context.Context, body io.Reader) io.Reader { return newPaced(ctx, body) }
