// Package supervision reports the state of the service to systemd. It can also ask a running
// service for its state.
//
// It owns the times at which systemd gets the reports that the service is ready, alive or stopping.
// It does not decide whether the service is alive: the caller decides that. Without systemd it does
// nothing. A message that cannot be sent is logged, and does not make the service fail.
package supervision

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Supervision is the connection to systemd. Start returns one.
type Supervision struct {
	log     *slog.Logger
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// Start reports that the service is ready. If systemd requests it, Start also reports regularly
// that the service is alive, as long as the function alive returns no error. This function should
// return before its context ends.
func Start(ctx context.Context, log *slog.Logger, alive func(context.Context) error) *Supervision {
	s := &Supervision{log: log}
	ctx, s.cancel = context.WithCancel(ctx)
	s.notify(daemon.SdNotifyReady)
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("the interval of systemd's watchdog cannot be read", "error", err)
	}
	if interval > 0 {
		s.running.Go(func() { s.watch(ctx, interval/3, alive) })
	}
	return s
}

// watch reports three times in each interval of systemd. One slow response then does not make
// systemd end the service.
func (s *Supervision) watch(ctx context.Context, every time.Duration, alive func(context.Context) error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.report(ctx, every, alive)
		}
	}
}

func (s *Supervision) report(ctx context.Context, limit time.Duration, alive func(context.Context) error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := alive(limited)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.log.Error("the service does not respond to its own request, so systemd is not notified", "error", err)
		return
	}
	s.notify(daemon.SdNotifyWatchdog)
}

// closing is the time that the service needs to end after its last request.
const closing = 15 * time.Second

// Stop reports that the service is stopping. The argument is the longest time that running requests
// may still take. systemd then waits longer than its unit says, if necessary. No report follows.
func (s *Supervision) Stop(requests time.Duration) {
	s.cancel()
	s.running.Wait()
	s.notify(fmt.Sprintf("%s\nEXTEND_TIMEOUT_USEC=%d", daemon.SdNotifyStopping, (requests + closing).Microseconds()))
}

func (s *Supervision) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.log.Warn("systemd could not be notified", "state", state, "error", err)
	}
}
