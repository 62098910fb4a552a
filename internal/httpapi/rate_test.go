package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"testing"
	"time"

	"passerelle/internal/settings"
)

func (s *service) ask(token, address string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "http://one.example/2.0/items/3", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+token)
	r.RemoteAddr = address
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func rates(token, address string) map[string]string {
	return map[string]string{settings.RateEnabled: "1", settings.TokenRate: token, settings.AddressRate: address}
}

func left(w *httptest.ResponseRecorder) string {
	h := w.Header()
	return fmt.Sprint(w.Code, " ", h.Get("RateLimit-Limit"), "/", h.Get("RateLimit-Remaining"), "/", h.Get("RateLimit-Reset"), "/", h.Get("Retry-After"))
}

// Each token has its own quota per minute, which refills gradually.
func TestRateOfATokenIsLimited(t *testing.T) {
	s := newService(t)
	s.rates = rates("3", "0")
	for _, step := range []struct {
		later time.Duration
		token string
		want  string
	}{
		{0, "reader", "200 3/2/20/"},
		{0, "reader", "200 3/1/40/"},
		{0, "reader", "200 3/0/60/"},
		{0, "reader", "429 3/0/60/20"},
		{0, "admin", "200 3/2/20/"},
		{5 * time.Second, "reader", "429 3/0/55/15"},
		{20 * time.Second, "reader", "200 3/0/60/"},
		{20 * time.Second, "reader", "429 3/0/60/20"},
		{10 * time.Minute, "reader", "200 3/2/20/"},
		{0, "reader", "200 3/2/20/"}, // the clock was set back
		{0, "nobody", "401 ///"},
	} {
		s.later = step.later
		if got := left(s.ask(step.token, "192.0.2.1:1000")); got != step.want {
			t.Errorf("%s after %v: %s, want %s", step.token, step.later, got, step.want)
		}
	}
	s.rates = rates("0", "0")
	if got := left(s.ask("reader", "192.0.2.1:1000")); got != "200 ///" {
		t.Errorf("without limits: %s", got)
	}
}

// All requests from an address share a quota, whatever their tokens. IPv6 addresses with the same
// first 64 bits count as one address.
func TestRateOfAnAddressIsLimited(t *testing.T) {
	s := newService(t)
	s.rates = rates("5", "2")
	for _, step := range []struct{ address, token, want string }{
		{"192.0.2.1:1000", "nobody", "401 2/1/30/"},
		{"192.0.2.1:1001", "reader", "200 2/0/60/"},
		{"192.0.2.1:1002", "nobody", "429 2/0/60/30"},
		{"192.0.2.2:1000", "reader", "200 2/1/30/"},
		{"[::ffff:192.0.2.1]:1000", "reader", "429 2/0/60/30"},
		{"[2001:db8:1:2::1]:1000", "reader", "200 2/1/30/"},
		{"[2001:db8:1:2:ffff::1]:1000", "reader", "200 2/0/60/"},
		{"[2001:db8:1:2:eeee::1]:1000", "reader", "429 2/0/60/30"},
		{"[2001:db8:1:3::1]:1000", "admin", "200 2/1/30/"},
	} {
		if got := left(s.ask(step.token, step.address)); got != step.want {
			t.Errorf("%s from %s: %s, want %s", step.token, step.address, got, step.want)
		}
	}
	s.check(t, call{url: "/2.0/items/3", token: "reader", remote: "192.0.2.1:1"}, outcome{status: 429, code: "rateLimited", message: "More than 2 requests a minute from this address"})
}

// 60,000 addresses use at most 16 MiB of memory. They do not change the quota of another address.
func TestRatesTakeABoundedMemory(t *testing.T) {
	s := newService(t)
	s.rates = rates("0", "2")
	memory := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := memory()
	for n := range 60_000 {
		address := fmt.Sprintf("10.%d.%d.%d:1000", n>>16, n>>8&0xff, n&0xff)
		if got := s.ask("nobody", address).Code; got != 401 {
			t.Fatalf("a first request from %s: %d", address, got)
		}
	}
	if grown := int64(memory()) - int64(before); grown > 16<<20 {
		t.Errorf("%d MiB for the addresses", grown>>20)
	}
	codes := []int{s.ask("reader", "192.0.2.9:1").Code, s.ask("reader", "192.0.2.9:1").Code, s.ask("reader", "192.0.2.9:1").Code}
	if want := []int{200, 200, 429}; !slices.Equal(codes, want) {
		t.Errorf("among them one address gets %v, want %v", codes, want)
	}
}
