package aggregation_test

import (
	"context"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
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

// TestNotificationAboutAnEndedConsent checks that a notification makes the service read a
// connection once while the user renews an ended consent, at the institution or in an app.
func TestNotificationAboutAnEndedConsent(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		at := connector.Outcome{State: passerelle.WebauthRequired, URL: "https://bank.example/"}
		for _, test := range []struct {
			before connector.Outcome
			found  reading
			want   passerelle.ConnectionState
		}{
			{at, soundBooks().read, ""},
			{connector.Outcome{State: passerelle.Decoupled}, soundBooks().read, ""},
			{at, ending(at), passerelle.WebauthRequired},
		} {
			c := h.established(s)
			end := *c.ConsentUntil
			h.now = end
			s.read = ending(test.before)
			_, err := h.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{})
			must(t, err)
			must(t, h.DB.Write(t.Context(), func(tx *store.Tx) error {
				bankstore.In(tx).HastenRead(h.domain.ID, c.ID, h.now, h.now.Add(time.Minute))
				return nil
			}))
			h.now, s.read = h.now.Add(time.Minute), test.found
			for _, want := range []int{1, 0} {
				if read, err := h.RunDue(t.Context(), h.domain); err != nil || read != want {
					t.Errorf("%s: %d read (%v), want %d", test.before.State, read, err, want)
				}
			}
			after := h.loaded(c.ID)
			if after.State != test.want || after.ConsentUntil.After(end) != (test.want == "") {
				t.Errorf("%s: %+v", test.before.State, after)
			}
			must(t, h.Disconnect(t.Context(), h.domain, h.user.ID, c.ID))
		}
	})
}

// TestNotificationDuringARead checks that a notification that arrives during a read makes the
// connection due after the read, unless the read ends in a state such as wrongpass.
func TestNotificationDuringARead(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		minute := h.now.Add(time.Minute)
		for _, test := range []struct {
			before, after passerelle.ConnectionState
			background    bool
			want          time.Time
		}{
			{"", "", false, h.now},
			{"", "", true, minute},
			{passerelle.Decoupled, passerelle.Decoupled, false, minute},
			{passerelle.Decoupled, passerelle.Decoupled, true, minute},
			{passerelle.WebauthRequired, "", false, minute},
			{"", passerelle.Wrongpass, false, h.now.Add(12 * time.Hour)},
		} {
			c := h.established(s)
			s.read = ending(connector.Outcome{State: test.before})
			_, err := h.resume(c.ID)
			must(t, err)
			s.read = func(context.Context, connector.DataRequest, connector.Sink) (connector.Outcome, error) {
				must(t, h.DB.Write(t.Context(), func(tx *store.Tx) error {
					bankstore.In(tx).HastenRead(h.domain.ID, c.ID, h.now, minute)
					return nil
				}))
				return connector.Outcome{State: test.after}, nil
			}
			_, err = h.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{Background: test.background})
			must(t, err)
			for _, work := range h.waiting {
				work(t.Context())
			}
			h.waiting = nil
			if c := h.loaded(c.ID); c.NextTry == nil || !c.NextTry.Equal(test.want) || c.State != test.after {
				t.Errorf("%+v: state %q, next try %v", test, c.State, c.NextTry)
			}
			must(t, h.Disconnect(t.Context(), h.domain, h.user.ID, c.ID))
		}
	})
}

// TestNotificationDuringADueRead checks that a notification during a read in the background makes
// the connection due once more a minute later, although the connection was already due.
func TestNotificationDuringADueRead(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		c := h.established(s)
		h.now = c.NextTry.Add(time.Hour)
		s.read = func(context.Context, connector.DataRequest, connector.Sink) (connector.Outcome, error) {
			s.read = soundBooks().read
			must(t, h.DB.Write(t.Context(), func(tx *store.Tx) error {
				bankstore.In(tx).HastenRead(h.domain.ID, c.ID, h.now, h.now.Add(time.Minute))
				return nil
			}))
			return connector.Outcome{}, nil
		}
		for _, want := range []int{1, 1, 0} {
			if read, err := h.RunDue(t.Context(), h.domain); err != nil || read != want {
				t.Errorf("%d read (%v), want %d", read, err, want)
			}
			h.now = h.now.Add(time.Minute)
		}
	})
}
