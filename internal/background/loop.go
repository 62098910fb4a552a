package background

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Loop runs a pass when it starts, when the duration Every has elapsed since the end of the last
// pass, and when Wake is called. Its fields must not change after Start. Its methods are safe for
// concurrent use.
type Loop struct {
	// Name identifies the loop in logs.
	Name string
	// Every is the pause between passes. If Every is zero, only Start and Wake cause passes.
	Every time.Duration
	// Pass does the work. It should return soon after its context is cancelled, because Stop waits
	// for it.
	Pass func(context.Context) error
	// Log receives failures. It is required.
	Log *slog.Logger

	once   sync.Once
	wake   chan struct{}
	mu     sync.Mutex
	state  state
	cancel context.CancelFunc
	done   chan struct{}

	passes, failures atomic.Int64
	begun            atomic.Int64 // in microseconds since 1970, zero between passes
}

// Counts returns the number of finished passes, and the number of failed passes.
func (l *Loop) Counts() (int64, int64) { return l.passes.Load(), l.failures.Load() }

// Begun returns the time at which the running pass began, and false between passes.
func (l *Loop) Begun() (time.Time, bool) {
	begun := l.begun.Load()
	return time.UnixMicro(begun), begun != 0
}

// state is the state of a loop. A loop never returns to an earlier state.
type state int

const (
	idle state = iota
	running
	stopped
)

// Start begins the passes, in a separate goroutine. It does nothing when the loop is running or
// was stopped.
func (l *Loop) Start() {
	l.init()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != idle {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.state, l.cancel, l.done = running, cancel, make(chan struct{})
	go l.run(ctx, l.done)
}

// Wake makes a pass due now. It never blocks. Any number of calls during a pass cause one further
// pass. The first pass serves all calls before Start.
func (l *Loop) Wake() {
	l.init()
	select {
	case l.wake <- struct{}{}:
	default: // an earlier call is pending, and its pass has not begun
	}
}

// Stop cancels the running pass, and returns when the pass has ended. Further calls only wait for
// that end. If Stop is called before Start, Start does nothing. A pass must not stop its own loop.
func (l *Loop) Stop() {
	l.mu.Lock()
	l.state = stopped
	cancel, done := l.cancel, l.done
	l.mu.Unlock()
	if done == nil {
		return
	}
	cancel()
	<-done
}

func (l *Loop) init() {
	l.once.Do(func() { l.wake = make(chan struct{}, 1) })
}

func (l *Loop) run(ctx context.Context, done chan<- struct{}) {
	defer close(done)
	l.drain()
	for ctx.Err() == nil {
		l.report(ctx, l.attempt(ctx))
		l.wait(ctx)
	}
}

// drain drops the calls of Wake before the first pass, because the first pass does their work.
func (l *Loop) drain() {
	select {
	case <-l.wake:
	default:
	}
}

func (l *Loop) wait(ctx context.Context) {
	var due <-chan time.Time // never ready when Every is zero
	if l.Every > 0 {
		timer := time.NewTimer(l.Every)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-l.wake:
	case <-ctx.Done():
	}
}

// attempt runs a pass.
func (l *Loop) attempt(ctx context.Context) error {
	l.begun.Store(time.Now().UnixMicro())
	defer l.begun.Store(0)
	return Guard(func() error { return l.Pass(ctx) })
}

// Guard calls the function `work`. It returns a panic of `work` as an error, so that the panic does
// not end the process.
func Guard(work func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	return work()
}

// report counts a pass, and logs its failure unless Stop interrupted it.
func (l *Loop) report(ctx context.Context, err error) {
	l.passes.Add(1)
	if err == nil || ctx.Err() != nil {
		return
	}
	l.failures.Add(1)
	l.Log.Error("background pass failed", "loop", l.Name, "error", err)
}
