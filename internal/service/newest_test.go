package service_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"passerelle/internal/delivery"
	"passerelle/internal/servicetest"
)

// TestExamplesHaveTheNewestIDs checks that the examples in the reference have the ids of the newest
// webhook and of the newest authentication provider.
func TestExamplesHaveTheNewestIDs(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		var provider, hook int64
		for _, name := range []string{"first", "second", "newest"} {
			p, err := s.Delivery.RegisterProvider(t.Context(), s.Domain, name, "test")
			if err != nil {
				t.Fatal(err)
			}
			w, err := s.Delivery.Register(t.Context(), s.Domain, delivery.Registration{Event: "USER_CREATED", URL: s.Origin + "/sandbox/receiver/" + name})
			if err != nil {
				t.Fatal(err)
			}
			provider, hook = p.ID, int64(w.ID)
		}
		got := s.Do(to(t, s, http.MethodGet, "/docs/webhooks", "", nil))
		for _, path := range []string{fmt.Sprintf("/webhooks/auth/%d", provider), fmt.Sprintf("/webhooks/%d/logs", hook)} {
			if !strings.Contains(string(got.Body), path) {
				t.Errorf("status %d, without %s", got.Status, path)
			}
		}
	})
}
