package bankcall_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"passerelle/connector"
	"passerelle/internal/bankcall"
)

// ignores is a call that returns when the duration d has passed since the end of its context.
func ignores(ctx context.Context, d time.Duration) (string, error) {
	<-ctx.Done()
	<-time.After(d)
	return "late", nil
}

func TestDo(t *testing.T) {
	refused := errors.New("refused")
	for name, test := range map[string]struct {
		call  func(context.Context) (string, error)
		value string
		want  error
		took  time.Duration
	}{
		"an answer":              {call: func(context.Context) (string, error) { return "yes", nil }, value: "yes"},
		"an answer and an error": {call: func(context.Context) (string, error) { return "memory", refused }, value: "memory", want: refused},
		"heeds its deadline":     {call: func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }, want: context.DeadlineExceeded, took: time.Minute},
		"a little late":          {call: func(ctx context.Context) (string, error) { return ignores(ctx, time.Second) }, value: "late", took: time.Minute + time.Second},
		"never returns":          {call: func(ctx context.Context) (string, error) { return ignores(ctx, time.Hour) }, want: bankcall.ErrAbandoned, took: time.Minute + 2*time.Second},
		"says when it was over":  {call: func(ctx context.Context) (string, error) { return ignores(ctx, time.Hour) }, want: context.DeadlineExceeded, took: time.Minute + 2*time.Second},
		"panics":                 {call: func(context.Context) (string, error) { panic("no") }, want: connector.ErrPanicked},
		"ends its goroutine":     {call: func(context.Context) (string, error) { runtime.Goexit(); return "", nil }, want: bankcall.ErrExited},
		"which is like a panic":  {call: func(context.Context) (string, error) { runtime.Goexit(); return "", nil }, want: connector.ErrPanicked},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				value, err := bankcall.Do(t.Context(), bankcall.Limits{Deadline: time.Minute, Grace: 2 * time.Second}, test.call)
				if value != test.value || !errors.Is(err, test.want) || time.Since(start) != test.took {
					t.Errorf("%q, %v after %v; want %q, %v after %v", value, err, time.Since(start), test.value, test.want, test.took)
				}
				<-time.After(2 * time.Hour) // until the abandoned call has returned
			})
		})
	}
}

// TestMeanwhile checks that Do calls Meanwhile after each Interval, and that Meanwhile can end the
// call.
func TestMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost, renewals := errors.New("lost"), 0
		ctx, end := context.WithCancelCause(t.Context())
		limits := bankcall.Limits{Deadline: time.Hour, Interval: time.Minute, Meanwhile: func() {
			if renewals++; renewals == 3 {
				end(lost)
			}
		}}
		_, err := bankcall.Do(ctx, limits, func(ctx context.Context) (int, error) { <-ctx.Done(); <-time.After(time.Second); return 0, nil })
		if renewals != 3 || !errors.Is(err, lost) || !errors.Is(err, bankcall.ErrAbandoned) {
			t.Errorf("%d renewals, %v", renewals, err)
		}
		<-time.After(time.Minute)
	})
}
