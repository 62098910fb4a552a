package background

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
)

// Pool runs work that a request starts, and that continues when the request ends. Each piece of
// work has its own goroutine. Set the fields before you use the pool. Its methods are safe for
// concurrent use.
type Pool struct {
	// Size is the largest number of pieces of work that run at the same time. Each is the largest
	// number of them for one connector. Zero means Size.
	Size, Each int
	// Log receives panics. It is required.
	Log *slog.Logger

	mu      sync.Mutex
	busy    int
	of      map[string]int // the running pieces of work, by connector
	stopped bool
	ctx     context.Context //nolint:containedctx // the context of all work, from the first piece to Stop
	cancel  context.CancelFunc
	working sync.WaitGroup
}

// Go starts a piece of work for a connector. The context of the work ends when the pool is stopped.
// Go starts nothing and returns false while the pool is full, while too much work for the connector
// is running, or after the pool was stopped.
func (p *Pool) Go(connector string, work func(context.Context)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || p.busy == p.Size || p.of[connector] == cmp.Or(p.Each, p.Size) {
		return false
	}
	if p.ctx == nil {
		p.ctx, p.cancel = context.WithCancel(context.Background())
		p.of = map[string]int{}
	}
	p.busy++
	p.of[connector]++
	p.working.Go(func() { p.do(connector, work) })
	return true
}

func (p *Pool) do(connector string, work func(context.Context)) {
	if err := Guard(func() error { work(p.ctx); return nil }); err != nil {
		p.Log.Error("work in the background failed", "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	if p.of[connector]--; p.of[connector] == 0 {
		delete(p.of, connector)
	}
}

// Stop cancels the contexts of all running work, and returns when all work has ended.
func (p *Pool) Stop() {
	p.mu.Lock()
	p.stopped = true
	if p.cancel != nil {
		p.cancel()
	}
	p.mu.Unlock()
	p.working.Wait()
}
