package delivery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/delivery"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// takeOver gives the lease of a webhook to another holder, as if the lease had lapsed.
func takeOver(r *fixture, w store.Webhook, from, to string) error {
	return r.DB.Write(context.Background(), func(tx *store.Tx) error {
		tx.ReleaseWebhook(w, from)
		tx.LeaseWebhook(w, to, time.Minute)
		return nil
	})
}

// turnedAway checks that d sends nothing while another session has the lease of the webhook.
func turnedAway(t *testing.T, r *fixture, d *delivery.Delivery) {
	t.Helper()
	soon, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	got, err := d.RunDue(soon, r.domain)
	if got != (delivery.Counts{}) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second sender did %+v, %v", got, err)
	}
}

func TestResultsOfALapsedLeaseAreDropped(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		w := r.webhook(in.url, "")
		over, leave := context.WithCancel(t.Context())
		in.answers(func(string) int {
			if err := takeOver(r, w, "A/1", "successor"); err != nil {
				t.Error(err)
			}
			leave() // otherwise the late run would wait for the successor
			return http.StatusOK
		})
		r.emit(1, 1)
		if got, err := r.RunDue(over, r.domain); got != (delivery.Counts{}) || !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", got, err)
		}
		in.want(t, "1.1")
		in.answers(always(http.StatusOK))
		turnedAway(t, r, r.Delivery)
		in.want(t)
		r.write(func(tx *store.Tx) error { tx.ReleaseWebhook(w, "successor"); return nil })
		r.run(1, 0)
		in.want(t, "1.1")
		r.run(0, 0)
	})
}

// In TestALateSenderSendsNoMore, two requests of a run take so long that the run's lease lapses. A
// successor then sends all deliveries. After that, the late run must not send its other deliveries.
func TestALateSenderSendsNoMore(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		in.answers(always(http.StatusBadGateway))
		r.webhook(in.url, "")
		for _, subject := range []int64{1, 2, 3} {
			r.emit(subject, 1)
		}
		r.run(0, 3)
		r.emit(3, 2)
		r.clock.advance(time.Minute)
		successor := r.another("B")
		var mu sync.Mutex
		var got []string
		both := make(chan struct{})
		r.Client = &http.Client{Transport: answering(func(arrival string) {
			mu.Lock()
			got = append(got, arrival)
			mu.Unlock()
			if arrival == "2.1" {
				r.clock.advance(time.Minute)
				storetest.Lapse(t, r.url)
				in.answers(always(http.StatusOK))
				soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				if all, err := successor.RunDue(soon, r.domain); err != nil || all.Delivered != 4 {
					t.Errorf("the successor did %+v, %v", all, err)
				}
				close(both)
			}
			<-both
		})}
		r.run(0, 0)
		slices.Sort(got)
		if diff := cmp.Diff([]string{"1.1", "2.1"}, got); diff != "" {
			t.Errorf("sent by the first (-want +got):\n%s", diff)
		}
		r.run(0, 0)
	})
}

// answering is a transport that calls the function for each request and then returns status 200.
type answering func(arrival string)

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	var event struct{ ID, Version int64 }
	if err := json.NewDecoder(req.Body).Decode(&event); err != nil {
		return nil, err
	}
	a(fmt.Sprintf("%d.%d", event.ID, event.Version))
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
}

// TestASlowReceiverIsServedInOneSession checks that each delivery to a slow receiver arrives once.
func TestASlowReceiverIsServedInOneSession(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		in.answers(func(string) int { r.clock.advance(25 * time.Second); return http.StatusOK })
		r.webhook(in.url, "")
		for subject := range int64(20) {
			r.emit(subject+1, 1)
		}
		r.run(20, 0)
		if n := len(in.seen()); n != 20 {
			t.Errorf("%d arrived", n)
		}
	})
}

// TestACrashBetweenSendingAndRecordingRepeats makes the database fail for the sender during a
// request. The next sender must send the request again.
func TestACrashBetweenSendingAndRecordingRepeats(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		w := r.webhook(in.url, "")
		doomed := r.another("B")
		in.answers(func(string) int {
			doomed.DB.Close()
			return http.StatusOK
		})
		r.emit(1, 1)
		if _, err := doomed.RunDue(t.Context(), r.domain); err == nil {
			t.Error("the crash went unnoticed")
		}
		in.want(t, "1.1")
		in.answers(always(http.StatusOK))
		turnedAway(t, r, r.Delivery) // the lease of the crashed sender has not lapsed
		in.want(t)
		r.write(func(tx *store.Tx) error { tx.ReleaseWebhook(w, "B/1"); return nil })
		r.run(1, 0)
		in.want(t, "1.1")
	})
}

func TestTwoSendersSendNothingTwice(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		r.webhook(in.url, "")
		want := map[string]int{}
		for id := range int64(30) {
			r.emit(id+1, 1)
			r.emit(id+1, 2)
			want[fmt.Sprintf("%d.1", id+1)], want[fmt.Sprintf("%d.2", id+1)] = 1, 1
		}
		done := make(chan error)
		for _, d := range []*delivery.Delivery{r.Delivery, r.another("B")} {
			go func() {
				_, err := d.RunDue(context.Background(), r.domain)
				done <- err
			}()
		}
		must(t, errors.Join(<-done, <-done))
		if diff := cmp.Diff(want, in.seen()); diff != "" {
			t.Errorf("arrived (-want +got):\n%s", diff)
		}
	})
}

// TestManyWebhooksOfTwoProcesses sends 2,000 deliveries to 20 webhooks from two processes. Each
// delivery must be accepted once.
func TestManyWebhooksOfTwoProcesses(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		const webhooks, events, deliveries = 20, 100, 2000
		var mu sync.Mutex
		accepted, all := map[int64]int{}, make(chan struct{})
		url := receiver(t, func(_ http.ResponseWriter, req *http.Request) {
			var body struct {
				ID int64 `json:"id_webhook_data"`
			}
			if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			accepted[body.ID]++
			if len(accepted) == deliveries && accepted[body.ID] == 1 {
				close(all)
			}
		})
		for range webhooks {
			r.webhook(url, "")
		}
		senders := []*delivery.Sender{delivery.NewSender(r.Delivery), delivery.NewSender(r.another("B"))}
		for id := range int64(events) {
			r.emit(id%30+1, id)
			for _, sender := range senders {
				must(t, sender.Pass(t.Context()))
			}
		}
		_, err := r.RunDue(t.Context(), r.domain) // for deliveries after the last pass
		must(t, err)
		<-all
		for _, sender := range senders {
			must(t, sender.Stop(t.Context()))
		}
		for id, times := range accepted {
			if times != 1 {
				t.Errorf("%d was accepted %d times", id, times)
			}
		}
		if len(accepted) != deliveries {
			t.Errorf("%d were accepted", len(accepted))
		}
	})
}

// TestOneProcessAtAWebhook checks that a second process sends nothing to a webhook while the first
// process waits for the receiver.
func TestOneProcessAtAWebhook(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		second := r.another("B")
		in.answers(func(arrival string) int {
			if arrival != "1.1" {
				return http.StatusOK
			}
			r.emit(2, 1)
			turnedAway(t, r, second)
			return http.StatusOK
		})
		r.webhook(in.url, "")
		r.emit(1, 1)
		r.run(2, 0)
		in.want(t, "1.1", "2.1")
	})
}

// hanging starts a receiver that responds only after the test has called release. For each request,
// the receiver sends a value to the channel arrived.
func hanging(t *testing.T) (url string, arrived chan struct{}, release func()) {
	arrived = make(chan struct{}, 1000)
	released := make(chan struct{})
	url = receiver(t, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-released
	})
	open := true
	release = func() {
		if open {
			close(released)
		}
		open = false
	}
	t.Cleanup(release) // runs before the server's cleanup, which waits for its requests
	return url, arrived, release
}

func TestDeadReceiversDoNotDelayAHealthyOne(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		const dead = 100
		url, waiting, release := hanging(t)
		for range dead {
			r.webhook(url, "")
		}
		arrived := make(chan struct{}, 100)
		healthy := newInbox(t)
		healthy.answers(func(string) int { arrived <- struct{}{}; return http.StatusOK })
		r.webhook(healthy.url, "")
		sender := delivery.NewSender(r.Delivery)
		want := map[string]int{}
		for id := range int64(10) {
			r.emit(id+1, 1)
			must(t, sender.Pass(t.Context()))
			<-arrived
			want[fmt.Sprintf("%d.1", id+1)] = 1
		}
		for range dead {
			<-waiting
		}
		if diff := cmp.Diff(want, healthy.seen()); diff != "" {
			t.Errorf("the healthy one got (-want +got):\n%s", diff)
		}
		release()
		must(t, sender.Stop(t.Context()))
	})
}

// TestNothingIsUnderWayAfterARun checks that RunDue waits for a background sender that has recorded
// all attempts but has not ended yet.
func TestNothingIsUnderWayAfterARun(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		in.answers(always(http.StatusOK))
		w := r.webhook(in.url, "")
		sender := delivery.NewSender(r.Delivery)
		r.emit(1, 1)
		must(t, sender.Pass(t.Context()))
		for len(r.webhooksWithFirstTries()) > 0 {
			runtime.Gosched()
		}
		r.run(0, 0)
		r.write(func(tx *store.Tx) error { tx.LeaseWebhook(w, "next", time.Minute); return nil })
		must(t, sender.Stop(t.Context()))
		in.want(t, "1.1")
	})
}

func TestStopWaitsForRequestsUntilItsDeadline(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		url, waiting, release := hanging(t)
		r.webhook(url, "")
		r.emit(1, 1)
		r.emit(1, 2)
		sender := delivery.NewSender(r.Delivery)
		must(t, sender.Pass(t.Context()))
		<-waiting
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := sender.Stop(over); !errors.Is(err, context.Canceled) {
			t.Errorf("stopped with %v although a request is under way", err)
		}
		release()
		must(t, sender.Stop(t.Context()))
		must(t, sender.Pass(t.Context()))
		r.run(1, 0) // sends the second delivery: the first is recorded, and the lease is released
	})
}

// TestRunDueWaitsForTheSender calls RunDue while a request of the background sender is in flight.
// RunDue must wait until this request has ended.
func TestRunDueWaitsForTheSender(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		url, waiting, release := hanging(t)
		r.webhook(url, "")
		r.emit(1, 1)
		sender := delivery.NewSender(r.another("B"))
		must(t, sender.Pass(t.Context()))
		<-waiting
		ended := make(chan error)
		go func() {
			_, err := r.RunDue(context.Background(), r.domain)
			ended <- err
		}()
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.RunDue(over, r.domain); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller who left got %v", err)
		}
		select {
		case err := <-ended:
			t.Errorf("did not wait: %v", err)
		default:
		}
		release()
		must(t, <-ended)
		fresh, err := r.DB.WebhooksWithFirstTries(t.Context(), r.domain.ID, 10)
		must(t, err)
		if len(fresh) != 0 {
			t.Error("something is left")
		}
		must(t, sender.Stop(t.Context()))
	})
}

// TestTheSenderFlushes leaves a failed delivery to the flusher. A later pass must send it.
func TestTheSenderFlushes(t *testing.T) {
	r := newFixture(t, storetest.SQLite(t))
	arrived := make(chan string, 10)
	status := http.StatusInternalServerError
	in := newInbox(t)
	in.answers(func(arrival string) int { arrived <- arrival; return status })
	r.webhook(in.url, "")
	r.emit(1, 1)
	r.run(0, 1)
	<-arrived
	r.clock.advance(time.Minute)
	sender := delivery.NewSender(r.Delivery)
	must(t, sender.Pass(t.Context()))
	if got := <-arrived; got != "1.1" {
		t.Errorf("%s arrived", got)
	}
	must(t, sender.Stop(t.Context()))
}
