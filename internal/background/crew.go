package background

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// Crew does pieces of work that came from requests and that no request waits
// for, each in a goroutine of its own. The fields are set before it is used.
// Methods are safe for concurrent use.
type Crew struct {
	// Size is how many pieces it does at once.
	Size int
	// Log receives panics; it is required.
	Log *slog.Logger

	mu      sync.Mutex
	busy    int
	stopped bool
	ctx     context.Context //nolint:containedctx // that of all work, from the first piece to Stop
	cancel  context.CancelFunc
	working sync.WaitGroup
}

// Go begins a piece of work, whose context ends when the crew is stopped. It is
// false, and nothing is begun, while there is as much work as the crew can do and
// once it was stopped.
func (c *Crew) Go(work func(context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped || c.busy == c.Size {
		return false
	}
	if c.ctx == nil {
		c.ctx, c.cancel = context.WithCancel(context.Background())
	}
	c.busy++
	c.working.Go(func() { c.do(work) })
	return true
}

func (c *Crew) do(work func(context.Context)) {
	defer func() {
		if cause := recover(); cause != nil {
			c.Log.Error("work in the background failed", "error", fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.busy--
	}()
	work(c.ctx)
}

// Stop ends the context of all work under way and returns when all of it has
// ended.
func (c *Crew) Stop() {
	c.mu.Lock()
	c.stopped = true
	if c.cancel != nil {
		c.cancel()
	}
	c.mu.Unlock()
	c.working.Wait()
}
