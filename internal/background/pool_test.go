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

// A pool takes as much work as it can do, takes more when some is done, outlives
// work that panics, and ends what is under way when it is stopped.
func TestCrew(t *testing.T) {
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
			if p.Go(work) != want {
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
