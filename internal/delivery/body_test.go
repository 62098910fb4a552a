package delivery_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/webhook"
)

// emitEvent stores an event of user 7. If write is not nil, the event has a body in parts.
func (r *fixture) emitEvent(e store.EmittedEvent, write func(io.Writer)) {
	r.t.Helper()
	e.Domain, e.Name, e.User, e.Created = r.domain.ID, webhook.PaymentStateUpdated, 7, r.clock.Now()
	if e.Subject == "" {
		e.Subject, e.SubjectID = "user", 7
	}
	if write != nil {
		e.Parts = r.DB.WriteBody(r.t.Context(), r.domain.ID)
		write(e.Parts)
		must(r.t, e.Parts.Close())
	}
	r.write(func(tx *store.Tx) error { return tx.Emit(e) })
}

type request struct {
	header http.Header
	length int64
	body   []byte
	fault  error
}

// verifyingReceiver stores complete requests and verifies their signatures.
func (r *fixture) verifyingReceiver(secret string) (url string, got *[]request) {
	got = &[]request{}
	url = receiver(r.t, func(_ http.ResponseWriter, req *http.Request) {
		length := req.ContentLength
		body, err := webhook.Verifier{Secret: secret, Limit: 64 << 20}.Read(req, r.clock.Now())
		*got = append(*got, request{req.Header, length, body, err})
	})
	return url, got
}

// large returns a function that writes a JSON object of a little more than size bytes.
func large(size int) func(io.Writer) {
	return func(w io.Writer) {
		io.WriteString(w, `{"text":"`)
		line := bytes.Repeat([]byte("0123456789abcdef"), 64)
		for written := 0; written < size; written += len(line) {
			w.Write(line)
		}
		io.WriteString(w, `"}`)
	}
}

// TestBodies sends small and large bodies, as JSON and as text, plain and compressed.
func TestBodies(t *testing.T) {
	var big bytes.Buffer
	large(1 << 20)(&big)
	tests := map[string]struct {
		event store.EmittedEvent
		write func(io.Writer)
		want  string
	}{
		"small":             {store.EmittedEvent{Body: []byte(`{"id":1}`)}, nil, `{"id_webhook_data":1,"id":1}`},
		"in one part":       {store.EmittedEvent{}, func(w io.Writer) { io.WriteString(w, `{"id":1}`) }, `{"id_webhook_data":1,"id":1}`},
		"in one part, none": {store.EmittedEvent{}, func(w io.Writer) { io.WriteString(w, "{\n}") }, `{"id_webhook_data":1}`},
		"in several parts":  {store.EmittedEvent{}, large(1 << 20), `{"id_webhook_data":1,` + big.String()[1:]},
		"statement":         {store.EmittedEvent{MediaType: "text/plain; charset=us-ascii", Omitted: 3, Subject: "connection", SubjectID: 7, Account: 9, Body: []byte("01 X\n")}, nil, "01 X\n"},
		"empty statement":   {store.EmittedEvent{MediaType: "text/plain; charset=us-ascii", Omitted: 1, Subject: "connection", SubjectID: 8, Account: 10}, nil, ""},
		"large statement":   {store.EmittedEvent{MediaType: "text/plain; charset=us-ascii"}, large(1 << 20), big.String()},
	}
	for name, test := range tests {
		for _, compress := range []string{"0", "1"} {
			t.Run(name+"/"+compress, func(t *testing.T) {
				onEach(t, func(t *testing.T, r *fixture) {
					must(t, settings.Set(t.Context(), r.DB, r.domain.ID, map[string]string{settings.Compression: compress}, r.clock.Now()))
					provider, err := r.RegisterProvider(t.Context(), r.domain, "p", "")
					must(t, err)
					url, got := r.verifyingReceiver(provider.Secret)
					r.webhook(url, "p")
					r.emitEvent(test.event, test.write)
					r.run(1, 0)
					wantRequest(t, (*got)[0], test.want, test.event, compress == "1")
				})
			})
		}
	}
}

func wantRequest(t *testing.T, got request, body string, e store.EmittedEvent, compressed bool) {
	t.Helper()
	must(t, got.fault)
	if string(got.body) != body {
		t.Errorf("a body of %d bytes that begins %.60q, want one of %d that begins %.60q", len(got.body), got.body, len(body), body)
	}
	want := map[string]string{"Content-Type": "application/json; charset=utf-8"}
	if e.MediaType != "" {
		want = map[string]string{"Content-Type": e.MediaType, "SVC-Webhook-Data": "1", "SVC-Cfonb-Omitted": fmt.Sprint(e.Omitted), "SVC-User-Id": "7"}
		for name, id := range map[string]int64{"SVC-Connection-Id": e.SubjectID, "SVC-Account-Id": int64(e.Account)} {
			if id != 0 {
				want[name] = fmt.Sprint(id)
			}
		}
	}
	length := int64(len(body))
	if compressed {
		want["Content-Encoding"], length = "gzip", -1
	}
	headers := map[string]string{}
	for _, name := range []string{"Content-Type", "Content-Encoding", "SVC-Webhook-Data", "SVC-Cfonb-Omitted", "SVC-User-Id", "SVC-Connection-Id", "SVC-Account-Id"} {
		if value := got.header.Get(name); value != "" {
			headers[name] = value
		}
	}
	if diff := cmp.Diff(want, headers); diff != "" || got.length != length {
		t.Errorf("length %d, want %d; headers (-want +got):\n%s", got.length, length, diff)
	}
}

// peak hashes its input, and records the largest size of the heap during its writes.
type peak struct {
	hash.Hash
	seen int
	heap uint64
}

func (p *peak) Write(piece []byte) (int, error) {
	const often = 2 << 20
	p.seen += len(piece)
	if p.seen >= often {
		p.seen, p.heap = 0, max(p.heap, alive())
	}
	return p.Hash.Write(piece)
}

// alive returns the size of the live heap. Other goroutines may allocate between a collection and
// the count. alive therefore returns the smallest of several counts.
func alive() uint64 {
	least := uint64(math.MaxUint64)
	for range 3 {
		var memory runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&memory)
		least = min(least, memory.HeapAlloc)
	}
	return least
}

// TestALargeBodyIsNeverInMemory checks that the live heap grows by at most 12 MiB while the service
// writes, signs and sends a body of 24 MiB.
func TestALargeBodyIsNeverInMemory(t *testing.T) {
	const size, bound = 24 << 20, 12 << 20
	onEach(t, func(t *testing.T, r *fixture) {
		before := alive()
		_, err := r.RegisterProvider(t.Context(), r.domain, "p", "")
		must(t, err)
		got := &peak{Hash: sha256.New()}
		url := receiver(t, func(_ http.ResponseWriter, req *http.Request) {
			var body io.Reader = req.Body
			if req.Header.Get("Content-Encoding") == "gzip" {
				z, err := gzip.NewReader(body)
				must(t, err)
				body = z
			}
			if _, err := io.CopyBuffer(struct{ io.Writer }{got}, body, make([]byte, 256<<10)); err != nil {
				t.Error(err)
			}
		})
		r.webhook(url, "p")
		want := sha256.New()
		for n := range 2 {
			must(t, settings.Set(t.Context(), r.DB, r.domain.ID, map[string]string{settings.Compression: fmt.Sprint(n), settings.DeliveryTimeout: "300"}, r.clock.Now()))
			r.emitEvent(store.EmittedEvent{Version: int64(n)}, func(w io.Writer) {
				written := &peak{Hash: sha256.New()}
				large(size)(io.MultiWriter(w, written))
				got.heap = max(got.heap, written.heap)
			})
			r.run(1, 0)
			fmt.Fprintf(want, `{"id_webhook_data":%d,`, n+1)
			large(size)(&without{want, 1})
		}
		if !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
			t.Error("other bytes arrived")
		}
		if grown := int64(got.heap) - int64(before); grown > bound {
			t.Errorf("the heap grew by %d bytes", grown)
		}
	})
}

// without is a writer that removes the first bytes of its input.
type without struct {
	io.Writer
	skip int
}

func (w *without) Write(piece []byte) (int, error) {
	skip := min(w.skip, len(piece))
	w.skip -= skip
	_, err := w.Writer.Write(piece[skip:])
	return len(piece), err
}

// body returns the stored body of a delivery. For an erased body, it returns "erased: ", the
// remaining content and the error.
func (r *fixture) body(w store.Webhook, id passerelle.DeliveryID) string {
	r.t.Helper()
	d, err := r.DB.OneDelivery(r.t.Context(), w, id)
	must(r.t, err)
	body, err := io.ReadAll(r.DB.Body(r.t.Context(), r.domain.ID, d))
	if d.Erased {
		return fmt.Sprintf("erased: %s, %v", body, err)
	}
	must(r.t, err)
	return string(body)
}

// TestBodiesOfUsersAreErasedOnceDelivered sends a user's events to two webhooks. The bodies must
// stay until both webhooks have accepted the events, and must then be erased.
func TestBodiesOfUsersAreErasedOnceDelivered(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in, other := newInbox(t), newInbox(t)
		other.answers(always(http.StatusBadGateway))
		w := r.webhook(in.url, "")
		r.webhook(other.url, "")
		parted, small := `{"id":7,"version":1}`, `{"id":7,"version":2}`
		r.emitEvent(store.EmittedEvent{Version: 1}, func(w io.Writer) { io.WriteString(w, parted) })
		r.emitEvent(store.EmittedEvent{Version: 2, Body: []byte(small)}, nil)
		r.emitBody(1, 1, `{"id":1}`)
		r.run(3, 2)
		r.wantBodies(w, parted, small, `{"id":1}`)
		other.answers(always(http.StatusOK))
		r.clock.advance(time.Minute)
		r.run(3, 0)
		if diff := cmp.Diff(map[string]int{"7.1": 2, "7.2": 1, "1.0": 2}, other.seen()); diff != "" {
			t.Errorf("arrived (-want +got):\n%s", diff)
		}
		r.wantBodies(w, "erased: {}, the body was erased", "erased: {}, <nil>", `{"id":1}`)
	})
}

// wantBodies checks the bodies of the first, third and fifth delivery, which belong to one of
// two webhooks.
func (r *fixture) wantBodies(w store.Webhook, want ...string) {
	r.t.Helper()
	var got []string
	for n := range want {
		got = append(got, r.body(w, passerelle.DeliveryID(2*n+1)))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("bodies (-want +got):\n%s", diff)
	}
}

// TestAnErasedBodyIsNotSent erases the bodies of a webhook's next delivery and of an event that is
// held until its user becomes permanent. The next delivery must be given up, the held event must
// never be sent, and later events must be sent.
func TestAnErasedBodyIsNotSent(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		w := r.webhook(in.url, "")
		r.emitEvent(store.EmittedEvent{Version: 1, Body: []byte(`{"id":7,"version":1}`)}, nil)
		r.emitEvent(store.EmittedEvent{Version: 2, Held: true, Body: []byte(`{"id":7,"version":2}`)}, nil)
		now := r.clock.Now()
		must(t, r.DB.Erase(t.Context(), store.Erasure{Domain: r.domain.ID, User: 7}, 10, now, now, now))
		r.write(func(tx *store.Tx) error { tx.ReleaseHeld(r.domain.ID, 7); return nil })
		r.emitEvent(store.EmittedEvent{Version: 3, Body: []byte(`{"id":7,"version":3}`)}, nil)
		r.run(1, 0)
		in.want(t, "7.3")
		d, err := r.DB.OneWebhookData(t.Context(), r.domain.ID, w.ID, 1)
		must(t, err)
		if d.Dropped == nil || d.DropReason != "the user was deleted" || d.Attempts != 0 {
			t.Errorf("the first is %+v", d)
		}
	})
}

// TestDeletedWebhooksKeepNoBodies deletes the only webhook that still needs the bodies of a user's
// events. The next purge must erase these bodies.
func TestDeletedWebhooksKeepNoBodies(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		in.answers(always(http.StatusBadGateway))
		w := r.webhook(in.url, "")
		for version := range int64(3) {
			r.emitEvent(store.EmittedEvent{Version: version}, func(w io.Writer) { io.WriteString(w, `{"id":7}`) })
		}
		r.run(0, 1)
		must(t, r.DB.PurgeUndeliverable(t.Context(), r.domain.ID, r.clock.Now().Add(25*time.Hour), 2, 10))
		if got := r.body(w, 1); got != `{"id":7}` {
			t.Errorf("before: %s", got)
		}
		must(t, r.Delete(t.Context(), r.domain, w.ID, "test"))
		must(t, r.DB.PurgeUndeliverable(t.Context(), r.domain.ID, r.clock.Now().Add(25*time.Hour), 2, 10))
		for id := range passerelle.DeliveryID(3) {
			if got := r.body(w, id+1); got != "erased: {}, the body was erased" {
				t.Errorf("delivery %d: %s", id+1, got)
			}
		}
	})
}

// TestRestoredWebhookGetsMissedEvents checks that the body of an event is kept for a deleted
// webhook, although another webhook has already received the event.
func TestRestoredWebhookGetsMissedEvents(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in, other := newInbox(t), newInbox(t)
		w := r.webhook(in.url, "")
		r.webhook(other.url, "")
		r.emitEvent(store.EmittedEvent{Version: 1, Body: []byte(`{"id":7,"version":1}`)}, nil)
		must(t, r.Delete(t.Context(), r.domain, w.ID, "test"))
		r.run(1, 0)
		other.want(t, "7.1")
		_, err := r.Update(t.Context(), r.domain, w.ID, delivery.WebhookUpdate{Deleted: new(false)})
		must(t, err)
		r.run(1, 0)
		in.want(t, "7.1")
		if got := r.body(w, 1); got != "erased: {}, <nil>" {
			t.Errorf("the body is %s", got)
		}
	})
}

// In TestStoppedAfterItsDeletion, a late sender stores its results after the webhook was deleted,
// and stops the webhook. Once restored, the webhook must receive new events.
func TestStoppedAfterItsDeletion(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		w := r.webhook(in.url, "")
		r.write(func(tx *store.Tx) error { tx.LeaseWebhook(w, "late", time.Minute); return nil })
		must(t, r.Delete(t.Context(), r.domain, w.ID, "test"))
		r.write(func(tx *store.Tx) error {
			err := tx.RecordBatches(w.Domain, store.Batch{Webhook: w.ID, Holder: "late", Lease: time.Minute, Stopped: true, NextFlush: r.clock.Now(), Now: r.clock.Now()})
			tx.ReleaseWebhook(w, "late")
			return err
		})
		_, err := r.Update(t.Context(), r.domain, w.ID, delivery.WebhookUpdate{Deleted: new(false)})
		must(t, err)
		r.emit(7, 1)
		r.run(1, 0)
		in.want(t, "7.1")
	})
}

// TestPartsAreWritten checks that an event is refused when its body is a list, empty or not closed,
// or when it has two bodies.
func TestPartsAreWritten(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		emit := func(e store.EmittedEvent) error {
			e.Domain, e.Name, e.Subject, e.Created = r.domain.ID, webhook.PaymentStateUpdated, "user", r.clock.Now()
			return r.DB.Write(t.Context(), func(tx *store.Tx) error { return tx.Emit(e) })
		}
		list, open, empty := r.DB.WriteBody(t.Context(), r.domain.ID), r.DB.WriteBody(t.Context(), r.domain.ID), r.DB.WriteBody(t.Context(), r.domain.ID)
		large(1 << 20)(open)
		io.WriteString(list, "[]")
		must(t, list.Close())
		if empty.Close() == nil {
			t.Error("a body without a byte was closed")
		}
		for name, body := range map[string]*store.EventBody{"a list": list, "not closed": open, "empty": empty} {
			if emit(store.EmittedEvent{Parts: body}) == nil {
				t.Errorf("%s was emitted", name)
			}
		}
		must(t, open.Close())
		if _, err := io.WriteString(open, "more"); err == nil {
			t.Error("wrote to a closed body")
		}
		if emit(store.EmittedEvent{Parts: open, Body: []byte("{}")}) == nil {
			t.Error("an event with two bodies was emitted")
		}
		must(t, r.DB.PurgeParts(t.Context(), 2, 10)) // no part is a day old
		must(t, emit(store.EmittedEvent{Parts: open}))
	})
}

// TestAuthoritiesOfADomain checks that a domain trusts a receiver's certificate authority only
// while the domain's setting contains this authority. A stored setting that is invalid counts as
// empty.
func TestAuthoritiesOfADomain(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		server := httptest.NewUnstartedServer(http.HandlerFunc(ok))
		server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
		server.StartTLS()
		t.Cleanup(server.Close)
		authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
		first, other := r.domain, r.newDomain("other", passerelle.Sandbox)
		r.domain = other
		r.webhook(server.URL, "")
		r.domain = first
		w := r.webhook(server.URL, "")
		for version, step := range []struct {
			authorities string
			delivered   int
		}{{"", 0}, {authority, 2}, {authority, 1}, {authority + "x", 0}, {authority, 2}, {"", 0}} {
			must(t, r.DB.Write(t.Context(), func(tx *store.Tx) error {
				tx.SetSetting(r.domain.ID, settings.Authorities, step.authorities, "command", r.clock.Now())
				return nil
			}))
			r.emit(1, int64(version))
			r.clock.advance(time.Minute)
			r.run(step.delivered, 1-min(step.delivered, 1))
			r.domain = other
			r.emit(1, int64(version))
			r.run(0, 1)
			r.domain = first
		}
		attempts := r.attempts(1)
		if attempts[0].Failure != "certificate refused" || r.now(w).ConsecutiveFailures != 1 {
			t.Errorf("attempts %+v", attempts)
		}
	})
}

// TestUnwantedEventsAreStoredWithoutBody checks that a user's event is stored without a body when
// no webhook is registered for it. An event of a temporary user keeps its body. When the user
// becomes permanent, the service must remove the body.
func TestUnwantedEventsAreStoredWithoutBody(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		eyes := storetest.Inspect(t, r.url)
		secret := []byte(`{"id":7,"secret":true}`)
		write := func(w io.Writer) { w.Write(secret) }
		r.emitEvent(store.EmittedEvent{Version: 1, Body: secret}, nil)
		r.emitEvent(store.EmittedEvent{Version: 2}, write)
		r.emitBody(8, 1, string(secret)) // without a user
		r.emitEvent(store.EmittedEvent{Version: 3, Held: true, Body: secret}, nil)
		r.emitEvent(store.EmittedEvent{Version: 4, Held: true}, write)
		want := func(parts int64, bodies ...string) {
			t.Helper()
			var got []string
			for _, e := range eyes.Events() {
				got = append(got, fmt.Sprintf("%s %d: %s", e.Subject, e.Version, e.Body))
			}
			if diff := cmp.Diff(bodies, got); diff != "" {
				t.Errorf("bodies (-want +got):\n%s", diff)
			}
			if got := eyes.Rows()["event_part"]; got != parts {
				t.Errorf("%d parts, want %d", got, parts)
			}
		}
		whole := string(secret)
		want(1, "payment 1: "+whole, "user 1: {}", "user 2: {}", "user 3: "+whole, "user 4: ")
		r.write(func(tx *store.Tx) error { tx.ReleaseHeld(r.domain.ID, 7); return nil })
		want(0, "payment 1: "+whole, "user 1: {}", "user 2: {}", "user 3: {}", "user 4: {}")
		in := newInbox(t)
		r.webhook(in.url, "")
		r.emitEvent(store.EmittedEvent{Version: 5, Body: []byte(`{"id":7,"version":5}`)}, nil)
		r.run(1, 0)
		in.want(t, "7.5")
	})
}
