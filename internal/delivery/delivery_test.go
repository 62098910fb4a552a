package delivery_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/keys"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	_ "passerelle/internal/store/storetest/migrated"
	"passerelle/webhook"
)

// clock returns an instant that the test advances.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

// fixture is a domain on an empty database, with the Delivery that sends its webhooks.
type fixture struct {
	*delivery.Delivery
	t      *testing.T
	url    string
	domain passerelle.Domain
	clock  *clock
	keys   *keys.Ring
}

func onEach(t *testing.T, run func(t *testing.T, r *fixture)) {
	storetest.Each(t, func(t *testing.T, url string) { run(t, newFixture(t, url)) })
}

func newFixture(t *testing.T, url string) *fixture {
	t.Helper()
	r := &fixture{t: t, url: url, clock: &clock{now: time.Now()}, keys: keys.Generate()}
	r.Delivery = r.another("A")
	must(t, r.DB.Database.Migrate(t.Context()))
	r.domain = r.newDomain("first", passerelle.Sandbox)
	return r
}

func (r *fixture) another(name string) *delivery.Delivery {
	db, err := store.Open(r.t.Context(), r.url, store.Options{Keys: r.keys})
	must(r.t, err)
	r.t.Cleanup(func() { db.Close() })
	return delivery.New(delivery.Config{
		DB: db, Client: delivery.NewClient(open), Now: r.clock.Now, Random: rand.Reader,
		Name: name, Agent: "Passerelle/1.2.0", Log: slog.New(slog.DiscardHandler),
	})
}

// newDomain creates a domain that retries every minute, independently of the default.
func (r *fixture) newDomain(name string, kind passerelle.DomainKind) passerelle.Domain {
	d := passerelle.Domain{Name: name, Kind: kind, BaseURL: "https://" + name + ".example/2.0", Created: r.clock.Now()}
	r.write(func(tx *store.Tx) error { return tx.CreateDomain(&d, name+".example") })
	must(r.t, settings.Set(r.t.Context(), r.DB, d.ID, map[string]string{settings.FlushInterval: "60"}, r.clock.Now()))
	return d
}

func (r *fixture) write(fn func(*store.Tx) error) {
	r.t.Helper()
	must(r.t, r.DB.Write(context.Background(), fn))
}

// webhook registers a receiver. The argument auth names the provider, and may be empty.
func (r *fixture) webhook(url, auth string) store.Webhook {
	r.t.Helper()
	w, err := r.Register(r.t.Context(), r.domain, delivery.Registration{Event: string(webhook.PaymentStateUpdated), URL: url, Auth: auth})
	must(r.t, err)
	return w
}

// emit stores an event of a payment.
func (r *fixture) emit(paymentID, version int64) {
	r.t.Helper()
	r.emitBody(paymentID, version, fmt.Sprintf(`{"id":%d,"version":%d}`, paymentID, version))
}

func (r *fixture) emitBody(paymentID, version int64, body string) {
	r.t.Helper()
	r.write(func(tx *store.Tx) error {
		return tx.Emit(store.EmittedEvent{
			Domain: r.domain.ID, Name: webhook.PaymentStateUpdated, Subject: "payment", SubjectID: paymentID,
			Version: version, Body: []byte(body), Created: r.clock.Now(),
		})
	})
}

func (r *fixture) run(delivered, failed int) {
	r.t.Helper()
	got, err := r.RunDue(r.t.Context(), r.domain)
	must(r.t, err)
	if want := (delivery.Counts{Delivered: delivered, Failed: failed}); got != want {
		r.t.Errorf("%+v, want %+v", got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inbox is a receiver that records each request as "payment.version", and sends the response that a
// test has set.
type inbox struct {
	mu     sync.Mutex
	got    []string
	answer func(arrival string) int
	url    string
}

func newInbox(t *testing.T) *inbox {
	in := &inbox{answer: func(string) int { return http.StatusOK }}
	in.url = receiver(t, func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(in.take(t, body))
	})
	return in
}

func (in *inbox) take(t *testing.T, body []byte) int {
	var event struct {
		ID      int64
		Version int64
	}
	if err := json.Unmarshal(body, &event); err != nil {
		t.Errorf("body %s: %v", body, err)
	}
	arrival := fmt.Sprintf("%d.%d", event.ID, event.Version)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.got = append(in.got, arrival)
	return in.answer(arrival)
}

func (in *inbox) answers(answer func(arrival string) int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.answer = answer
}

// want checks which requests arrived since the last check.
func (in *inbox) want(t *testing.T, want ...string) {
	t.Helper()
	in.mu.Lock()
	defer in.mu.Unlock()
	if diff := cmp.Diff(want, in.got); diff != "" {
		t.Errorf("arrived (-want +got):\n%s", diff)
	}
	in.got = nil
}

func (in *inbox) seen() map[string]int {
	in.mu.Lock()
	defer in.mu.Unlock()
	counts := map[string]int{}
	for _, arrival := range in.got {
		counts[arrival]++
	}
	in.got = nil
	return counts
}

func always(status int) func(string) int { return func(string) int { return status } }

func TestRequestsHaveTheirForm(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		type request struct {
			header http.Header
			body   string
			uri    string
		}
		var got []request
		var results []error
		provider, err := r.RegisterProvider(t.Context(), r.domain, "my shop", "")
		must(t, err)
		url := receiver(t, func(_ http.ResponseWriter, req *http.Request) {
			payload, err := webhook.Verifier{Secret: provider.Secret}.Read(req, r.clock.Now())
			got = append(got, request{req.Header, string(payload), req.RequestURI})
			results = append(results, err)
			results = append(results, webhook.Verifier{Secret: provider.Secret, Prefix: "BI"}.Verify(req.Header, req.URL.EscapedPath(), payload, r.clock.Now()))
		})
		w := r.webhook(url+"/a%20b/c?d=e", provider.Name)
		for version, body := range []string{`{"id":7,"a":"é"}`, `{}`, "{ \n}"} {
			r.emitBody(7, int64(version), body)
		}
		r.run(3, 0)
		var bodies []string
		for _, req := range got {
			bodies = append(bodies, req.body)
		}
		want := []string{`{"id_webhook_data":1,"id":7,"a":"é"}`, `{"id_webhook_data":2}`, `{"id_webhook_data":3}`}
		if diff := cmp.Diff(want, bodies); diff != "" {
			t.Errorf("bodies (-want +got):\n%s", diff)
		}
		for _, err := range results {
			must(t, err)
		}
		if got[0].uri != "/a%20b/c?d=e" {
			t.Errorf("request line has %q", got[0].uri)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/json; charset=utf-8", "User-Agent": "Passerelle/1.2.0", "SVC-Event": "PAYMENT_STATE_UPDATED",
			"SVC-Webhook-Id": fmt.Sprint(int64(w.ID)), "SVC-Delivery-Attempt": "1", "Authorization": "", "Accept-Encoding": "",
			"BI-Signature": got[0].header.Get("SVC-Signature"),
		} {
			if value := got[0].header.Get(name); value != want {
				t.Errorf("%s is %q, want %q", name, value, want)
			}
		}
	})
}

func TestEmptyPathIsASlash(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		provider, err := r.RegisterProvider(t.Context(), r.domain, "p", "")
		must(t, err)
		url := receiver(t, func(w http.ResponseWriter, req *http.Request) {
			if _, err := (webhook.Verifier{Secret: provider.Secret}).Read(req, r.clock.Now()); err != nil {
				t.Error(err)
			}
		})
		must(t, settings.Set(t.Context(), r.DB, r.domain.ID, map[string]string{settings.SignatureAliases: ""}, r.clock.Now()))
		r.webhook(url, fmt.Sprint(provider.ID))
		r.emit(1, 1)
		r.run(1, 0)
	})
}

func TestWithoutAProviderNothingIsSigned(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		url := receiver(t, func(_ http.ResponseWriter, req *http.Request) {
			for name := range req.Header {
				if strings.Contains(name, "Signature") {
					t.Errorf("%s came", name)
				}
			}
		})
		r.webhook(url, "")
		r.emit(1, 1)
		r.run(1, 0)
	})
}

func TestOnlySuccessIsSuccess(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		gone := receiver(t, ok)
		in := newInbox(t)
		in.answers(func(arrival string) int {
			return map[string]int{"1.1": 200, "2.1": 204, "3.1": 299, "4.1": 302, "5.1": 404, "6.1": 500}[arrival]
		})
		r.webhook(in.url, "")
		r.webhook("http://10.255.255.1/", "")
		r.webhook(strings.Replace(gone, "http:", "https:", 1), "")
		for id := range int64(6) {
			r.emit(id+1, 1)
		}
		r.run(3, 15)
		var got []string
		for id := range passerelle.DeliveryID(18) {
			attempts := r.attempts(id + 1)
			for _, a := range attempts {
				got = append(got, fmt.Sprintf("%d %q", a.Status, a.Failure))
			}
		}
		others := []string{`0 "address refused"`, `0 "no TLS"`}
		var want []string
		for _, first := range []string{`200 ""`, `204 ""`, `299 ""`, `302 "status 302"`, `404 "status 404"`, `500 "status 500"`} {
			want = append(append(want, first), others...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
	})
}

func TestEventsOfOnePaymentComeInOrder(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		in.answers(func(arrival string) int {
			if arrival == "1.1" {
				return http.StatusServiceUnavailable
			}
			return http.StatusOK
		})
		r.webhook(in.url, "")
		for version := range int64(3) {
			r.emit(1, version+1)
		}
		r.emit(2, 1)
		r.run(1, 1)
		if diff := cmp.Diff(map[string]int{"1.1": 1, "2.1": 1}, in.seen()); diff != "" {
			t.Errorf("arrived (-want +got):\n%s", diff)
		}
		r.emit(1, 4)
		r.emit(2, 2)
		r.run(1, 0)
		in.want(t, "2.2")
		fresh, err := r.DB.WebhooksWithFirstTries(t.Context(), r.domain.ID, 10)
		must(t, err)
		if len(fresh) != 0 {
			t.Error("what waits for the flusher is looked at again and again")
		}
		in.answers(always(http.StatusOK))
		r.clock.advance(time.Minute)
		r.run(4, 0)
		in.want(t, "1.1", "1.2", "1.3", "1.4")
	})
}

// TestABacklogComesOnceAndInOrder checks that each delivery of a backlog is sent once, and that the
// deliveries about one payment arrive in order.
func TestABacklogComesOnceAndInOrder(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		const payments, versions = 400, 3
		in := newInbox(t)
		r.webhook(in.url, "")
		r.write(func(tx *store.Tx) (err error) {
			for version := range int64(versions) {
				err = errors.Join(err, emitMany(tx, r.domain.ID, version, 0, payments))
			}
			return err
		})
		r.run(payments*versions, 0)
		next := map[string]string{"": "0", "0": "1", "1": "2"}
		last := map[string]string{}
		for _, arrival := range in.got {
			id, version, _ := strings.Cut(arrival, ".")
			if next[last[id]] != version {
				t.Fatalf("version %q of payment %s after %q", version, id, last[id])
			}
			last[id] = version
		}
		if len(in.got) != payments*versions {
			t.Errorf("%d requests", len(in.got))
		}
	})
}

func TestFailuresAreTriedAgainWhenDue(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		must(t, settings.Set(t.Context(), r.DB, r.domain.ID, map[string]string{settings.FlushInterval: "90"}, r.clock.Now()))
		in := newInbox(t)
		in.answers(always(http.StatusInternalServerError))
		w := r.webhook(in.url, "")
		r.emit(1, 1)
		r.run(0, 1)
		for _, step := range []struct {
			wait   time.Duration
			failed int
		}{{0, 0}, {89 * time.Second, 0}, {time.Second, 1}, {89 * time.Second, 0}, {time.Second, 1}} {
			r.clock.advance(step.wait)
			r.run(0, step.failed)
		}
		in.answers(always(http.StatusOK))
		r.clock.advance(90 * time.Second)
		r.run(1, 0)
		in.want(t, "1.1", "1.1", "1.1", "1.1")
		w, err := r.DB.Webhook(t.Context(), r.domain.ID, w.ID)
		must(t, err)
		if w.NextFlush != nil {
			t.Errorf("drained, and still due at %v", w.NextFlush)
		}
		r.clock.advance(time.Hour)
		r.run(0, 0)
	})
}

// TestTheDomainsClockRulesRetries checks that the stopped clock of a domain, and not real time,
// decides when a failed delivery is due again.
func TestTheDomainsClockRulesRetries(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		in.answers(always(http.StatusInternalServerError))
		r.webhook(in.url, "")
		frozen := r.clock.Now().Add(time.Hour)
		r.emit(1, 1)
		for _, step := range []struct {
			advance time.Duration
			want    delivery.Counts
		}{{0, delivery.Counts{Failed: 1}}, {59 * time.Second, delivery.Counts{}}, {time.Second, delivery.Counts{Failed: 1}}} {
			r.clock.advance(time.Hour) // does not change the domain's time
			frozen = frozen.Add(step.advance)
			r.freeze(frozen)
			got, err := r.RunDue(t.Context(), r.domain)
			must(t, err)
			if got != step.want {
				t.Errorf("after %v: %+v, want %+v", step.advance, got, step.want)
			}
		}
	})
}

func (r *fixture) freeze(at time.Time) {
	to := passerelle.Clock{Frozen: &at}
	r.write(func(tx *store.Tx) error { tx.SetClock(r.domain.ID, r.domain.Clock, to); return nil })
	r.domain.Clock = to
}

func TestNextRunStartsBehindTenFailures(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		in.answers(always(http.StatusBadGateway))
		r.webhook(in.url, "")
		for id := range int64(15) {
			r.emit(id+1, 1)
		}
		r.run(0, 10)
		if seen := in.seen(); len(seen) != 10 {
			t.Errorf("tried at once: %v", seen)
		}
		runs := [][2]int{{1, 10}, {11, 20}, {6, 15}} // there are 15 deliveries, so number 16 is the first delivery again
		for _, run := range runs {
			r.clock.advance(time.Minute)
			r.run(0, 10)
			want := map[string]int{}
			for n := run[0]; n <= run[1]; n++ {
				want[fmt.Sprintf("%d.1", (n-1)%15+1)] = 1
			}
			if diff := cmp.Diff(want, in.seen()); diff != "" {
				t.Errorf("run from %d (-want +got):\n%s", run[0], diff)
			}
		}
	})
}

func TestASuccessMakesFailuresCountAnew(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		in.answers(always(http.StatusBadGateway))
		r.webhook(in.url, "")
		for id := range int64(25) {
			r.emit(id+1, 1)
		}
		r.run(0, 10)
		// The order in which concurrent requests arrive can differ from the order in which they are
		// sent. Even then, at most nine requests in a row fail before and after each accepted
		// request.
		in.answers(func(arrival string) int {
			if arrival == "8.1" || arrival == "16.1" {
				return http.StatusOK
			}
			return http.StatusBadGateway
		})
		in.seen()
		r.clock.advance(time.Minute)
		r.run(2, 23)
		if seen := in.seen(); len(seen) != 25 {
			t.Errorf("the run ended after %d", len(seen))
		}
	})
}

// timeouts is a network in which every request immediately times out.
type timeouts struct {
	mu    sync.Mutex
	tries int
}

func (n *timeouts) RoundTrip(*http.Request) (*http.Response, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tries++
	return nil, context.DeadlineExceeded
}

func (n *timeouts) want(t *testing.T, want int) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.tries != want {
		t.Errorf("%d requests, want %d", n.tries, want)
	}
	n.tries = 0
}

func TestTwoTimeoutsEndARun(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		dead := &timeouts{}
		r.Client = &http.Client{Transport: dead}
		r.webhook("http://dead.example/", "")
		for id := range int64(20) {
			r.emit(id+1, 1)
		}
		r.run(0, 8)
		dead.want(t, 8)
		r.run(0, 0)
		r.emit(21, 1)
		r.run(0, 0)
		dead.want(t, 0) // only the flusher sends the other deliveries
		for range 3 {
			r.clock.advance(time.Minute)
			r.run(0, 2)
			dead.want(t, 2)
		}
		in := newInbox(t)
		r.Client = &http.Client{Transport: redirected(in.url)}
		r.clock.advance(time.Minute)
		r.run(21, 0)
	})
}

// redirected is a network in which every name leads to the same receiver.
type redirected string

func (to redirected) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = strings.TrimPrefix(string(to), "http://")
	return http.DefaultTransport.RoundTrip(r)
}

func TestDomainsTimeoutCoversTheWholeExchange(t *testing.T) {
	r := newFixture(t, storetest.SQLite(t))
	must(t, settings.Set(t.Context(), r.DB, r.domain.ID, map[string]string{settings.DeliveryTimeout: "3"}, r.clock.Now()))
	url := receiver(t, func(w http.ResponseWriter, req *http.Request) {
		io.Copy(io.Discard, req.Body)
		http.NewResponseController(w).Flush()
		<-req.Context().Done()
	})
	r.webhook(url, "")
	r.emit(1, 1)
	begun := time.Now()
	r.run(0, 1)
	took := time.Since(begun)
	attempts := r.attempts(1)
	if len(attempts) != 1 || attempts[0].Status != 200 || attempts[0].Failure != "timeout" {
		t.Errorf("attempts %+v", attempts)
	}
	if took < 3*time.Second || took >= 9*time.Second {
		t.Errorf("cut off after %v, not the 3 seconds of the domain", took) // without the domain's setting, the time would be 10 seconds
	}
}

func TestAtMostEightAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		var mu sync.Mutex
		var now, most int
		eight := make(chan struct{})
		url := receiver(t, func(http.ResponseWriter, *http.Request) {
			mu.Lock()
			now++
			most = max(most, now)
			if now == 8 && most == 8 {
				select {
				case <-eight:
				default:
					close(eight)
				}
			}
			mu.Unlock()
			<-eight
			mu.Lock()
			now--
			mu.Unlock()
		})
		r.webhook(url, "")
		for id := range int64(40) {
			r.emit(id+1, 1)
		}
		r.run(40, 0)
		if most != 8 {
			t.Errorf("%d at once", most)
		}
	})
}

func TestEventsEmittedDuringARunAreSent(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		in.answers(func(arrival string) int {
			if arrival == "1.1" {
				r.emit(2, 1)
				r.emit(1, 2)
			}
			return http.StatusOK
		})
		r.webhook(in.url, "")
		r.emit(1, 1)
		r.run(3, 0)
		if diff := cmp.Diff(map[string]int{"1.1": 1, "1.2": 1, "2.1": 1}, in.seen()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDeletedWebhooksGetNothing(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		in.answers(always(http.StatusInternalServerError))
		w := r.webhook(in.url, "")
		r.emit(1, 1)
		r.run(0, 1)
		r.emit(2, 1)
		in.want(t, "1.1")
		must(t, r.Delete(t.Context(), r.domain, w.ID, "test"))
		r.emit(3, 1)
		r.clock.advance(time.Hour)
		got, err := r.RunDue(t.Context(), r.domain)
		must(t, err)
		if got != (delivery.Counts{}) {
			t.Errorf("sent %+v", got)
		}
		in.want(t)
	})
}

func TestDeletedInTheMiddleGetsNoMore(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		w := r.webhook(in.url, "")
		in.answers(func(string) int {
			if err := r.Delete(context.Background(), r.domain, w.ID, "test"); err != nil {
				t.Error(err)
			}
			return http.StatusOK
		})
		r.emit(1, 1)
		r.emit(1, 2)
		r.run(1, 0)
		in.want(t, "1.1")
	})
}

func TestChangedURLIsUsedFromTheNextBatchOn(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		before, after := newInbox(t), newInbox(t)
		w := r.webhook(before.url, "")
		before.answers(func(string) int {
			if _, err := r.Update(context.Background(), r.domain, w.ID, delivery.WebhookUpdate{URL: &after.url}); err != nil {
				t.Error(err)
			}
			return http.StatusOK
		})
		r.emit(1, 1)
		r.emit(1, 2)
		r.run(2, 0)
		before.want(t, "1.1")
		after.want(t, "1.2")
	})
}

func (r *fixture) attempts(id passerelle.DeliveryID) []store.DeliveryAttempt {
	r.t.Helper()
	logs, err := r.DB.AttemptsOf(r.t.Context(), r.domain.ID, id, store.Window{Limit: 10, Backward: true})
	must(r.t, err)
	all := make([]store.DeliveryAttempt, len(logs))
	for i, l := range logs {
		all[i] = l.DeliveryAttempt
	}
	return all
}
