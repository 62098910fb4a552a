package aggregation_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankcall"
	"passerelle/internal/store"
)

// TestBackgroundReadsNameTheirConnector checks that reads in the background count for their
// connector. The reads of a slow institution therefore leave room for those of others.
func TestBackgroundReadsNameTheirConnector(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		var of []string
		h.Background = func(connector string, work func(context.Context)) bool {
			of = append(of, connector)
			return h.later(connector, work)
		}
		_, err := h.Connect(t.Context(), h.domain, h.user.ID, aggregation.Request{
			Connector: sandbox.TestConnector, Source: "directaccess", Values: map[string]string{"login": "anna", "password": "1234"}, Background: true,
		})
		must(t, err)
		c, err := h.connect("anna", "1234")
		must(t, err)
		_, err = h.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{Background: true})
		must(t, err)
		if want := []string{sandbox.TestConnector, sandbox.TestConnector}; !slices.Equal(of, want) {
			t.Errorf("reads of the connectors %q begin, want %q", of, want)
		}
		for _, work := range h.waiting {
			work(t.Context())
		}
	})
}

// waitLimit is the time after which a test fails because something did not happen.
const waitLimit = 30 * time.Second

// happens waits for an event of the test.
func happens[T any](t *testing.T, what string, event <-chan T) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(waitLimit):
		t.Errorf("in vain, the test waits until %s", what)
	}
}

// crowd sends MaxCallers requests of another user, which wait for the institution until the returned
// function is called. It also returns the number of reads.
func (h *fixture) crowd(s *hostileConnector) (*atomic.Int64, func()) {
	h.t.Helper()
	crowd, err := h.CreateUser(h.t.Context(), h.domain, true, func(*store.Tx, passerelle.User) error { return nil })
	must(h.t, err)
	var reads atomic.Int64
	arrived, answer := make(chan struct{}, bankcall.MaxCallers), make(chan struct{})
	s.read = func(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
		if reads.Add(1) <= bankcall.MaxCallers {
			arrived <- struct{}{}
			<-answer
		}
		return soundBooks().read(ctx, req, out)
	}
	var waiting sync.WaitGroup
	for range bankcall.MaxCallers {
		waiting.Go(func() {
			_, _ = h.Connect(h.t.Context(), h.domain, crowd.ID, aggregation.Request{
				Connector: sandbox.TestConnector, Source: "directaccess", Values: map[string]string{"login": "anna", "password": "1234"},
			})
		})
	}
	for range bankcall.MaxCallers {
		happens(h.t, "another request waits for the institution", arrived)
	}
	return &reads, func() { close(answer); waiting.Wait() }
}

// TestASilentInstitutionKeepsFewRequestsWaiting checks that a request for an institution for which
// MaxCallers requests wait is refused and stores nothing. Requests for other institutions must
// succeed.
func TestASilentInstitutionKeepsFewRequestsWaiting(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		registry, err := connector.NewRegistry(s, &otherConnector{hostileConnector{DataReader: s.DataReader, read: soundBooks().read}})
		must(t, err)
		h.Connectors = registry
		c, err := h.connect("anna", "1234")
		must(t, err)
		reads, leave := h.crowd(s)
		refused := func(what string, err error) {
			t.Helper()
			var busy *passerelle.Error
			if !errors.As(err, &busy) || busy.Kind != passerelle.Unavailable || busy.Code != "unavailable" || busy.RetryAfter == 0 {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err = h.connect("anna", "1234")
		refused("a new connection", err)
		_, err = h.resume(c.ID)
		refused("a further read", err)
		all, err := h.SyncAll(t.Context(), h.domain, h.user.ID, true)
		if err != nil || len(all) != 1 || reads.Load() != bankcall.MaxCallers {
			t.Errorf("%d connections (%v), and %d reads", len(all), err, reads.Load())
		}
		h.connectAll(otherUUID, 1)
		leave()
		if state, err := h.resume(c.ID); err != nil || state != "" {
			t.Errorf("afterwards: %q, %v", state, err)
		}
	})
}

// TestASilentInstitutionLeavesRoomInASync checks that a sync of all connections of a user reads
// other institutions while an institution with many connections does not respond.
func TestASilentInstitutionLeavesRoomInASync(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, quick *hostileConnector) {
		silent := &otherConnector{hostileConnector{DataReader: quick.DataReader, read: soundBooks().read}}
		registry, err := connector.NewRegistry(quick, silent)
		must(t, err)
		h.Connectors = registry
		h.connectAll(otherUUID, 10)
		h.connectAll(sandbox.TestConnector, 1)
		answer, ended, synced := make(chan struct{}), make(chan struct{}, 1), make(chan error, 1)
		silent.read = func(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			<-answer
			return soundBooks().read(ctx, req, out)
		}
		quick.read = func(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			defer func() { ended <- struct{}{} }()
			return soundBooks().read(ctx, req, out)
		}
		go func() {
			_, err := h.SyncAll(t.Context(), h.domain, h.user.ID, true)
			synced <- err
		}()
		happens(t, "the other institution is read", ended)
		close(answer)
		must(t, <-synced)
	})
}

// fileReadingConnector is a connector that reads files while takes is true.
type fileReadingConnector struct {
	*hostileConnector
	takes bool
}

func (c *fileReadingConnector) Profile() connector.Profile {
	p := c.hostileConnector.Profile()
	p.Data.TakesFiles = c.takes
	return p
}

// TestRequestsThatNeedNoInstitution checks that a repeated request and the read of a file succeed
// while MaxCallers requests wait for the institution, because they do not call it.
func TestRequestsThatNeedNoInstitution(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		files := &fileReadingConnector{hostileConnector: s}
		registry, err := connector.NewRegistry(files)
		must(t, err)
		h.Connectors = registry
		s.read = s.DataReader.Read
		c, _ := h.visiting(landing)
		seen := c.Sync
		wish := aggregation.Webauth{Connection: c.ID, Landing: landing, Seen: &seen}
		first, err := h.begin(wish)
		must(t, err)
		_, leave := h.crowd(s)
		defer leave()
		if again, err := h.begin(wish); err != nil || again != first {
			t.Errorf("the repeated request leads to %q (%v), want %q", again, err, first)
		}
		files.takes = true
		if state, err := h.resume(c.ID); err != nil || state != "" {
			t.Errorf("the read of a file: %q, %v", state, err)
		}
	})
}
