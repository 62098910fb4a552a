package delivery_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/webhook"
)

func (r *fixture) now(w store.Webhook) store.Webhook {
	r.t.Helper()
	w, err := r.DB.Webhook(r.t.Context(), w.Domain, w.ID)
	must(r.t, err)
	return w
}

func (r *fixture) webhooksWithFirstTries() []passerelle.WebhookID {
	r.t.Helper()
	webhooks, err := r.DB.WebhooksWithFirstTries(r.t.Context(), r.domain.ID, 10)
	must(r.t, err)
	var ids []passerelle.WebhookID
	for _, w := range webhooks {
		ids = append(ids, w.ID)
	}
	return ids
}

// TestFailuresAreCountedAcrossSessions sends ten events, each in a separate session. Each request
// fails, and the webhook stops. When the receiver accepts a request of the flusher, the webhook
// must send new events again.
func TestFailuresAreCountedAcrossSessions(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		in.answers(always(http.StatusBadGateway))
		w := r.webhook(in.url, "")
		for id := range int64(10) {
			if stopped := r.now(w).Stopped; stopped {
				t.Errorf("stopped after %d failures", id)
			}
			r.emit(id+1, 1)
			r.run(0, 1)
		}
		got := r.now(w)
		if !got.Stopped || got.ConsecutiveFailures != 10 || got.LastSuccess != nil || got.LastFailure == nil || !got.LastFailure.Equal(r.clock.Now().Truncate(time.Microsecond)) {
			t.Errorf("after ten failures %+v", got)
		}
		for id := range int64(100) {
			r.emit(id+11, 1)
		}
		r.run(0, 0)
		if fresh := r.webhooksWithFirstTries(); fresh != nil {
			t.Errorf("news for %v", fresh)
		}
		r.clock.advance(time.Minute)
		r.run(0, 10) // ten requests instead of one for each event
		if got := r.now(w); !got.Stopped || got.ConsecutiveFailures != 20 {
			t.Errorf("after a run %+v", got)
		}
		in.answers(always(http.StatusOK))
		r.run(0, 0)
		r.clock.advance(time.Minute)
		r.run(110, 0)
		got = r.now(w)
		if got.Stopped || got.ConsecutiveFailures != 0 || got.LastSuccess == nil || got.NextFlush != nil {
			t.Errorf("after the recovery %+v", got)
		}
		r.emit(1, 2)
		r.run(1, 0)
	})
}

// TestTimeoutsAreCountedAcrossSessions sends events one by one. Each request times out. The second
// timeout must stop the webhook.
func TestTimeoutsAreCountedAcrossSessions(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		dead := &timeouts{}
		r.Client = &http.Client{Transport: dead}
		w := r.webhook("http://dead.example/", "")
		for id := range int64(5) {
			r.emit(id+1, 1)
			_, err := r.RunDue(t.Context(), r.domain)
			must(t, err)
		}
		dead.want(t, 2)
		if !r.now(w).Stopped {
			t.Error("two timeouts did not stop it")
		}
	})
}

// In TestASuccessInARunLetsNewDeliveriesThrough, the receiver of a stopped webhook accepts a
// request of the flusher. The webhook must get its other deliveries in the same run.
func TestASuccessInARunLetsNewDeliveriesThrough(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		in.answers(always(http.StatusBadGateway))
		w := r.webhook(in.url, "")
		for id := range int64(12) {
			r.emit(id+1, 1)
		}
		r.run(0, 10)
		in.answers(func(arrival string) int {
			if arrival == "3.1" {
				return http.StatusBadGateway
			}
			return http.StatusOK
		})
		in.seen()
		r.clock.advance(time.Minute)
		r.run(11, 1)
		if got := r.now(w); got.Stopped || got.NextFlush == nil {
			t.Errorf("after the run %+v", got)
		}
		if seen := in.seen(); len(seen) != 12 || seen["3.1"] != 1 {
			t.Errorf("arrived %v", seen)
		}
	})
}

// TestDroppedDeliveriesDoNotKeepAWebhookStopped checks that a webhook is no longer stopped after
// all its deliveries were dropped.
func TestDroppedDeliveriesDoNotKeepAWebhookStopped(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		dead := &timeouts{}
		r.Client = &http.Client{Transport: dead}
		w := r.webhook("http://dead.example/", "")
		for version := range int64(2) {
			r.emitOf(7, version+1)
		}
		r.run(0, 1)
		r.emitOf(8, 1)
		r.run(0, 1)
		for _, user := range []passerelle.UserID{7, 8} {
			now := r.clock.Now()
			must(t, r.DB.Erase(t.Context(), store.Erasure{Domain: r.domain.ID, User: user}, 10, now, now, now))
		}
		if !r.now(w).Stopped {
			t.Error("two timeouts did not stop it")
		}
		r.clock.advance(time.Minute)
		r.run(0, 0)
		if got := r.now(w); got.Stopped || got.NextFlush != nil {
			t.Errorf("nothing is left, and %+v", got)
		}
		in := newInbox(t)
		r.Client = &http.Client{Transport: redirected(in.url)}
		r.emit(3, 1)
		r.run(1, 0)
	})
}

func (r *fixture) emitOf(user, version int64) {
	r.t.Helper()
	r.write(func(tx *store.Tx) error {
		return tx.Emit(store.EmittedEvent{
			Domain: r.domain.ID, Name: webhook.PaymentStateUpdated, Subject: "user", SubjectID: user, Version: version, User: passerelle.UserID(user),
			Body: fmt.Appendf(nil, `{"id":%d,"version":%d}`, user, version), Created: r.clock.Now(),
		})
	})
}

func TestDisabledWebhooksArePaused(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		in.answers(always(http.StatusBadGateway))
		w := r.webhook(in.url, "")
		r.emit(1, 1)
		r.run(0, 1)
		r.emit(2, 1)
		in.seen()
		in.answers(always(http.StatusOK))
		r.able(w, false)
		r.emit(3, 1) // a disabled webhook gets no delivery of this event
		r.clock.advance(time.Hour)
		r.run(0, 0)
		in.want(t)
		r.able(w, true)
		r.run(2, 0)
		if diff := cmp.Diff(map[string]int{"1.1": 1, "2.1": 1}, in.seen()); diff != "" {
			t.Error(diff)
		}
	})
}

func (r *fixture) able(w store.Webhook, enabled bool) {
	r.t.Helper()
	disabled := !enabled
	_, err := r.Update(context.Background(), r.domain, w.ID, delivery.WebhookUpdate{Disabled: &disabled})
	must(r.t, err)
}

func TestDisabledInTheMiddleGetsNoMore(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		w := r.webhook(in.url, "")
		in.answers(func(string) int {
			r.able(w, false)
			return http.StatusOK
		})
		r.emit(1, 1)
		r.emit(1, 2)
		r.run(1, 0)
		in.want(t, "1.1")
	})
}

func (r *fixture) emitHeldBack(paymentID, version int64, until time.Time) {
	r.t.Helper()
	r.write(func(tx *store.Tx) error {
		return tx.Emit(store.EmittedEvent{
			Domain: r.domain.ID, Name: webhook.PaymentStateUpdated, Subject: "payment", SubjectID: paymentID, Version: version,
			Body: fmt.Appendf(nil, `{"id":%d,"version":%d}`, paymentID, version), Created: r.clock.Now(), NotBefore: until,
		})
	})
}

// TestHeldBackWaitsForItsTime checks that a held back delivery is sent when it is due, even if
// its webhook is failing and the flusher is not due yet.
func TestHeldBackWaitsForItsTime(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		in.answers(func(arrival string) int {
			if arrival == "9.1" {
				return http.StatusBadGateway
			}
			return http.StatusOK
		})
		r.webhook(in.url, "")
		until := r.clock.Now().Add(30 * time.Second)
		r.emitHeldBack(1, 1, until)
		r.emit(1, 2)
		r.emit(9, 1)
		r.emit(9, 2)
		r.run(0, 1)
		r.emit(2, 1)
		r.run(1, 0)
		in.want(t, "9.1", "2.1")
		if fresh := r.webhooksWithFirstTries(); fresh != nil {
			t.Errorf("what is held back is looked at again and again, for %v", fresh)
		}
		r.clock.advance(29 * time.Second)
		r.run(0, 0)
		r.clock.advance(time.Second)
		r.run(2, 0)
		in.want(t, "1.1", "1.2")
	})
}

// TestTheSenderSendsWhatComesDue checks that a pass finds a delivery that is no longer held
// back.
func TestTheSenderSendsWhatComesDue(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		arrived := make(chan string, 1)
		in := newInbox(t)
		in.answers(func(arrival string) int { arrived <- arrival; return http.StatusOK })
		r.webhook(in.url, "")
		r.emitHeldBack(1, 1, r.clock.Now().Add(time.Second))
		sender := delivery.NewSender(r.Delivery)
		must(t, sender.Pass(t.Context()))
		r.clock.advance(time.Second)
		must(t, sender.Pass(t.Context()))
		if got := <-arrived; got != "1.1" {
			t.Errorf("%s arrived", got)
		}
		must(t, sender.Stop(t.Context()))
	})
}

func TestDroppedDeliveriesAreNotSent(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		r.webhook(in.url, "")
		r.emitHeldBack(1, 1, r.clock.Now().Add(time.Minute))
		r.emit(1, 2)
		r.run(0, 0)
		r.write(func(tx *store.Tx) error {
			tx.DropHeldBack(r.domain.ID, "payment", 1, 1, r.clock.Now(), "told")
			return nil
		})
		r.run(1, 0)
		r.clock.advance(time.Hour)
		r.run(0, 0)
		in.want(t, "1.2")
	})
}

// TestTheRecordOfRequests checks the stored responses to requests, and the health that the store
// calculates from the requests.
func TestTheRecordOfRequests(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		long := strings.Repeat("é", 1023) + "x" + "€" // the limit is inside the last character
		answers := []string{"fine", "wrong\x00\x1b[31m\nthing \xff!", long}
		statuses := []int{200, 500, 400}
		url := receiver(t, func(w http.ResponseWriter, req *http.Request) {
			n := int(req.URL.Query().Get("n")[0] - '0')
			w.WriteHeader(statuses[n])
			fmt.Fprint(w, answers[n])
		})
		var webhooks []passerelle.WebhookID
		for n := range answers {
			webhooks = append(webhooks, r.webhook(fmt.Sprintf("%s/?n=%d", url, n), "").ID)
		}
		r.emit(1, 1)
		r.run(1, 2)
		r.emit(1, 2)
		r.run(1, 0)
		r.clock.advance(time.Hour)
		r.run(0, 2)
		want := []string{"", "wrong[31mthing !", long[:2047]}
		for n := range answers {
			attempts := r.attempts(passerelle.DeliveryID(n + 1))
			if attempts[0].Answer != want[n] || attempts[0].Detail != "" {
				t.Errorf("kept %q, %q", attempts[0].Answer, attempts[0].Detail)
			}
		}
		r.wantHealth(webhooks, "2/2 0/2 0/2")
		r.wantHealth(webhooks[1:2], "0/2")
		r.wantHealth(nil, "")
		r.clock.advance(23*time.Hour - time.Nanosecond)
		r.wantHealth(webhooks, "0/0 0/1 0/1")
		r.clock.advance(2 * time.Hour)
		r.wantHealth(webhooks, "0/0 0/0 0/0")
	})
}

// wantHealth checks the number of accepted requests to webhooks, and the number of all requests.
func (r *fixture) wantHealth(webhooks []passerelle.WebhookID, want string) {
	r.t.Helper()
	health, err := r.DB.Health(r.t.Context(), r.domain.ID, r.clock.Now(), webhooks...)
	must(r.t, err)
	var got []string
	for _, id := range webhooks {
		got = append(got, fmt.Sprintf("%d/%d", health[id].Successes, health[id].Requests))
	}
	if strings.Join(got, " ") != want {
		r.t.Errorf("health %v, want %s", got, want)
	}
}

func TestHealthAddsDurations(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		url := receiver(t, func(http.ResponseWriter, *http.Request) { r.clock.advance(3 * time.Second) })
		must(t, settings.Set(t.Context(), r.DB, r.domain.ID, map[string]string{settings.DeliveryTimeout: "30"}, r.clock.Now()))
		w := r.webhook(url, "")
		for version := range int64(3) {
			r.emit(1, version+1)
		}
		r.run(3, 0)
		health, err := r.DB.Health(t.Context(), r.domain.ID, r.clock.Now(), w.ID)
		must(t, err)
		want := map[passerelle.WebhookID]store.Health{w.ID: {Requests: 3, Successes: 3, Reached: 3, Duration: 9 * time.Second}}
		if diff := cmp.Diff(want, health); diff != "" {
			t.Errorf("health (-want +got):\n%s", diff)
		}
	})
}

// TestRequestsTakeTheirTime checks the stored times. The time at which a delivery was accepted is
// the time of the response, and the time of its attempt is the time of the request. A request that
// never reached the receiver must count as a failure, but not in the average time of requests.
func TestRequestsTakeTheirTime(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in, tokens := newGuarded(t), newTokenServer(t)
		begin := r.clock.Now().Truncate(time.Microsecond)
		in.accepts = func(authorization string) bool {
			r.clock.advance(3 * time.Second)
			return authorization == bearer(3)[0]
		}
		tokens.answers(func(n int) (int, string) {
			r.clock.advance(2 * time.Second)
			if n == 1 {
				return http.StatusServiceUnavailable, ""
			}
			return http.StatusOK, token(n, "")
		})
		must(t, settings.Set(t.Context(), r.DB, r.domain.ID, map[string]string{settings.DeliveryTimeout: "30"}, begin))
		r.oauth("p", endpointAt(tokens.url))
		w := r.webhook(in.url, "p")
		r.emit(1, 1)
		r.run(0, 1)
		r.clock.advance(time.Minute)
		r.run(1, 0) // takes 10 seconds in total: a token, a refusal, another token, and a success

		at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second).UTC() }
		attempts := r.attempts(1)
		want := []store.DeliveryAttempt{
			{Delivery: 1, At: at(0), Duration: 2 * time.Second, Failure: "token endpoint: status 503"},
			{Delivery: 1, At: at(69), Duration: 3 * time.Second, Status: 200, Detail: "The first request was refused with status 401. This one has a new access token."},
		}
		if diff := cmp.Diff(want, attempts); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		w = r.now(w)
		data, err := r.DB.OneWebhookData(t.Context(), r.domain.ID, w.ID, 1)
		must(t, err)
		if got := []*time.Time{w.LastFailure, w.LastSuccess, data.Delivered}; !cmp.Equal(got, []*time.Time{new(at(2)), new(at(72)), new(at(72))}) {
			t.Errorf("failed, succeeded and was delivered at %v, begun at %v", got, begin)
		}
		health, err := r.DB.Health(t.Context(), r.domain.ID, r.clock.Now(), w.ID)
		must(t, err)
		if diff := cmp.Diff(store.Health{Requests: 2, Successes: 1, Reached: 1, Duration: 3 * time.Second}, health[w.ID]); diff != "" || health[w.ID].Average() != 3*time.Second {
			t.Errorf("health (-want +got):\n%s", diff)
		}
	})
}
