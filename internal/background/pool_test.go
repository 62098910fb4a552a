package background_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"passerelle/internal/background"
)

// TestPool checks that a pool accepts work up to its size, and accepts more after some work has
// ended. It must survive panics, and cancel running work when it stops.
func TestPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p := &background.Pool{Size: 2, Log: slog.New(slog.NewTextHandler(&log, nil))}
		finish, ended := make(chan bool), 0
		work := func(ctx context.Context) {
			select {
			case fault := <-finish:
				if fault {
					panic("at fault")
				}
			case <-ctx.Done():
				ended++
			}
		}
		begins := func(want bool) {
			t.Helper()
			if p.Go("", work) != want {
				t.Errorf("work begins: %v, want %v", !want, want)
			}
		}
		begins(true)
		begins(true)
		begins(false)
		finish <- true
		synctest.Wait()
		begins(true)
		begins(false)
		finish <- false
		synctest.Wait()
		p.Stop()
		begins(false)
		if ended != 1 || !strings.Contains(log.String(), "at fault") {
			t.Errorf("%d ended by stopping, log %q", ended, &log)
		}
		(&background.Pool{Size: 1}).Stop()
	})
}

// TestPoolKeepsRoomForOthers checks that one connector cannot fill a pool, and that new work begins
// when earlier work has ended.
func TestPoolKeepsRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &background.Pool{Size: 3, Each: 2, Log: silent}
		finish := make(chan bool)
		begins := func(connector string, want bool) {
			t.Helper()
			work := func(ctx context.Context) {
				select {
				case <-finish:
				case <-ctx.Done():
				}
			}
			if p.Go(connector, work) != want {
				t.Errorf("work of %s begins: %v, want %v", connector, !want, want)
			}
		}
		begins("slow", true)
		begins("slow", true)
		begins("slow", false)
		finish <- true
		synctest.Wait()
		begins("slow", true)
		begins("quick", true)
		begins("other", false)
		p.Stop()
	})
}
