package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
)

func keyed(key, body string) call {
	c := post(body)
	c.header = map[string]string{"Idempotency-Key": key}
	return c
}

type recordedAnswer struct {
	status           int
	body, replayed   string
	requestID, after string
}

func received(w *httptest.ResponseRecorder) recordedAnswer {
	return recordedAnswer{w.Code, w.Body.String(), w.Header().Get("Idempotency-Replayed"), w.Header().Get("X-Request-Id"), w.Header().Get("Retry-After")}
}

func TestRepetitionGetsTheSameAnswer(t *testing.T) {
	s := newService(t)
	c := keyed("k", `{"name":"a"}`)
	first := received(s.do(c))
	again := received(s.do(c))
	want := first
	want.replayed = "true"
	if diff := cmp.Diff(want, again, cmp.AllowUnexported(recordedAnswer{})); diff != "" || first.status != 200 || first.replayed != "" {
		t.Errorf("repetition (-want +got):\n%s", diff)
	}
	if s.created != 1 {
		t.Errorf("created %d", s.created)
	}
}

// A multipart form that is repeated with a new boundary counts as the same request. A form with
// another value does not.
func TestRepetitionWithAnotherBoundary(t *testing.T) {
	s := newService(t)
	form := func(boundary, name string) call {
		c := keyed("k", "--"+boundary+"\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\n"+name+"\r\n--"+boundary+"--\r\n")
		return c.as("multipart/form-data; boundary=" + boundary)
	}
	first, again, other := received(s.do(form("aaa", "n"))), received(s.do(form("bbb", "n"))), received(s.do(form("aaa", "m")))
	if first.status != 200 || again.body != first.body || again.replayed != "true" || other.status != 409 || s.created != 1 {
		t.Errorf("first %+v, again %+v, another form %+v, created %d", first, again, other, s.created)
	}
}

func TestKeysAreNotShared(t *testing.T) {
	s := newService(t)
	s.do(keyed("k", `{"name":"a"}`))
	conflict := outcome{status: 409, code: "conflict", message: "different request"}
	put := keyed("k", "")
	put.method, put.url = "PUT", "/2.0/items/1"
	for name, test := range map[string]struct {
		call call
		want outcome
	}{
		"another body":   {keyed("k", `{"name":"b"}`), conflict},
		"another query":  {keyed("k", `{"name":"a"}`).with("x=1"), conflict},
		"another type":   {keyed("k", `{"name":"a"}`).as(""), conflict},
		"another method": {put, conflict},
		"even if wrong":  {keyed("k", `{`), conflict},
	} {
		t.Run(name, func(t *testing.T) { s.check(t, test.call, test.want) })
	}
	other := keyed("k", `{"name":"b"}`)
	other.token = "admin"
	s.check(t, other, outcome{status: 200})
	if s.created != 2 {
		t.Errorf("created %d, want one per token", s.created)
	}
}

func TestOnlyExecutionsAreKept(t *testing.T) {
	s := newService(t)
	c := keyed("k", `{"name":"a"}`)
	s.check(t, keyed("k", `{}`), outcome{400, "missingParameter", "name", ""})
	for _, step := range []struct {
		fail   error
		status int
		kept   bool
	}{
		{errors.New("a fault"), 500, false},
		{passerelle.InvalidField("name", "refused by a rule"), 400, false},
		{&passerelle.Error{Kind: passerelle.Unavailable, Code: "unavailable"}, 503, false},
		{&passerelle.Error{Kind: passerelle.Conflict, Code: "conflict", RetryAfter: 1}, 409, false},
		{passerelle.Conflicting("for good"), 409, true},
		{nil, 409, true},
	} {
		s.fail = step.fail
		if w := s.do(c); w.Code != step.status {
			t.Errorf("%v: status %d, want %d", step.fail, w.Code, step.status)
		}
	}
	if s.created != 0 {
		t.Error("executed although a final conflict was kept")
	}
}

func TestKeysWithoutEffect(t *testing.T) {
	s := newService(t)
	token := keyed("k", `{"name":"a"}`)
	token.url = "/2.0/auth/token"
	read := keyed("k", "")
	read.method = "GET"
	for _, c := range []call{token, read} {
		for range 2 {
			if w := s.do(c); w.Code != 200 || w.Header().Get("Idempotency-Replayed") != "" {
				t.Errorf("%s %s: %d, replayed %q", c.method, c.url, w.Code, w.Header().Get("Idempotency-Replayed"))
			}
		}
	}
}

func TestKeysRefused(t *testing.T) {
	s := newService(t)
	for _, key := range []string{"", "a\tb", "é", "a\x7f", strings.Repeat("k", 256)} {
		s.check(t, keyed(key, `{"name":"a"}`), invalid("Idempotency-Key: must be"))
	}
	s.check(t, keyed(strings.Repeat("~", 255), `{"name":"a"}`), outcome{status: 200})
	twice := keyed("k", `{"name":"a"}`).request()
	twice.Header.Add("Idempotency-Key", "k")
	if w := s.serve(twice); w.Code != 400 {
		t.Errorf("two keys: %d", w.Code)
	}
}

func TestRepetitionWhileTheFirstRuns(t *testing.T) {
	s := newService(t)
	s.hold, s.entered = make(chan struct{}), make(chan struct{}, 1)
	c := keyed("k", `{"name":"a"}`)
	done := make(chan recordedAnswer)
	go func() { done <- received(s.do(c)) }()
	<-s.entered
	second := s.do(c)
	if second.Code != 409 || second.Header().Get("Retry-After") != "5" {
		t.Errorf("while the first runs: %d, Retry-After %q", second.Code, second.Header().Get("Retry-After"))
	}
	close(s.hold)
	first := <-done
	s.hold = nil
	third := received(s.do(c))
	if third.body != first.body || third.replayed != "true" || s.created != 1 {
		t.Errorf("after it: %+v, created %d", third, s.created)
	}
}

// recording returns the ways in which an endpoint can record what it created under its key.
func (s *service) recording() map[string]func(c *httpapi.Caller, made echo) error {
	return map[string]func(c *httpapi.Caller, made echo) error{
		"Executed": func(c *httpapi.Caller, _ echo) error {
			return s.db.Write(context.Background(), func(tx *store.Tx) error { return tx.Executed(c.Execution, 7) })
		},
		"Answered": func(c *httpapi.Caller, made echo) error {
			return s.db.Write(context.Background(), func(tx *store.Tx) error {
				kept, err := c.KeepResponse(made)
				if err != nil {
					return err
				}
				return tx.Responded(c.Execution, 7, kept)
			})
		},
		"nothing": func(*httpapi.Caller, echo) error { return nil },
	}
}

// lateFailures are errors of an execution whose key was taken over. An execution without an error
// fails with ErrTakenOver when it records what it created.
var lateFailures = map[string]error{
	"no error": nil, "a conflict": passerelle.Conflicting("created already"), "a refusal": passerelle.InvalidField("name", "exists"),
	"the key": fmt.Errorf("create: %w", store.ErrTakenOver),
}

// start sends a call whose execution waits. The returned function lets the execution continue, and
// returns the response.
func (s *service) start(c call) (finish func() recordedAnswer) {
	hold := make(chan struct{})
	s.hold, s.entered = hold, make(chan struct{}, 1)
	done := make(chan recordedAnswer, 1)
	go func() { done <- received(s.do(c)) }()
	<-s.entered
	s.hold = nil
	return func() recordedAnswer { close(hold); return <-done }
}

func (s *service) lapse(t *testing.T) {
	t.Helper()
	if err := s.db.Write(t.Context(), func(tx *store.Tx) error { tx.Unit().Exec(`UPDATE idempotency SET lease_until = 0`); return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestLateExecutionsGetTheStoredAnswer interrupts an execution until another one has taken over its
// key and has stored a response. The first execution then ends in different ways. Its client must
// get the stored response, as every repetition does.
func TestLateExecutionsGetTheStoredAnswer(t *testing.T) {
	for way := range new(service).recording() {
		for failure, fail := range lateFailures {
			t.Run(way+", "+failure, func(t *testing.T) {
				s := newService(t)
				s.record = s.recording()[way]
				c := keyed("k", `{"name":"a"}`)
				finish := s.start(c)
				s.lapse(t)
				second := received(s.do(c))
				if second.status != 200 || second.replayed != "" {
					t.Fatalf("the second execution: %+v", second)
				}
				s.fail = fail
				want := second
				want.replayed = "true"
				for name, got := range map[string]recordedAnswer{"the late execution": finish(), "a repetition": received(s.do(c))} {
					if diff := cmp.Diff(want, got, cmp.AllowUnexported(recordedAnswer{})); diff != "" {
						t.Errorf("%s (-want +got):\n%s", name, diff)
					}
				}
				if s.log.Len() > 0 {
					t.Errorf("log %q", s.log.String())
				}
			})
		}
	}
}

// TestLateExecutionsWaitForTheOther lets an execution end while the execution that has taken over
// its key still runs. The client must not get a response that repetitions do not get.
func TestLateExecutionsWaitForTheOther(t *testing.T) {
	for way := range new(service).recording() {
		for failure, fail := range lateFailures {
			t.Run(way+", "+failure, func(t *testing.T) {
				s := newService(t)
				s.record = s.recording()[way]
				c := keyed("k", `{"name":"a"}`)
				finish := s.start(c)
				s.lapse(t)
				finishOther := s.start(c)
				s.fail = fail
				if late := finish(); late.status != 409 || late.after != "5" || late.replayed != "" || !strings.Contains(late.body, "still in progress") {
					t.Errorf("the late execution: %+v", late)
				}
				s.fail = nil
				other, again := finishOther(), received(s.do(c))
				if other.status != 200 || other.replayed != "" || again.body != other.body || again.replayed != "true" {
					t.Errorf("the other execution: %+v, a repetition: %+v", other, again)
				}
				if s.log.Len() > 0 {
					t.Errorf("log %q", s.log.String())
				}
			})
		}
	}
}
