package aggregation_test

import (
	"context"
	"testing"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/aggregation"
)

// stopping returns a read that ends the process after its first part, and the process that it ends.
func stopping(t *testing.T, first func(out connector.Sink) error) (reading, context.Context) {
	process, stop := context.WithCancel(t.Context())
	return func(ctx context.Context, _ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
		must(t, first(out))
		stop()
		<-ctx.Done()
		return connector.Outcome{}, ctx.Err()
	}, process
}

// TestInterruptedReadOfAnInactiveConnection checks that the service repeats a read in the background
// that the end of the process interrupted, although the connection is inactive. Otherwise the state
// would stay validating.
func TestInterruptedReadOfAnInactiveConnection(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id, inactive := h.shared(s), false
		read, process := stopping(t, func(connector.Sink) error { return nil })
		s.read = read
		_, err := h.Resume(t.Context(), h.domain, h.user.ID, id, aggregation.Request{Background: true, Active: &inactive})
		must(t, err)
		h.waiting[0](process)
		if c := h.loaded(id); process.Err() == nil || c.State != passerelle.Validating || c.Active {
			t.Fatalf("a stop leaves %+v", c)
		}
		s.read = soundBooks().read
		for _, want := range []int{1, 0} {
			if got := h.sync(); got != want {
				t.Errorf("%d connections are read, want %d", got, want)
			}
		}
		if c := h.loaded(id); c.State != "" || c.Active {
			t.Errorf("after the stop: %+v", c)
		}
	})
}
