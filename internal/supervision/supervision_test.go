package supervision_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"passerelle/internal/supervision"
	"passerelle/internal/supervision/supervisiontest"
)

// TestAHangingServiceIsNotAlive checks that systemd gets the report WATCHDOG=1 only after the
// service begins to respond.
func TestAHangingServiceIsNotAlive(t *testing.T) {
	systemd := supervisiontest.Listen(t, "30000")
	asked, responds := make(chan bool), make(chan error)
	s := supervision.Start(t.Context(), slog.New(slog.DiscardHandler), func(ctx context.Context) error {
		select {
		case asked <- true:
			return <-responds
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	systemd.Want("READY=1")
	for range 5 {
		<-asked
		responds <- errors.New("no answer")
	}
	<-asked // all five failures were handled
	systemd.WantNone()
	responds <- nil
	systemd.Want("WATCHDOG=1")
	s.Stop(0)
	systemd.WantLast("STOPPING=1\nEXTEND_TIMEOUT_USEC=15000000")
}

func TestWithoutWatchdogOnlyReadyAndStoppingAreSent(t *testing.T) {
	systemd := supervisiontest.Listen(t, "")
	s := supervision.Start(t.Context(), slog.New(slog.DiscardHandler), func(context.Context) error {
		t.Error("asked")
		return nil
	})
	s.Stop(time.Minute)
	systemd.Want("READY=1", "STOPPING=1\nEXTEND_TIMEOUT_USEC=75000000")
}
