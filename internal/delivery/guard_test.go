package delivery_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/delivery"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// TestAPanicDoesNotEndTheProcess makes the clock panic once for each of eight events. The clock
// panics at the first call after the first request, at the second call after the second request,
// and so on. All events must arrive.
func TestAPanicDoesNotEndTheProcess(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		var left atomic.Int64
		now := r.Now
		r.Now = func() time.Time {
			if left.Add(-1) == 0 {
				panic("the clock broke")
			}
			return now()
		}
		in := newInbox(t)
		r.webhook(in.url, "")
		const places = 8
		for place := range int64(places) {
			in.answers(func(arrival string) int {
				if arrival == fmt.Sprintf("%d.1", place+1) {
					left.Store(place + 1)
				}
				return http.StatusOK
			})
			r.emit(place+1, 1)
			if _, err := r.RunDue(t.Context(), r.domain); err != nil && !strings.Contains(err.Error(), "the clock broke") {
				t.Errorf("at place %d: %v", place, err)
			}
			left.Store(0)
			storetest.Lapse(t, r.url)
			r.clock.advance(time.Hour)
		}
		in.answers(always(http.StatusOK))
		_, err := r.RunDue(t.Context(), r.domain)
		must(t, err)
		if n := len(in.seen()); n != places {
			t.Errorf("%d arrived", n)
		}
		endsOfItself(t, "delivery.(*sendLoop)")
	})
}

func endsOfItself(t *testing.T, function string) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; runtime.Gosched() {
		stacks := make([]byte, 4<<20)
		if !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), function) {
			return
		}
	}
	t.Errorf("a goroutine stays in %s", function)
}

// TestAPageThatPanicsEndsItsSession changes a webhook during a request: it gets a provider with a
// secret. The sender has no keys, and panics when it decrypts this secret for the next page. The
// panic must end only the session.
func TestAPageThatPanicsEndsItsSession(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		db, err := store.Open(t.Context(), r.url, store.Options{})
		must(t, err)
		t.Cleanup(func() { db.Close() })
		notice := make(lines, 100)
		keyless := delivery.New(delivery.Config{
			DB: db, Client: delivery.NewClient(open), Now: r.clock.Now, Random: rand.Reader, Name: "B", Log: slog.New(slog.NewTextHandler(notice, nil)),
		})
		provider, err := r.RegisterProvider(t.Context(), r.domain, "shop", "")
		must(t, err)
		in := newInbox(t)
		w := r.webhook(in.url, "")
		sender := delivery.NewSender(keyless)
		in.answers(func(string) int {
			if _, err := r.Update(context.Background(), r.domain, w.ID, delivery.WebhookUpdate{Auth: &provider.Name}); err != nil {
				t.Error(err)
			}
			r.emit(2, 1)
			if err := sender.Pass(context.Background()); err != nil {
				t.Error(err)
			}
			return http.StatusOK
		})
		r.emit(1, 1)
		must(t, sender.Pass(t.Context()))
		if line := <-notice; !strings.Contains(line, "panic: ") {
			t.Errorf("logged %s", line)
		}
		must(t, sender.Stop(t.Context()))
		in.answers(always(http.StatusOK))
		r.run(1, 0)
		in.want(t, "1.1", "2.1")
	})
}

type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

type breaking struct{}

func (breaking) RoundTrip(*http.Request) (*http.Response, error) { panic("the network broke") }

func TestRequestsThatPanicFail(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		r.Client = &http.Client{Transport: breaking{}}
		var log strings.Builder
		r.Log = slog.New(slog.NewTextHandler(&log, nil))
		provider := r.oauth("tokens", endpointAt("https://tokens.example/"))
		r.webhook("https://receiver.example/", "")
		r.emit(1, 1)
		r.run(0, 1)
		r.webhook("https://receiver.example/", provider.Name)
		r.emit(2, 1)
		r.run(0, 2)
		if diff := cmp.Diff([]string{"request failed", "request failed", "token endpoint: request failed"}, r.failures()); diff != "" {
			t.Errorf("failures (-want +got):\n%s", diff)
		}
		if got := strings.Count(log.String(), "the network broke"); got != 3 {
			t.Errorf("%d panics in the log: %s", got, &log)
		}
	})
}

func TestAnEmptyBodyIsNotSent(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		r.webhook(in.url, "")
		r.emit(1, 1)
		r.emit(2, 1)
		storetest.Break(t, r.url, `UPDATE event SET body = '' WHERE subject_id = 1`)
		r.run(1, 1)
		in.want(t, "2.1")
		if diff := cmp.Diff([]string{"the body is empty", ""}, r.failures()); diff != "" {
			t.Errorf("failures (-want +got):\n%s", diff)
		}
	})
}
