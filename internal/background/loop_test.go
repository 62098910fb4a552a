package background_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/background"
)

var silent = slog.New(slog.DiscardHandler)

type recorder struct {
	begun time.Time
	at    []time.Duration
}

func newRecorder() *recorder { return &recorder{begun: time.Now()} }

func (r *recorder) pass(context.Context) error {
	r.at = append(r.at, time.Since(r.begun))
	return nil
}

func (r *recorder) want(t *testing.T, at ...time.Duration) {
	t.Helper()
	if diff := cmp.Diff(at, r.at); diff != "" {
		t.Errorf("passes at other times (-want +got):\n%s", diff)
	}
}

// after lets a duration pass in the synctest bubble, and waits for all work that is due in this
// time.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestLoopPassesAtOnceAndAtIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		loop := &background.Loop{Name: "test", Every: time.Minute, Pass: r.pass, Log: silent}
		loop.Start()
		loop.Start()
		after(150 * time.Second)
		loop.Stop()
		after(time.Hour)
		r.want(t, 0, time.Minute, 2*time.Minute)
	})
}

func TestIntervalCountsFromTheEndOfAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		loop := &background.Loop{Name: "slow", Every: time.Minute, Log: silent, Pass: func(ctx context.Context) error {
			r.pass(ctx)
			<-time.After(30 * time.Second)
			return nil
		}}
		loop.Start()
		after(2 * time.Minute)
		loop.Stop()
		r.want(t, 0, 90*time.Second)
	})
}

func TestWakeMakesAPassDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		loop := &background.Loop{Name: "woken", Every: time.Minute, Pass: r.pass, Log: silent}
		loop.Start()
		after(10 * time.Second)
		loop.Wake()
		after(65 * time.Second)
		loop.Stop()
		loop.Wake()
		after(time.Hour)
		r.want(t, 0, 10*time.Second, 70*time.Second)
	})
}

func TestWakesDuringAPassMakeOneMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, proceed := newRecorder(), make(chan struct{})
		loop := &background.Loop{Name: "busy", Log: silent, Pass: func(ctx context.Context) error {
			r.pass(ctx)
			<-proceed
			return nil
		}}
		loop.Start()
		synctest.Wait()
		for range 5 {
			loop.Wake()
		}
		close(proceed)
		after(time.Hour)
		loop.Stop()
		r.want(t, 0, 0)
	})
}

func TestWakeBeforeStartIsServedByTheFirstPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		loop := &background.Loop{Name: "early", Pass: r.pass, Log: silent}
		loop.Wake()
		loop.Wake()
		loop.Start()
		after(time.Hour)
		loop.Stop()
		r.want(t, 0)
	})
}

func TestFailuresAreLoggedAndDoNotEndTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		count := 0
		passes := []func() error{
			func() error { return errors.New("bank out of order") },
			func() error { panic("index out of range") },
			func() error { return nil },
		}
		loop := &background.Loop{Name: "frail", Every: time.Minute, Pass: func(context.Context) error {
			count++
			return passes[count-1]()
		}, Log: slog.New(slog.NewJSONHandler(&lines, nil))}
		loop.Start()
		after(150 * time.Second)
		loop.Stop()
		if count != len(passes) {
			t.Errorf("%d passes, want %d", count, len(passes))
		}
		for _, want := range []string{`"loop":"frail","error":"bank out of order"`, "panic: index out of range", "loop_test.go"} {
			if !strings.Contains(lines.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, &lines)
			}
		}
		if got := strings.Count(lines.String(), "\n"); got != 2 {
			t.Errorf("%d log lines, want 2:\n%s", got, &lines)
		}
	})
}

func TestStopCancelsThePassAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		ended := false
		loop := &background.Loop{Name: "long", Pass: func(ctx context.Context) error {
			<-ctx.Done()
			<-time.After(time.Second)
			ended = true
			return ctx.Err()
		}, Log: slog.New(slog.NewTextHandler(&lines, nil))}
		loop.Start()
		synctest.Wait()
		loop.Stop()
		if !ended {
			t.Error("Stop returned before the pass had ended")
		}
		if lines.Len() > 0 {
			t.Errorf("stopping was logged as a failure: %s", &lines)
		}
	})
}

func TestStopInAnyOrderIsHarmless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		never := &background.Loop{Name: "never", Pass: r.pass, Log: silent}
		never.Stop()
		never.Start()
		never.Wake()
		never.Stop()

		twice := &background.Loop{Name: "twice", Pass: func(context.Context) error { return nil }, Log: silent}
		twice.Start()
		go twice.Stop()
		twice.Stop()
		twice.Stop()
		twice.Start()
		synctest.Wait()
		r.want(t)
	})
}

func TestGroupStartsAllAndStopsAllAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		slow := func(ctx context.Context) error {
			<-ctx.Done()
			<-time.After(time.Minute)
			return nil
		}
		group := background.Group{
			{Name: "a", Pass: slow, Log: silent},
			{Name: "b", Pass: slow, Log: silent},
			{Name: "c", Pass: slow, Log: silent},
		}
		group.Start()
		synctest.Wait()
		group.Stop()
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("stopping took %v, want the minute of one loop", took)
		}
	})
}

func TestBeginningOfTheRunningPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop := &background.Loop{Name: "slow", Every: time.Minute, Log: silent, Pass: func(context.Context) error {
			<-time.After(30 * time.Second)
			panic("at fault")
		}}
		begun := time.Now()
		expect := func(want time.Duration, runs bool) {
			t.Helper()
			if at, running := loop.Begun(); running != runs || runs && at.Sub(begun) != want {
				t.Errorf("a pass is running: %v, since %v; want %v, since %v", running, at.Sub(begun), runs, want)
			}
		}
		expect(0, false)
		loop.Start()
		after(10 * time.Second)
		expect(0, true)
		after(50 * time.Second)
		expect(0, false)
		after(40 * time.Second)
		expect(90*time.Second, true)
		loop.Stop()
		expect(0, false)
	})
}
