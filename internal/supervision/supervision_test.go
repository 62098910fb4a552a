package supervision_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"passerelle/internal/supervision"
)

// systemd listens as the manager does, and returns a function that receives a message.
func systemd(t *testing.T, watchdog string) func() string {
	t.Helper()
	address := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	t.Setenv("NOTIFY_SOCKET", address)
	t.Setenv("WATCHDOG_USEC", watchdog)
	return func() string {
		t.Helper()
		message := make([]byte, 100)
		_ = socket.SetReadDeadline(time.Now().Add(time.Minute))
		n, err := socket.Read(message)
		if err != nil {
			t.Fatal(err)
		}
		return string(message[:n])
	}
}

// TestAHangingServiceIsNotAlive: systemd receives nothing while the service does not answer
// itself, and is notified again once it does.
func TestAHangingServiceIsNotAlive(t *testing.T) {
	receive := systemd(t, "30000")
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
	for i, want := range []string{"READY=1", "WATCHDOG=1"} {
		if got := receive(); got != want {
			t.Errorf("message %d is %q, want %q", i, got, want)
		}
	}
	s.Stop()
	last := receive()
	for last == "WATCHDOG=1" { // what was on its way
		last = receive()
	}
	if last != "STOPPING=1" {
		t.Errorf("the last message is %q", last)
	}
}

// TestWithoutAWatchdogNobodyAsks: only being ready and stopping are reported.
func TestWithoutAWatchdogNobodyAsks(t *testing.T) {
	receive := systemd(t, "")
	s := supervision.Start(t.Context(), slog.New(slog.DiscardHandler), func(context.Context) error {
		t.Error("asked")
		return nil
	})
	s.Stop()
	for i, want := range []string{"READY=1", "STOPPING=1"} {
		if got := receive(); got != want {
			t.Errorf("message %d is %q, want %q", i, got, want)
		}
	}
}
