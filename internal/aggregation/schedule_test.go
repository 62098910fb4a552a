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
	"passerelle/internal/aggregation"
	"passerelle/internal/settings"
)

func ending(o connector.Outcome) reading {
	return func(context.Context, connector.DataRequest, connector.Sink) (connector.Outcome, error) { return o, nil }
}

// waits returns the consecutive pauses before a connection is read without a request. It checks
// that the connection is read when it is due, and not a second before.
func (h *fixture) waits(id passerelle.ConnectionID, times int) (waits []time.Duration) {
	h.t.Helper()
	for range times {
		c, err := h.Connection(h.t.Context(), h.domain, h.user.ID, id)
		must(h.t, err)
		if c.NextTry == nil {
			return waits
		}
		waits = append(waits, c.NextTry.Sub(h.now))
		h.now = c.NextTry.Add(-time.Second)
		early := h.sync()
		h.now = *c.NextTry
		if n := h.sync(); early != 0 || n != 1 {
			h.t.Errorf("%d reads before connection %d is due, and %d then", early, id, n)
		}
	}
	return waits
}

// TestRetriesByKindOfError checks the pauses before a failed connection is read again without a
// request.
func TestRetriesByKindOfError(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		const hour, day = time.Hour, 24 * time.Hour
		byItself := []time.Duration{hour, 2 * hour, 4 * hour, 8 * hour, 16 * hour, day, day}
		for _, test := range []struct {
			outcome connector.Outcome
			want    []time.Duration
		}{
			{connector.Outcome{State: passerelle.Wrongpass}, []time.Duration{12 * hour, 7 * day, 7 * day}},
			{connector.Outcome{State: passerelle.WebsiteUnavailable}, byItself},
			{connector.Outcome{State: passerelle.Bug}, byItself},
			{connector.Outcome{State: passerelle.RateLimiting}, byItself},
			{connector.Outcome{State: passerelle.RateLimiting, RetryAfter: 3 * hour}, []time.Duration{3 * hour, 3 * hour, 4 * hour, 8 * hour}},
			{connector.Outcome{State: passerelle.SCARequired}, nil},
			{connector.Outcome{State: passerelle.WebauthRequired, URL: "https://bank.example/"}, nil},
			{connector.Outcome{State: passerelle.AdditionalInformationNeeded, Fields: []connector.Field{{Name: "otp"}}}, nil},
			{connector.Outcome{State: passerelle.Decoupled}, nil},
			{connector.Outcome{State: passerelle.ActionNeeded}, nil},
			{connector.Outcome{State: passerelle.ActionNeeded, RetryAfter: day}, []time.Duration{day, day, day}},
			{connector.Outcome{State: passerelle.PasswordExpired}, nil},
			{connector.Outcome{State: passerelle.NotSupported}, nil},
		} {
			id := h.shared(s)
			s.read = ending(test.outcome)
			_, err := h.resume(id)
			must(t, err)
			if got := h.waits(id, len(test.want)+1)[:]; len(test.want) == 0 && len(got) > 0 || !slices.Equal(got[:min(len(got), len(test.want))], test.want) {
				t.Errorf("%s: %v, want %v", test.outcome.State, got, test.want)
			}
			s.read = soundBooks().read
			_, err = h.resume(id)
			must(t, err)
			if s.read = ending(connector.Outcome{State: passerelle.Bug}); !slices.Equal(h.waits(id, 2)[1:], []time.Duration{hour}) {
				t.Errorf("%s: success is not the end of a row of failures", test.outcome.State)
			}
			must(t, h.Disconnect(t.Context(), h.domain, h.user.ID, id))
		}
	})
}

// TestSchedulesThatAreSet checks that settings of the domain and of the connection decide whether a
// connection is read, and how often.
func TestSchedulesThatAreSet(t *testing.T) {
	const day = 24 * time.Hour
	no := false
	for name, test := range map[string]struct {
		keys        map[string]string
		inactive    *bool
		outcome     connector.Outcome
		least, most time.Duration
	}{
		"every day":             {least: 9 * day / 10, most: day},
		"every third day":       {keys: map[string]string{settings.AutosyncFrequency: "3"}, least: 27 * day / 10, most: 3 * day},
		"never":                 {keys: map[string]string{settings.AutosyncEnabled: "0"}},
		"not this one":          {inactive: &no},
		"no wrong password":     {keys: map[string]string{settings.RetryWrongpass: "0"}, outcome: connector.Outcome{State: passerelle.Wrongpass}},
		"not this one, failing": {inactive: &no, outcome: connector.Outcome{State: passerelle.Bug}},
	} {
		t.Run(name, func(t *testing.T) {
			amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
				id := h.shared(s)
				if test.keys != nil {
					must(t, settings.Set(t.Context(), h.DB, h.domain.ID, test.keys, h.now))
				}
				if s.read = soundBooks().read; test.outcome.State != "" {
					s.read = ending(test.outcome)
				}
				c, err := h.Resume(t.Context(), h.domain, h.user.ID, id, aggregation.Request{Active: test.inactive})
				must(t, err)
				if test.most == 0 && c.NextTry != nil || test.most > 0 && (c.NextTry == nil || c.NextTry.Before(h.now.Add(test.least)) || c.NextTry.After(h.now.Add(test.most))) {
					t.Errorf("at %s the next read is at %v", h.now, c.NextTry)
				}
			})
		})
	}
}

// Without the user, a connection may be read four times a day. TestFourReadsADayWithoutThePerson
// checks that the fifth read waits until a day after the first read. Reads with the user have no
// limit.
func TestFourReadsADayWithoutThePerson(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id, first := h.shared(s), h.now
		absent := func(want string) {
			t.Helper()
			_, err := h.Resume(t.Context(), h.domain, h.user.ID, id, aggregation.Request{Absent: true})
			if got := names(h.events()); err != nil || got != want {
				t.Errorf("at %s: events %s (%v), want %s", h.now, got, err, want)
			}
		}
		for range 4 {
			absent(allRead)
			h.now = h.now.Add(time.Hour)
		}
		absent("")
		if state, err := h.resume(id); err != nil || state != "" || names(h.events()) != allRead {
			t.Errorf("with the person: %q (%v)", state, err)
		}
		c, err := h.Connection(t.Context(), h.domain, h.user.ID, id)
		must(t, err)
		h.now = c.NextTry.Add(-4 * time.Hour)
		absent("")
		c, err = h.Connection(t.Context(), h.domain, h.user.ID, id)
		if must(t, err); c.NextTry == nil || !c.NextTry.Equal(first.Add(24*time.Hour)) {
			t.Errorf("the next read is at %v, not a day after %s", c.NextTry, first)
		}
		h.now = *c.NextTry
		if n := h.sync(); n != 1 || names(h.events()) != allRead {
			t.Errorf("a day later %d are read", n)
		}
	})
}

// TestReplicasShareWhatIsDue checks that each connection is read once, by the first replica that
// claims it, even when another replica listed it before.
func TestReplicasShareWhatIsDue(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		const connections = 10
		for range connections {
			h.shared(s)
		}
		var (
			mu    sync.Mutex
			reads = map[passerelle.ConnectionID]int{}
			begun atomic.Bool
			other = &aggregation.Aggregation{
				DB: h.DB, Connectors: h.Connectors, Now: h.Now, Wake: h.Wake, Erase: h.Erase, Sync: h.Sync, Fetch: h.Fetch, Background: h.Background, Name: "other", Log: h.Log,
			}
		)
		s.read = func(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			mu.Lock()
			reads[req.Connection]++
			mu.Unlock()
			if begun.CompareAndSwap(false, true) { // the first replica still has the other connections in its list
				_, err := other.SyncDue(ctx, h.domain)
				must(t, err)
			}
			return soundBooks().read(ctx, req, out)
		}
		h.now = h.now.Add(24 * time.Hour)
		h.sync()
		for id, n := range reads {
			if n != 1 {
				t.Errorf("connection %d is read %d times", id, n)
			}
		}
		if len(reads) != connections {
			t.Errorf("%d connections are read", len(reads))
		}
	})
}

// TestBrokenOffConnectionsAreRead checks that a connection is read again if the process ended
// during the first read, even when the domain reads nothing in the background.
func TestBrokenOffConnectionsAreRead(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		must(t, settings.Set(t.Context(), h.DB, h.domain.ID, map[string]string{settings.AutosyncEnabled: "0"}, h.now))
		process, stop := context.WithCancel(t.Context())
		h.Outlast = func(context.Context) (context.Context, func()) { return process, func() {} }
		s.read = func(ctx context.Context, _ connector.DataRequest, _ connector.Sink) (connector.Outcome, error) {
			stop()
			<-ctx.Done()
			return connector.Outcome{}, ctx.Err()
		}
		c, err := h.connect("anna", "1234")
		if !errors.Is(err, context.Canceled) || h.loaded(c.ID).State != passerelle.Validating {
			t.Fatalf("a stop leaves %+v (%v)", c, err)
		}
		h.Outlast, s.read = nil, soundBooks().read
		for _, want := range []int{1, 0} {
			if got := h.sync(); got != want {
				t.Errorf("%d connections are read, want %d", got, want)
			}
		}
		if c := h.loaded(c.ID); c.State != "" || c.Established == nil {
			t.Errorf("after the stop: %+v", c)
		}
	})
}

// TestSharingDataOfAnotherConnection checks that ChangeSharing refuses an account of another
// connection.
func TestSharingDataOfAnotherConnection(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		one, other := h.established(s), h.established(s)
		for _, a := range h.accounts(true) {
			choice := aggregation.Sharing{Accounts: map[passerelle.AccountID]bool{a.ID: true}, Origin: "webview"}
			err := h.ChangeSharing(t.Context(), h.domain, h.user.ID, one.ID, choice)
			if foreign := a.Connection == other.ID; errors.Is(err, passerelle.NotFound) != foreign || (err != nil) != foreign {
				t.Errorf("account %d of connection %d: %v", a.ID, a.Connection, err)
			}
		}
	})
}

// TestWrongPasswordAfterAnOutage checks that the first retry of a wrong password is after half a
// day, even when the site was unavailable before.
func TestWrongPasswordAfterAnOutage(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		s.read = ending(connector.Outcome{State: passerelle.WebsiteUnavailable})
		for range 3 {
			_, err := h.resume(id)
			must(t, err)
		}
		s.read = ending(connector.Outcome{State: passerelle.Wrongpass})
		want := []time.Duration{4 * time.Hour, 12 * time.Hour, 7 * 24 * time.Hour}
		if got := h.waits(id, len(want)); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// The pause after a second wrong password is longer than the first pause.
// TestWrongPasswordInTheBackground checks that this also holds when both reads run in the
// background.
func TestWrongPasswordInTheBackground(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		s.read = ending(connector.Outcome{State: passerelle.Wrongpass})
		for _, want := range []time.Duration{12 * time.Hour, 7 * 24 * time.Hour} {
			_, err := h.Resume(t.Context(), h.domain, h.user.ID, id, aggregation.Request{Background: true})
			must(t, err)
			h.waiting[0](t.Context())
			h.waiting = nil
			if got := h.loaded(id).NextTry.Sub(h.now); got != want {
				t.Errorf("the next try is after %s, want %s", got, want)
			}
		}
	})
}
