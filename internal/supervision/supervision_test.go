package supervision_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"passerelle/internal/supervision"
	"passerelle/internal/supervision/supervisiontest"
)

// TestAHangingServiceIsNotAlive checks that systemd gets the report WATCHDOG=1 after the service
// begins to respond.
func TestAHangingServiceIsNotAlive(t *testing.T) {
	systemd := supervisiontest.Listen(t, "30000")
	asked, hangs := make(chan bool, 100), atomic.Bool{}
	hangs.Store(true)
	s := supervision.Start(t.Context(), slog.New(slog.DiscardHandler), func(context.Context) error {
		asked <- true
		if hangs.Load() {
			return errors.New("no answer")
		}
		return nil
	})
	for range 5 {
		<-asked
	}
	hangs.Store(false)
	systemd.Want("READY=1", "WATCHDOG=1")
	s.Stop(0)
	systemd.WantLast("STOPPING=1\nEXTEND_TIMEOUT_USEC=15000000")
}

// TestWithoutWatchdogOnlyReadyAndStoppingAreSent checks that, without a watchdog, the service only
// reports that it is ready and that it is stopping.
func TestWithoutWatchdogOnlyReadyAndStoppingAreSent(t *testing.T) {
	systemd := supervisiontest.Listen(t, "")
	s := supervision.Start(t.Context(), slog.New(slog.DiscardHandler), func(context.Context) error {
		t.Error("asked")
		return nil
	})
	s.Stop(time.Minute)
	systemd.Want("READY=1", "STOPPING=1\nEXTEND_TIMEOUT_USEC=75000000")
}
