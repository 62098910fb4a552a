package simulation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/operatorstore"
	"passerelle/internal/servicetest"
	"passerelle/internal/settings"
	"passerelle/internal/simulation"
	"passerelle/internal/store"
	"passerelle/payment"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func client(t *testing.T, s *servicetest.Instance) store.Client {
	t.Helper()
	all, err := s.DB.Clients(t.Context(), s.Domain.ID)
	must(t, err)
	return all[0]
}

func transitions(t *testing.T, s *servicetest.Instance, id passerelle.PaymentID) (states []payment.State) {
	t.Helper()
	steps, err := s.DB.Transitions(t.Context(), s.Domain.ID, id)
	must(t, err)
	for _, step := range steps {
		states = append(states, step.To)
	}
	return states
}

// domain returns the stored domain. A scenario may have moved the domain's clock.
func domain(t *testing.T, s *servicetest.Instance) passerelle.Domain {
	t.Helper()
	d, err := s.DB.Domain(t.Context(), s.Domain.ID)
	must(t, err)
	return d
}

// TestScenariosEndAsTheySay plays scenarios one after the other, and checks the states and the
// error codes of their payments.
func TestScenariosEndAsTheySay(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		must(t, settings.Set(t.Context(), s.DB, s.Domain.ID, map[string]string{settings.PeriodicEnabled: "1"}, time.Now()))
		for name, want := range map[string]string{
			"plain": "created validating pending done ", "refused-at-bank": "created validating rejected CancelledByUser",
			"abandoned-by-client": "created rejected CancelledByClient", "never-validated": "created expired ", "amount-7122": "created validating pending done ",
			"amount-7123": "created validating pending done ", "amount-7124": "created validating pending done ", "amount-7125": "created validating pending done ",
			"odd-duplicate": "created validating pending done ", "payer-115": "created validating rejected insufficientFunds",
			"periodic-endless": "created validating pending ", "british": "created validating pending done ",
		} {
			p, err := s.Simulation.Play(t.Context(), domain(t, s), name, client(t, s))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			var went []string
			for _, state := range transitions(t, s, p.ID) {
				went = append(went, string(state))
			}
			if got := strings.Join(append(went, string(p.ErrorCode)), " "); got != want {
				t.Errorf("%s went %q, want %q", name, got, want)
			}
			if p.ClientState != name {
				t.Errorf("%s says of itself that it is %q", name, p.ClientState)
			}
		}
	})
}

func TestWhatIsNotPlayed(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		live := s.Domain
		live.Kind = passerelle.Live
		for name, c := range map[string]struct {
			do   func(ctx context.Context) error
			kind error
		}{
			"no such scenario": {func(ctx context.Context) error {
				_, err := s.Simulation.Play(ctx, s.Domain, "nothing", client(t, s))
				return err
			}, passerelle.Invalid},
			"another configuration": {func(ctx context.Context) error {
				_, err := s.Simulation.Play(ctx, s.Domain, "periodic-endless", client(t, s))
				return err
			}, passerelle.Conflict},
			"a live domain": {func(ctx context.Context) error {
				_, err := s.Simulation.Play(ctx, live, "plain", client(t, s))
				return err
			}, passerelle.NotFound},
			"its clock": {func(ctx context.Context) error {
				_, _, err := s.Simulation.Move(ctx, live, simulation.ClockChange{Advance: "1h"})
				return err
			}, passerelle.NotFound},
			"what is due":  {func(ctx context.Context) error { _, err := s.Simulation.Run(ctx, live); return err }, passerelle.NotFound},
			"its receiver": {func(ctx context.Context) error { return s.Simulation.Forget(ctx, live) }, passerelle.NotFound},
			"a login":      {func(ctx context.Context) error { _, err := s.Simulation.Connect(ctx, s.Domain, "nothing"); return err }, passerelle.Invalid},
			"its logins":   {func(ctx context.Context) error { _, err := s.Simulation.Connect(ctx, live, "one"); return err }, passerelle.NotFound},
		} {
			if err := c.do(t.Context()); !errors.Is(err, c.kind) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n, err := s.DB.CountPayments(t.Context(), store.PaymentFilter{Domain: s.Domain.ID}, 1000); n != 0 || err != nil {
			t.Errorf("%d payments were made, %v", n, err)
		}
	})
}

func TestLoginsMakeConnections(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		for word, want := range map[string]passerelle.ConnectionState{"": "", "otp": passerelle.AdditionalInformationNeeded, "one": "", "down": passerelle.WebsiteUnavailable} {
			made, err := s.Simulation.Connect(t.Context(), s.Domain, word)
			if err != nil || made.State != want {
				t.Errorf("login %q is %q, %v; want %q", word, made.State, err, want)
			}
		}
	})
}

// TestActsAreOnRecord checks that the audit log contains each act that happened, and no refused
// act.
func TestActsAreOnRecord(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		ctx := t.Context()
		act := func(name, subject string) store.Audit {
			return store.Audit{Domain: s.Domain.ID, At: time.Now(), Act: name, Subject: subject}
		}
		_, _, err := s.Simulation.Move(ctx, s.Domain, simulation.ClockChange{Set: "2000-01-01 00:00:00", Zone: time.UTC}, act("backwards", ""))
		if !errors.Is(err, passerelle.Invalid) {
			t.Errorf("backwards: %v", err)
		}
		moved, _, err := s.Simulation.Move(ctx, s.Domain, simulation.ClockChange{Advance: "1h", Zone: time.UTC}, act("clock", ""))
		must(t, err)
		_, err = s.Simulation.Run(ctx, moved, act("run", ""))
		must(t, err)
		p, err := s.Simulation.Play(ctx, moved, "never-approved", client(t, s), act("play", "payment"))
		must(t, err)
		must(t, s.Simulation.Forget(ctx, domain(t, s), act("empty", "")))
		made, err := s.Simulation.Connect(ctx, domain(t, s), "one", act("connect", "user"))
		must(t, err)
		all, err := operatorstore.From(s.DB).Audits(ctx, operatorstore.AuditFilter{Domain: s.Domain.ID}, store.Window{Limit: 100})
		must(t, err)
		var got []string
		subjects := map[string]int64{}
		for _, a := range all {
			got = append([]string{a.Act}, got...)
			subjects[a.Act+" "+a.Subject] = a.SubjectID
		}
		if strings.Join(got, " ") != "clock run play empty connect" || subjects["play payment"] != int64(p.ID) || subjects["connect user"] != int64(made.User) {
			t.Errorf("on record: %v, %v", got, subjects)
		}
	})
}

// TestTheClockHasALimit advances a running clock to its limit. Each advance must move the clock or
// fail.
func TestTheClockHasALimit(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		d := domain(t, s)
		far := passerelle.Clock{Offset: (250*365 - 500) * 24 * time.Hour}
		must(t, s.DB.Write(t.Context(), func(tx *store.Tx) error { tx.SetClock(d.ID, d.Clock, far); return nil }))
		change := simulation.ClockChange{Advance: "400d", Zone: time.UTC}
		moved, _, err := s.Simulation.Move(t.Context(), domain(t, s), change)
		must(t, err)
		if moved.Clock.Offset < far.Offset+399*24*time.Hour {
			t.Errorf("the clock is %s ahead", moved.Clock.Offset)
		}
		if _, _, err := s.Simulation.Move(t.Context(), moved, change); !errors.Is(err, passerelle.Invalid) {
			t.Errorf("beyond the limit: %v", err)
		}
	})
}
