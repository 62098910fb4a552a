package aggregation_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/aggregation"
)

// otherConnector is a second connector, with a UUID of its own.
type otherConnector struct{ hostileConnector }

const otherUUID = "5b0c1d7e-0f5c-4b57-9d5e-0000000000ac"

func (s *otherConnector) Profile() connector.Profile {
	p := s.hostileConnector.Profile()
	p.UUID, p.ID, p.Name, p.Sources = otherUUID, 98, "Other", slices.Clone(p.Sources)
	for i := range p.Sources {
		p.Sources[i].ID += 9000
	}
	return p
}

func (h *fixture) connectAll(uuid string, many int) {
	h.t.Helper()
	for range many {
		_, err := h.Connect(h.t.Context(), h.domain, h.user.ID, aggregation.Request{
			Connector: uuid, Source: "directaccess", Values: map[string]string{"login": "anna", "password": "1234"},
		})
		must(h.t, err)
	}
}

// TestASlowInstitutionDelaysOnlyItself checks that connections of other institutions are read while
// an institution does not respond, even if its own connections have been due for longer. At most
// eight connections of an institution may be read at the same time.
func TestASlowInstitutionDelaysOnlyItself(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, quick *hostileConnector) {
		slow := &otherConnector{hostileConnector{DataReader: quick.DataReader, read: soundBooks().read}}
		registry, err := connector.NewRegistry(quick, slow)
		must(t, err)
		h.Connectors = registry
		const many, places = 110, 8
		h.connectAll(otherUUID, many)
		h.now = h.now.Add(time.Hour)
		h.connectAll(sandbox.TestConnector, 2*places)
		h.events()
		answer, begun, ended := make(chan struct{}), make(chan passerelle.ConnectionID, many), make(chan passerelle.ConnectionID, many)
		slow.read = func(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			begun <- req.Connection
			<-answer
			return soundBooks().read(ctx, req, out)
		}
		quick.read = func(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			defer func() { ended <- req.Connection }()
			return soundBooks().read(ctx, req, out)
		}
		h.now = h.now.Add(24 * time.Hour)
		must(t, h.BeginDue(t.Context(), h.domain))
		for range 2 * places {
			<-ended
		}
		for range places {
			<-begun
		}
		if len(begun) != 0 {
			t.Errorf("more than %d connections of the slow institution are read at the same time", places)
		}
		close(answer)
		if _, err := h.SyncDue(t.Context(), h.domain); err != nil || len(begun) != many-places {
			t.Errorf("%d further connections of the slow institution are read (%v), want %d", len(begun), err, many-places)
		}
		h.AwaitReaders()
		if n := h.sync(); n != 0 || len(ended) != 0 {
			t.Errorf("%d connections are still due, and %d of the other institution were read again", n, len(ended))
		}
		if got := h.events(); !slices.ContainsFunc(got, func(e event) bool { return e.name == "USER_SYNCED" }) {
			t.Error("USER_SYNCED is missing")
		}
	})
}

// fragileConnector is a connector that panics when the service asks for its profile.
type fragileConnector struct {
	*otherConnector
	breaks atomic.Bool
}

func (f *fragileConnector) Profile() connector.Profile {
	if f.breaks.Load() {
		panic("the connector is broken")
	}
	return f.otherConnector.Profile()
}

// TestAPanicEndsOnlyItsRead checks that a panic outside the call of a connector does not end the
// process, and that other connections are read.
func TestAPanicEndsOnlyItsRead(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		fragile := &fragileConnector{otherConnector: &otherConnector{hostileConnector{DataReader: s.DataReader, read: soundBooks().read}}}
		registry, err := connector.NewRegistry(s, fragile)
		must(t, err)
		h.Connectors = registry
		h.connectAll(otherUUID, 1)
		h.connectAll(sandbox.TestConnector, 1)
		h.events()
		fragile.breaks.Store(true)
		h.now = h.now.Add(24 * time.Hour)
		if n, err := h.SyncDue(t.Context(), h.domain); n != 2 || err == nil || !strings.Contains(err.Error(), "the connector is broken") {
			t.Errorf("%d connections were due, %v", n, err)
		}
		if got := names(h.events()); got != someFetched {
			t.Errorf("events %s", got)
		}
	})
}
