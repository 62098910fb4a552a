package berlingroup_test

import (
	"net/http"
	"testing"
	"time"
)

// TestBusyBanks checks that the connector passes on the wait that a bank requests when the bank
// refuses to report the status of an order, or to take an order, also one that the service repeats.
func TestBusyBanks(t *testing.T) {
	for asked, want := range map[string]time.Duration{"3600": time.Hour, "": 0} {
		for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
			w := newFixture(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Retry-After", asked)
				rw.WriteHeader(status)
			}), nil)
			o := ordersByKind["single"]
			o.Memory = []byte(`{"path":"` + order1 + `"}`)
			if report, err := w.initiator().Status(t.Context(), o); err == nil || report.CheckAfter != want {
				t.Errorf("after %d with %q, the next check is in %v, want %v (%v)", status, asked, report.CheckAfter, want, err)
			}
			o.Memory = nil
			for _, o.Repeated = range []bool{false, true} {
				if report, err := w.initiator().Initiate(t.Context(), o); err == nil || report.CheckAfter != want {
					t.Errorf("after %d with %q for the order (repeated: %t), the next check is in %v, want %v (%v)", status, asked, o.Repeated, report.CheckAfter, want, err)
				}
			}
		}
	}
}
