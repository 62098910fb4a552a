package service_test

import (
	"sync/atomic"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/initiation"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
	"passerelle/payment"
)

func sent(t *testing.T, s *servicetest.Instance, d passerelle.Domain, script string) passerelle.PaymentID {
	t.Helper()
	client, _, err := s.Access.Register(t.Context(), d.ID, "shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Initiation.Create(t.Context(), d, initiation.Creation{By: client.ID, Draft: payment.Draft{
		ClientRedirectURI: "https://shop.example/back",
		Instructions: []payment.Instruction{{
			Amount: passerelle.Money{Minor: 1250, Currency: "EUR"}, Label: script, DateType: payment.FirstOpenDay,
			Beneficiary: passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7699999000000000000000033", Label: "The Shop"},
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Initiation.Validate(t.Context(), d, p.ID, initiation.Choice{Connector: sandbox.TestConnector, WebviewURL: "https://shop.example/pay", Validated: true})
	if err != nil {
		t.Fatal(err)
	}
	return p.ID
}

// TestBusyDomainsDelayNoOthers: while the clock advances, the payment of the first domain is due
// again after each check. The payment of the second domain must become done before the clock stops.
func TestBusyDomainsDelayNoOthers(t *testing.T) {
	const step = 7 * time.Hour // longer than the longest wait between two checks
	var steps, left atomic.Int64
	start := time.Now()
	now := func() time.Time {
		if left.Add(-1) >= 0 {
			steps.Add(1)
		}
		return start.Add(time.Duration(steps.Load()) * step)
	}
	servicetest.Each(t, servicetest.Options{Quiet: true, Now: now}, func(t *testing.T, s *servicetest.Instance) {
		second, err := service.EnsureDomain(t.Context(), s.DB, passerelle.Domain{Name: "second", Kind: passerelle.Sandbox, BaseURL: "https://second.example/2.0", Created: start})
		if err != nil {
			t.Fatal(err)
		}
		sent(t, s, s.Domain, "actn(redirect)/done - x")
		id := sent(t, s, second, "skip/pdng:1h/done - x")
		left.Store(50)
		if err := service.FollowPayments(t.Context(), s.Service); err != nil {
			t.Error(err)
		}
		history, err := s.DB.Transitions(t.Context(), second.ID, id)
		if err != nil {
			t.Fatal(err)
		}
		last, stopped := history[len(history)-1], now()
		if last.To != payment.Done || !last.At.Before(stopped) {
			t.Errorf("the payment of the second domain is %s, %s before the end", last.To, stopped.Sub(last.At))
		}
	})
}

// TestPassesEndUnderConstantWork checks that a pass ends after its time limit although payments are
// due, and that the next pass is then due at once.
func TestPassesEndUnderConstantWork(t *testing.T) {
	service.LimitFollow(t, 0)
	var steps, left, again atomic.Int64
	start := time.Now()
	now := func() time.Time {
		if left.Add(-1) >= 0 {
			steps.Add(1)
		}
		return start.Add(time.Duration(steps.Load()) * 7 * time.Hour)
	}
	servicetest.Each(t, servicetest.Options{Quiet: true, Now: now}, func(t *testing.T, s *servicetest.Instance) {
		sent(t, s, s.Domain, "actn(redirect)/done - x")
		s.Initiation.FollowAgain = func() { again.Add(1) }
		again.Store(0)
		left.Store(50)
		if err := service.FollowPayments(t.Context(), s.Service); err != nil || again.Load() == 0 || left.Load() <= 0 {
			t.Errorf("the pass ends with %v, at %d of 50 times; the next pass is due: %v", err, 50-left.Load(), again.Load() > 0)
		}
		left.Store(0)
	})
}
