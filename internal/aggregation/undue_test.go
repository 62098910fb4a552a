package aggregation_test

import (
	"fmt"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

func (h *fixture) established(s *hostileConnector) bankstore.Connection {
	h.t.Helper()
	s.read = soundBooks().read
	c, err := h.connect("anna", "1234")
	must(h.t, err)
	return c
}

func (h *fixture) loaded(id passerelle.ConnectionID) bankstore.Connection {
	h.t.Helper()
	c, err := h.Connection(h.t.Context(), h.domain, h.user.ID, id)
	must(h.t, err)
	return c
}

// TestConnectionsThatCannotBeRead checks that a connection without its connector, or with secrets
// whose key this process lacks, pauses for an hour and stays unlocked. It must not delay other
// connections, or the removal of connections that were not established.
func TestConnectionsThatCannotBeRead(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(h *fixture, c bankstore.Connection)
		fails bool
	}{
		"no connector": {spoil: func(h *fixture, c bankstore.Connection) {
			storetest.Break(h.t, h.url, fmt.Sprintf(`UPDATE connection SET connector_uuid = 'removed' WHERE id = %d`, c.ID))
		}},
		"no secrets": {spoil: func(h *fixture, c bankstore.Connection) {
			must(h.t, h.otherKeys().Write(h.t.Context(), func(tx *store.Tx) error {
				return bankstore.In(tx).SetConnectionValues(c, map[string]string{"login": "anna", "password": "1234"})
			}))
		}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
				spoilt, sound := h.established(s), h.established(s)
				s.read = ending(connector.Outcome{State: passerelle.ActionNeeded})
				abandoned, err := h.connect("anna", "1234")
				must(t, err)
				test.spoil(h, spoilt)
				h.now = noon.Add(48 * time.Hour)
				s.read = soundBooks().read
				n, err := h.RunDue(t.Context(), h.domain)
				if n != 2 || (err != nil) != test.fails {
					t.Errorf("%d connections are due (%v), want 2", n, err)
				}
				if c := h.loaded(spoilt.ID); c.NextTry == nil || !c.NextTry.Equal(h.now.Add(time.Hour)) || c.Locked || c.State != "" {
					t.Errorf("the connection is %+v, want the next try in an hour", c)
				}
				if c := h.loaded(sound.ID); !c.LastUpdate.Equal(h.now) {
					t.Errorf("the other connection was read at %s", c.LastUpdate)
				}
				if _, err := h.Connection(t.Context(), h.domain, h.user.ID, abandoned.ID); err == nil {
					t.Error("a connection that was not established is still there")
				}
				if n, err := h.RunDue(t.Context(), h.domain); n != 0 || err != nil {
					t.Errorf("after that, %d connections are due (%v)", n, err)
				}
				if _, err := h.Resume(t.Context(), h.domain, h.user.ID, spoilt.ID, aggregation.Request{}); err == nil || h.loaded(spoilt.ID).Locked {
					t.Errorf("on request: %v", err)
				}
			})
		})
	}
}

// TestConnectionEstablishedAtTheLastMoment checks that the service keeps a connection that its user
// establishes while the service removes unfinished connections.
func TestConnectionEstablishedAtTheLastMoment(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		s.read = ending(connector.Outcome{State: passerelle.ActionNeeded})
		abandoned, err := h.connect("anna", "1234")
		must(t, err)
		late, err := h.connect("anna", "1234")
		must(t, err)
		h.now = noon.Add(48 * time.Hour)
		s.read = soundBooks().read
		deleted := 0
		h.Erase = func() { // called after each deletion
			if deleted++; deleted == 1 {
				_, err := h.resume(late.ID)
				must(t, err)
			}
		}
		must(t, h.ExpireConnections(t.Context(), h.domain))
		if _, err := h.Connection(t.Context(), h.domain, h.user.ID, abandoned.ID); err == nil {
			t.Error("the abandoned connection is still there")
		}
		if c := h.loaded(late.ID); c.State != "" || c.Expire != nil || deleted != 1 {
			t.Errorf("after %d deletions: %+v", deleted, c)
		}
	})
}
