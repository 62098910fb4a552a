package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// silent returns a receiver that responds only when the test releases it.
func silent(t *testing.T) (url string, reached <-chan struct{}, let func()) {
	t.Helper()
	reach, gone := make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		reach <- struct{}{}
		<-gone
	}))
	let = sync.OnceFunc(func() { close(gone) })
	t.Cleanup(func() { let(); server.Close() })
	return server.URL, reach, let
}

// TestSilentReceiversDoNotAffectOtherDomains lets eight calls of a domain, the maximum, wait for
// silent receivers. The service refuses further calls of this domain that would wait, and the
// refused calls change nothing.
func TestSilentReceiversDoNotAffectOtherDomains(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		const most = 8
		url, reached, let := silent(t)
		path := func(test int) string { return fmt.Sprintf("/webhooks/%d/test", test) }
		tests := make([]ask, most+1)
		for i := range tests {
			var hook struct{ ID int }
			body := fmt.Sprintf(`{"event":"USER_SYNCED","url":"%s/%d"}`, url, i)
			s.do(t, ask{method: "POST", path: "/webhooks", token: "config", body: body}).decode(t, &hook)
			tests[i] = ask{method: "POST", path: path(hook.ID), token: "config"}
		}
		sent, elsewhere := s.sent(t, "other"), s.sent(t, "")
		answers := make(chan int, most)
		for _, test := range tests[:most] {
			request := s.request(t, test)
			go func() {
				answer, err := s.client.Do(request)
				if err != nil {
					answers <- 0
					return
				}
				answer.Body.Close()
				answers <- answer.StatusCode
			}()
		}
		for range most {
			<-reached
		}
		refused := []ask{
			tests[most],
			{method: "POST", path: "/webhooks/" + elsewhere + "/resend", token: "config"},
			{method: "POST", path: "/sandbox/run", token: "config"},
			{method: "POST", path: "/sandbox/clock", token: "config", body: `{"advance":"1m"}`},
		}
		before := s.record()
		for _, one := range refused {
			if r := s.do(t, one).says(t, 429, "rateLimited", "8 calls already wait for receivers"); r.header.Get("Retry-After") != "5" {
				t.Errorf("Retry-After of %s is %q", one.path, r.header.Get("Retry-After"))
			}
		}
		s.untouched(t, before)
		s.do(t, ask{domain: "other", method: "POST", path: "/webhooks/" + sent + "/resend", token: "config"}).says(t, 200, "", "")
		let()
		for range most {
			if status := <-answers; status != 200 {
				t.Errorf("a call that waited was answered with %d", status)
			}
		}
		for _, one := range refused {
			s.do(t, one).says(t, 200, "", "")
		}
	})
}

// TestManyWebhooksAreTested checks that one call can test ten webhooks, although only eight calls
// of a domain may wait for receivers.
func TestManyWebhooksAreTested(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		const webhooks, atOnce = 10, 4
		url, reached, let := silent(t)
		for i := range webhooks {
			body := fmt.Sprintf(`{"event":"USER_SYNCED","url":"%s/%d"}`, url, i)
			s.do(t, ask{method: "POST", path: "/webhooks", token: "config", body: body}).says(t, 200, "", "")
		}
		go func() {
			for range atOnce {
				<-reached
			}
			let()
		}()
		var out struct {
			Tests []struct {
				Error *string
				Log   *struct{ URL string }
			}
		}
		s.do(t, ask{method: "POST", path: "/test/webhooks", token: "config", body: `{}`}).decode(t, &out)
		accepted := 0
		for _, one := range out.Tests {
			if one.Error == nil && one.Log != nil {
				accepted++
			}
		}
		if accepted != webhooks {
			t.Errorf("%d of %d tests are accepted: %+v", accepted, webhooks, out.Tests)
		}
	})
}
