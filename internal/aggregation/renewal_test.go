package aggregation_test

import (
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/aggregation"
)

// TestRenewalInProgress checks that the background work does not change a connection whose user is
// renewing an ended consent.
func TestRenewalInProgress(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		for _, o := range []connector.Outcome{
			{State: passerelle.AdditionalInformationNeeded, Fields: []connector.Field{{Name: "otp"}}},
			{State: passerelle.Decoupled, Message: "Open the app"},
			{State: passerelle.ActionNeeded, Message: "Accept the terms"},
		} {
			c := h.established(s)
			h.now = *c.ConsentUntil
			s.read = ending(o)
			before, err := h.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{})
			must(t, err)
			h.events()
			h.now = h.now.Add(time.Minute)
			read, err := h.RunDue(t.Context(), h.domain)
			must(t, err)
			after := h.loaded(c.ID)
			if got := names(h.events()); read != 0 || got != "" || after.State != o.State || after.Fields != before.Fields || after.Message != before.Message {
				t.Errorf("%s: %d read, events %q, %+v", o.State, read, got, after)
			}
			must(t, h.Disconnect(t.Context(), h.domain, h.user.ID, c.ID))
		}
	})
}
