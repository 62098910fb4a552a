package httpapi_test

import (
	"net/http/httptest"
	"net/netip"
	"testing"

	"passerelle/internal/httpapi"
)

func TestAddress(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct{ from, host, want string }{
		{"192.0.2.1:4000", "", "192.0.2.1"},
		{"192.0.2.1:4000", "198.51.100.7", "192.0.2.1"},
		{"10.0.0.1:4000", "", "10.0.0.1"},
		{"10.0.0.1:4000", "198.51.100.7", "198.51.100.7"},
		{"10.0.0.1:4000", "198.51.100.7:50001", "198.51.100.7"},
		{"10.0.0.1:4000", "203.0.113.9, 198.51.100.7:50001, 10.0.0.2:443", "198.51.100.7"},
		{"10.0.0.1:4000", "2001:db8::7", "2001:db8::7"},
		{"10.0.0.1:4000", "[2001:db8::7]", "2001:db8::7"},
		{"10.0.0.1:4000", "[2001:db8::7]:50001", "2001:db8::7"},
		{"[fd00::1]:4000", "198.51.100.7, [fd00::2]:443", "198.51.100.7"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.from
		if c.host != "" {
			r.Header.Set("X-Forwarded-For", c.host)
		}
		if got := httpapi.Address(r, trusted); got != c.want {
			t.Errorf("from %s, who heard from %q: %s, want %s", c.from, c.host, got, c.want)
		}
	}
}
