package servicetest_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/servicetest"
	"passerelle/internal/settings"
)

// A sandbox has no rate limit by default. A new limit applies immediately.
func TestRatesOfASandbox(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		token := s.Token("payments:admin")
		ask := func() string {
			a := s.Call("GET", "/payments", token, nil)
			return fmt.Sprint(a.Status, " ", a.Header.Get("RateLimit-Limit"), "/", a.Header.Get("RateLimit-Remaining"))
		}
		set := func(values map[string]string) {
			t.Helper()
			if err := settings.Set(t.Context(), s.DB, s.Domain.ID, values, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		wants := func(want string) {
			t.Helper()
			if got := ask(); got != want {
				t.Errorf("answered %s, want %s", got, want)
			}
		}
		wants("200 /")
		set(map[string]string{settings.RateEnabled: "1", settings.TokenRate: "2"})
		wants("200 2/1")
		wants("200 2/0")
		wants("429 2/0")
		refused := s.Call("POST", "/payments", token, servicetest.Draft())
		var reported struct{ Code, Description, Message string }
		s.JSON(refused, &reported)
		if refused.Status != http.StatusTooManyRequests || reported.Code != "rateLimited" || reported.Message == "" || refused.Header.Get("Retry-After") == "" {
			t.Errorf("refused with %d %s %v", refused.Status, refused.Body, refused.Header)
		}
		set(map[string]string{settings.AddressRate: "1", settings.TokenRate: "0"})
		ask()
		wants("429 1/0")
		set(map[string]string{settings.RateEnabled: "0"})
		wants("200 /")
	})
}

// Live domains have a rate limit by default.
func TestLiveDomainsCount(t *testing.T) {
	for _, test := range []struct {
		kind passerelle.DomainKind
		set  string
		want bool
	}{{passerelle.Live, "", true}, {passerelle.Live, "0", false}, {passerelle.Live, "1", true}, {passerelle.Sandbox, "", false}, {passerelle.Sandbox, "1", true}} {
		if got := (settings.Values{settings.RateEnabled: test.set}).Limited(test.kind); got != test.want {
			t.Errorf("%s with %q counts: %t", test.kind, test.set, got)
		}
	}
}
