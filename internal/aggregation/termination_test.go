package aggregation_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// TestConsentsWithSealedMemory checks that a memory that cannot be decrypted affects only its own
// consent. The connector must not be called without this memory, and must be called when the memory
// can be decrypted again.
func TestConsentsWithSealedMemory(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		got := map[passerelle.ConnectionID]string{}
		consents := &consenting{hostileConnector: s, terminate: func(_ context.Context, req connector.DataRequest) error {
			got[req.Connection] = string(req.Memory)
			return nil
		}}
		registry, err := connector.NewRegistry(consents)
		must(t, err)
		h.Connectors = registry
		want := map[passerelle.ConnectionID]string{}
		var ids []passerelle.ConnectionID
		for i := range 3 {
			memory := fmt.Sprintf("token %d", i)
			s.read = ending(connector.Outcome{Memory: []byte(memory)})
			c, err := h.connect("anna", "1234")
			must(t, err)
			want[c.ID], ids = memory, append(ids, c.ID)
		}
		for _, id := range ids {
			must(t, h.Disconnect(t.Context(), h.domain, h.user.ID, id))
		}
		storetest.Break(t, h.url, fmt.Sprintf(`UPDATE connection SET credentials = memory, memory = (SELECT x.memory FROM connection x WHERE x.id = %d) WHERE id = %d`, ids[1], ids[0]))
		must(t, h.TerminateConsents(t.Context(), h.domain))
		if diff := cmp.Diff(map[passerelle.ConnectionID]string{ids[1]: want[ids[1]], ids[2]: want[ids[2]]}, got); diff != "" {
			t.Errorf("with a sealed memory, the connector got (-want +got):\n%s", diff)
		}
		storetest.Break(t, h.url, fmt.Sprintf(`UPDATE connection SET memory = credentials WHERE id = %d`, ids[0]))
		h.now = h.now.Add(time.Hour)
		must(t, h.TerminateConsents(t.Context(), h.domain))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in the end, the connector got (-want +got):\n%s", diff)
		}
	})
}

// TestConsentsThatOutliveTheirConnection checks that the service tries to end a consent at least
// once a day, until the consent has expired.
func TestConsentsThatOutliveTheirConnection(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		tries := 0
		registry, err := connector.NewRegistry(&consenting{hostileConnector: s, terminate: func(context.Context, connector.DataRequest) error {
			tries++
			return errors.New("the bank is gone")
		}})
		must(t, err)
		h.Connectors = registry
		until := h.now.AddDate(0, 0, 30)
		s.read = ending(connector.Outcome{Memory: []byte("token"), ConsentUntil: &until})
		c, err := h.connect("anna", "1234")
		must(t, err)
		must(t, h.Disconnect(t.Context(), h.domain, h.user.ID, c.ID))
		run := func(days int) (before int) {
			before = tries
			for range days {
				h.domain.Clock.Offset += 24 * time.Hour
				must(t, h.TerminateConsents(t.Context(), h.domain))
			}
			return tries - before
		}
		if got := run(29); got != 29 {
			t.Errorf("%d tries in 29 days", got)
		}
		if failing, err := bankstore.From(h.DB).TerminationsFailing(t.Context(), h.domain.ID, 29); failing != 1 || err != nil {
			t.Errorf("%d consents have failed often, %v", failing, err)
		}
		if got := run(5); got != 1 && got != 2 {
			t.Errorf("%d tries around the end of the consent", got)
		}
	})
}

// TestConsentsThatEndBeforeTheirConnection checks that a termination is over when the consent has
// expired, but at the earliest a week after the deletion.
func TestConsentsThatEndBeforeTheirConnection(t *testing.T) {
	deleted := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ until, over int }{{-30, 7}, {0, 7}, {5, 7}, {30, 30}} {
		until, over := deleted.AddDate(0, 0, c.until), deleted.AddDate(0, 0, c.over)
		one := bankstore.Termination{Deleted: deleted, Until: &until}
		if one.Over(over.Add(-time.Second)) || !one.Over(over) {
			t.Errorf("a consent until day %d is not over on day %d", c.until, c.over)
		}
	}
}

// TestConsentsOfDeletedUsers checks that the consents of a deleted user are ended at the
// institution at once, also in a sandbox whose clock is behind the real time.
func TestConsentsOfDeletedUsers(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		ended := 0
		registry, err := connector.NewRegistry(&consenting{hostileConnector: s, terminate: func(context.Context, connector.DataRequest) error {
			ended++
			return nil
		}})
		must(t, err)
		h.Connectors = registry
		h.domain.Clock.Offset = -365 * 24 * time.Hour
		s.read = ending(connector.Outcome{Memory: []byte("token")})
		_, err = h.connect("anna", "1234")
		must(t, err)
		must(t, h.DeleteUser(t.Context(), h.domain, h.user.ID))
		must(t, h.TerminateConsents(t.Context(), h.domain))
		if ended != 1 {
			t.Errorf("%d consents were ended", ended)
		}
	})
}

// otherConsenting is a consenting connector with a UUID of its own.
type otherConsenting struct {
	*otherConnector
	terminate func(context.Context, connector.DataRequest) error
}

func (c *otherConsenting) Terminate(ctx context.Context, req connector.DataRequest) error {
	return c.terminate(ctx, req)
}

// TestASilentInstitutionDelaysOnlyItsOwnConsents checks that consents at other institutions end
// while an institution does not respond. Each pass must wait only once for that institution.
func TestASilentInstitutionDelaysOnlyItsOwnConsents(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		s.read = ending(connector.Outcome{Memory: []byte("token")})
		tries, answer, ended := 0, make(chan struct{}), make(chan struct{}, 1)
		silent := &otherConsenting{otherConnector: &otherConnector{hostileConnector{DataReader: s.DataReader, read: s.read}}, terminate: func(context.Context, connector.DataRequest) error {
			tries++
			<-answer
			return context.DeadlineExceeded
		}}
		quick := &consenting{hostileConnector: s, terminate: func(context.Context, connector.DataRequest) error {
			ended <- struct{}{}
			return nil
		}}
		registry, err := connector.NewRegistry(silent, quick)
		must(t, err)
		h.Connectors = registry
		h.connectAll(otherUUID, 2)
		h.connectAll(sandbox.TestConnector, 1)
		must(t, h.DisconnectAll(t.Context(), h.domain, h.user.ID))
		others, err := bankstore.From(h.DB).TerminationsDue(t.Context(), h.domain.ID, h.now, []string{otherUUID}, 10)
		if err != nil || len(others) != 1 || others[0].Connector != sandbox.TestConnector {
			t.Errorf("without the silent institution, %+v are due (%v)", others, err)
		}
		over := make(chan error, 1)
		go func() { over <- h.TerminateConsents(t.Context(), h.domain) }()
		happens(t, "the consent at the other institution ends", ended)
		close(answer)
		must(t, <-over)
		if tries != 1 {
			t.Errorf("a pass waited %d times for the silent institution", tries)
		}
		must(t, h.TerminateConsents(t.Context(), h.domain))
		if tries != 2 {
			t.Errorf("%d tries after the next pass, want one for each consent", tries)
		}
	})
}

// TestASilentInstitutionOfExpiredConsents checks that a pass waits only once for an institution that
// does not respond, even if its consents have expired and the service therefore gives up.
func TestASilentInstitutionOfExpiredConsents(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		tries := 0
		registry, err := connector.NewRegistry(&consenting{hostileConnector: s, terminate: func(context.Context, connector.DataRequest) error {
			tries++
			return context.DeadlineExceeded
		}})
		must(t, err)
		h.Connectors = registry
		s.read = ending(connector.Outcome{Memory: []byte("token")})
		h.connectAll(sandbox.TestConnector, 3)
		must(t, h.DisconnectAll(t.Context(), h.domain, h.user.ID))
		h.domain.Clock.Offset += 365 * 24 * time.Hour
		for pass := 1; pass <= 4; pass++ {
			must(t, h.TerminateConsents(t.Context(), h.domain))
			if want := min(pass, 3); tries != want {
				t.Errorf("%d tries after pass %d, want %d", tries, pass, want)
			}
		}
	})
}

// TestASilentInstitutionOfManyDomains checks that a pass over all domains waits only once for an
// institution, also when its connector itself gives up the call after some time.
func TestASilentInstitutionOfManyDomains(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		tries := 0
		slow := &consenting{hostileConnector: s, terminate: func(context.Context, connector.DataRequest) error {
			tries++
			h.now = h.now.Add(20 * time.Second)
			return errors.New("the bank does not respond")
		}}
		ended := 0
		quick := &otherConsenting{otherConnector: &otherConnector{hostileConnector{DataReader: s.DataReader}}, terminate: func(context.Context, connector.DataRequest) error {
			ended++
			return nil
		}}
		s.read = ending(connector.Outcome{Memory: []byte("token")})
		quick.read = s.read
		registry, err := connector.NewRegistry(slow, quick)
		must(t, err)
		h.Connectors = registry
		first := h.domain
		other := passerelle.Domain{Name: "e", Kind: passerelle.Sandbox, BaseURL: "https://e.example/2.0", Created: noon}
		must(t, h.DB.Write(t.Context(), func(tx *store.Tx) error { return tx.CreateDomain(&other, "e.example") }))
		for _, d := range []passerelle.Domain{first, other} {
			h.domain = d
			h.user, err = h.CreateUser(t.Context(), d, true, func(*store.Tx, passerelle.User) error { return nil })
			must(t, err)
			h.connectAll(sandbox.TestConnector, 2)
			h.connectAll(otherUUID, 1)
			must(t, h.DisconnectAll(t.Context(), d, h.user.ID))
		}
		must(t, h.TerminateConsents(t.Context(), first, other))
		if tries != 1 || ended != 2 {
			t.Errorf("%d calls to the slow institution, %d ended consents at the other one; want 1 and 2", tries, ended)
		}
	})
}
