package aggregation_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

func (h *fixture) request(e store.Execution, background bool) aggregation.Request {
	return aggregation.Request{
		Connector: sandbox.TestConnector, Source: "directaccess", Values: map[string]string{"login": "anna", "password": "1234"}, Execution: e, Background: background,
	}
}

// TestFormsConnectOnce sends a form twice. The second request must create nothing and call no
// institution.
func TestFormsConnectOnce(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		calls := 0
		s.read = func(context.Context, connector.DataRequest, connector.Sink) (connector.Outcome, error) {
			calls++
			return connector.Outcome{State: passerelle.ActionNeeded}, nil
		}
		form := store.FormExecution(h.domain.ID, "a form")
		first, err := h.Connect(t.Context(), h.domain, h.user.ID, h.request(form, false))
		must(t, err)
		h.events()
		for _, background := range []bool{false, true} {
			if _, err := h.Connect(t.Context(), h.domain, h.user.ID, h.request(form, background)); !errors.Is(err, store.ErrRepeated) {
				t.Errorf("again: %v", err)
			}
		}
		made, err := h.DB.MadeFor(t.Context(), form)
		must(t, err)
		n, err := bankstore.From(h.DB).CountConnections(t.Context(), h.domain.ID, h.user.ID)
		must(t, err)
		if got := names(h.events()); passerelle.ConnectionID(made) != first.ID || n != 1 || calls != 1 || got != "" {
			t.Errorf("the form made %d, not %d; %d connections, %d calls, events %s", made, first.ID, n, calls, got)
		}
	})
}

// TestConnectionsOfFormsAreRead ends a process before the first read of a connection that a form
// has made. Repetitions of the form return this connection, so another process must read it.
func TestConnectionsOfFormsAreRead(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		s.read = func(context.Context, connector.DataRequest, connector.Sink) (connector.Outcome, error) {
			storetest.Lapse(t, h.url)
			h.now, s.read = h.now.Add(2*time.Minute), soundBooks().read
			if n := h.sync(); n != 1 {
				t.Errorf("%d connections are read after the crash", n)
			}
			return connector.Outcome{}, errors.New("the process has ended")
		}
		c, _ := h.Connect(t.Context(), h.domain, h.user.ID, h.request(store.FormExecution(h.domain.ID, "a form"), false))
		if c := h.loaded(c.ID); c.State != "" || c.Established == nil {
			t.Errorf("the connection is %+v", c)
		}
	})
}

// TestUserDeletedWhileConnecting deletes the user after Connect has loaded this user. Connect must
// find that the user does not exist, and create nothing.
func TestUserDeletedWhileConnecting(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		for _, background := range []bool{false, true} {
			u, err := h.CreateUser(t.Context(), h.domain, true, func(*store.Tx, passerelle.User) error { return nil })
			must(t, err)
			h.events()
			h.Now = func() time.Time { // Connect asks for the time after it has loaded the user
				h.Now = func() time.Time { return h.now }
				must(t, h.DeleteUser(t.Context(), h.domain, u.ID))
				return h.now
			}
			_, err = h.Connect(t.Context(), h.domain, u.ID, h.request(store.Execution{}, background))
			if got := names(h.events()); !errors.Is(err, passerelle.NotFound) || got != "USER_DELETED" || len(h.waiting) != 0 {
				t.Errorf("%v, events %s, %d reads", err, got, len(h.waiting))
			}
		}
	})
}

// TestPageOfTheInstitutionOnce sends the wish for the page of an institution twice, from the same
// page of the service. The second request must get the same address, without a call to the
// institution.
func TestPageOfTheInstitutionOnce(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c, _ := h.visiting(landing)
		seen := c.Sync
		wish := aggregation.Webauth{Connection: c.ID, Landing: landing, Seen: &seen}
		first, err := h.begin(wish)
		must(t, err)
		after := h.loaded(c.ID)
		h.events()
		again, err := h.begin(wish)
		must(t, err)
		if got := names(h.events()); again != first || h.loaded(c.ID).Sync != after.Sync || after.Sync != seen+1 || got != "" {
			t.Errorf("first %s, then %s, events %s, reads %d, %d, %d", first, again, got, seen, after.Sync, h.loaded(c.ID).Sync)
		}
		wish.Seen = &after.Sync
		_, err = h.begin(wish)
		must(t, err)
		if now := h.loaded(c.ID).Sync; now != after.Sync+1 {
			t.Errorf("from the newest page: read %d after %d", now, after.Sync)
		}
	})
}

// TestPageOfTheInstitutionFromElsewhere sends the wish for the page of an institution after a read
// whose page leads back to another landing. The service must read again, so that the page leads
// back to the landing of the wish.
func TestPageOfTheInstitutionFromElsewhere(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c, _ := h.visiting(landing)
		seen, other := c.Sync, landing
		other.State = "phone"
		_, err := h.begin(aggregation.Webauth{Connection: c.ID, Landing: other, Seen: &seen})
		must(t, err)
		for _, want := range []int64{seen + 2, seen + 2} {
			_, err = h.begin(aggregation.Webauth{Connection: c.ID, Landing: landing, Seen: &seen})
			must(t, err)
			if got := h.loaded(c.ID).Sync; got != want {
				t.Errorf("read %d, want %d", got, want)
			}
		}
		arrival, err := h.returns(h.wayBack(c.ID), h.granted(c, "one"))
		must(t, err)
		if want := "https://app.example/back?id_connection=1&state=opaque"; arrival.URL != want {
			t.Errorf("arrives at %s, want %s", arrival.URL, want)
		}
	})
}
