package delivery_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

func conflict(t *testing.T, err error, words string) {
	t.Helper()
	if !errors.Is(err, passerelle.Conflict) || !strings.Contains(err.Error(), words) {
		t.Errorf("%v, want a conflict with %q", err, words)
	}
}

// TestResendKeepsTheOrderOfASubject checks that only the first undelivered delivery about a payment
// may be sent again. An accepted delivery may be sent again at any time.
func TestResendKeepsTheOrderOfASubject(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		in.answers(always(http.StatusBadGateway))
		w := r.webhook(in.url, "")
		for version := range int64(3) {
			r.emit(7, version+1)
		}
		r.emit(8, 1)
		r.run(0, 2)
		in.seen()
		in.answers(always(http.StatusOK))
		resend := func(id passerelle.DeliveryID) error { return r.Resend(t.Context(), r.domain, w, id) }
		for _, behind := range []passerelle.DeliveryID{2, 3} {
			conflict(t, resend(behind), "id_webhook_data 1 comes first: it is about the same object")
		}
		in.want(t)
		must(t, resend(4))
		must(t, resend(1))
		conflict(t, resend(3), "id_webhook_data 2 comes first: it is about the same object")
		must(t, resend(2))
		must(t, resend(1))
		in.want(t, "8.1", "7.1", "7.2", "7.1")
	})
}

// TestWhatIsHeldBackIsNotResent checks that neither a delivery that is held back nor its
// successor can be resent.
func TestWhatIsHeldBackIsNotResent(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		w := r.webhook(in.url, "")
		r.emitHeldBack(7, 1, r.clock.Now().Add(time.Minute))
		r.emit(7, 2)
		conflict(t, r.Resend(t.Context(), r.domain, w, 1), "id_webhook_data 1 is held back")
		conflict(t, r.Resend(t.Context(), r.domain, w, 2), "id_webhook_data 1 comes first: it is about the same object")
		in.want(t)
	})
}

// TestARefusedTestLeavesNothing disables a webhook after a caller has read it. The caller's test
// must be refused and store nothing.
func TestARefusedTestLeavesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		w := r.webhook(in.url, "")
		r.able(w, false)
		_, err := r.Test(t.Context(), r.domain, w, nil)
		conflict(t, err, "no longer in use")
		left, err := r.DB.CountWebhookData(t.Context(), store.WebhookDataFilter{Domain: r.domain.ID, Webhook: w.ID})
		must(t, err)
		if left != 0 {
			t.Errorf("%d deliveries are left", left)
		}
	})
}

// TestTheWaitForALeaseEndsInAQuery ends the wait of an operator's request while the service tries
// to take the lease again. The request must be refused as if the wait had ended between two tries.
func TestTheWaitForALeaseEndsInAQuery(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in, arrived, over := newInbox(t), make(chan struct{}), make(chan struct{})
		in.answers(func(string) int { close(arrived); <-over; return http.StatusOK })
		w := r.webhook(in.url, "")
		r.emit(7, 1)
		other := r.another("B")
		ended := make(chan error)
		go func() { _, err := other.RunDue(context.WithoutCancel(t.Context()), r.domain); ended <- err }()
		<-arrived
		waiting, end := context.WithCancel(t.Context())
		defer end()
		tries := 0
		r.Now = func() time.Time { // called before each try
			if tries++; tries == 3 {
				end()
			}
			return r.clock.Now()
		}
		conflict(t, r.Resend(waiting, r.domain, w, 1), "Other requests to the webhook are in progress")
		close(over)
		must(t, <-ended)
	})
}

// timedReceiver accepts everything, and records the time limit of each request.
type timedReceiver struct {
	before func()
	limits []time.Duration
}

func (p *timedReceiver) RoundTrip(req *http.Request) (*http.Response, error) {
	if p.before != nil {
		p.before()
	}
	if end, bounded := req.Context().Deadline(); bounded {
		p.limits = append(p.limits, time.Until(end))
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, req.Context().Err()
}

// TestAnOperatorsRequestHasTheTimeOfTheDomain checks that a request of an operator may take as long
// as the domain allows.
func TestAnOperatorsRequestHasTheTimeOfTheDomain(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		must(t, settings.Set(t.Context(), r.DB, r.domain.ID, map[string]string{settings.DeliveryTimeout: "300"}, r.clock.Now()))
		asking, leave := context.WithCancel(t.Context())
		p := &timedReceiver{}
		r.Client = &http.Client{Transport: p}
		w := r.webhook("https://receiver.example/hook", "")
		id, err := r.Test(asking, r.domain, w, nil)
		must(t, err)
		p.before = leave
		must(t, r.Resend(asking, r.domain, w, id))
		if len(p.limits) != 2 || p.limits[0] < 4*time.Minute || p.limits[1] < 4*time.Minute {
			t.Errorf("the requests had %v", p.limits)
		}
		attempts := r.attempts(id)
		if len(attempts) != 2 || attempts[1].Status != http.StatusOK || attempts[1].Failure != "" {
			t.Errorf("on record: %+v", attempts)
		}
	})
}

// TestWhatIsRecoveredDuringARunStaysDue requests a further run, once or twice, during a run that
// has already passed the first delivery. The next run must be due and begin with the first
// delivery.
func TestWhatIsRecoveredDuringARunStaysDue(t *testing.T) {
	for times := 1; times <= 2; times++ {
		onEach(t, func(t *testing.T, r *fixture) {
			in := newInbox(t)
			in.answers(always(http.StatusBadGateway))
			w := r.webhook(in.url, "")
			r.emit(1, 1)
			r.emit(2, 1)
			r.emit(2, 2)
			r.run(0, 2)
			ask := func() {
				if due, err := r.Recover(t.Context(), r.domain, w, r.clock.Now().Add(-time.Hour)); due == 0 || err != nil {
					t.Errorf("made %d due, %v", due, err)
				}
			}
			ask()
			in.answers(func(arrival string) int {
				switch arrival {
				case "1.1":
					return http.StatusBadGateway
				case "2.1":
					for range times {
						ask()
					}
				}
				return http.StatusOK
			})
			r.run(2, 1)
			if got := r.now(w); got.NextFlush == nil || got.NextFlush.After(r.clock.Now()) || got.FlushAfter != 0 {
				t.Errorf("asked %d times: due at %v after %d", times, got.NextFlush, got.FlushAfter)
			}
		})
	}
}
