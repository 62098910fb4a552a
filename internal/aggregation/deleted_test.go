package aggregation_test

import (
	"context"
	"testing"
	"time"

	"passerelle/connector"
	"passerelle/internal/aggregation"
)

// TestDeletedWhileReadWithOthers deletes one of two connections while both are read together. The
// deletion is no failure, and the other connection must be read.
func TestDeletedWhileReadWithOthers(t *testing.T) {
	defer aggregation.SetConnectorTimes(aggregation.SetConnectorTimes(time.Hour, time.Millisecond))
	for name, read := range map[string]func(*fixture) error{
		"the loop": func(h *fixture) error {
			err := h.BeginDue(h.t.Context(), h.domain)
			must(h.t, err)
			h.AwaitReaders()
			return h.BeginDue(h.t.Context(), h.domain) // returns the errors of the reads
		},
		"the sandbox clock": func(h *fixture) error { _, err := h.RunDue(h.t.Context(), h.domain); return err },
		"a request for all connections": func(h *fixture) error {
			_, err := h.SyncAll(h.t.Context(), h.domain, h.user.ID, true)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
				deleted, kept := h.shared(s), h.shared(s)
				s.read = func(ctx context.Context, r connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
					if r.Connection == deleted {
						must(t, h.Disconnect(t.Context(), h.domain, h.user.ID, deleted))
					}
					return soundBooks().read(ctx, r, out)
				}
				h.now = noon.Add(48 * time.Hour)
				if err := read(h); err != nil {
					t.Errorf("the deletion is a failure: %v", err)
				}
				h.AwaitReaders()
				if c := h.loaded(kept); c.LastUpdate == nil || !c.LastUpdate.Equal(h.now) {
					t.Errorf("the other connection was read at %v", c.LastUpdate)
				}
			})
		})
	}
}
