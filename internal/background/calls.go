package background

import (
	"context"
	"sync"
)

// Calls tracks work for which requests wait. The work continues when the client of a request
// leaves. The zero value is ready. Its methods are safe for concurrent use.
type Calls struct {
	mu      sync.Mutex
	stopped bool
	ending  map[*context.CancelFunc]struct{}
	working sync.WaitGroup
}

// Outlast returns a context with the values of ctx for one piece of work. The context ends when the
// returned function or Stop is called, but not with ctx. The caller must call the returned function
// at the end of the work. If Outlast is called after Stop, it returns a context that has already
// ended.
func (c *Calls) Outlast(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		cancel()
		return ctx, func() {}
	}
	if c.ending == nil {
		c.ending = map[*context.CancelFunc]struct{}{}
	}
	c.ending[&cancel] = struct{}{}
	c.working.Add(1)
	return ctx, sync.OnceFunc(func() { c.end(&cancel) })
}

func (c *Calls) end(cancel *context.CancelFunc) {
	(*cancel)()
	c.mu.Lock()
	delete(c.ending, cancel)
	c.mu.Unlock()
	c.working.Done()
}

// Stop ends the contexts of all work, and returns when all work has ended.
func (c *Calls) Stop() {
	c.mu.Lock()
	c.stopped = true
	for cancel := range c.ending {
		(*cancel)()
	}
	c.mu.Unlock()
	c.working.Wait()
}
