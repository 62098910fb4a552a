package testbank_test

import (
	"testing"
	"time"

	"passerelle/testbank/bank"
)

// accepted returns an order for tomorrow that its customer has approved.
func accepted(w *fixture, p bank.Profile) reply {
	w.t.Helper()
	now, err := time.Parse(time.RFC3339, w.steer("GET", p.Name+"/clock", nil).text("now"))
	if err != nil {
		w.t.Fatal(err)
	}
	tomorrow := now.AddDate(0, 0, 1).Format(time.DateOnly)
	first := w.call(201, "POST", w.address(p.Name, single), order(map[string]any{"requestedExecutionDate": tomorrow}), naming(p))
	w.authorise(p, first, approves)
	return first
}

// TestCancellationsOfEveryProfile checks that every bank with future dates cancels or keeps an
// order, as its profile and the customer's decision require.
func TestCancellationsOfEveryProfile(t *testing.T) {
	w := newFixture(t)
	for _, p := range bank.Profiles() {
		if !p.FutureDates {
			continue
		}
		for _, does := range []answers{approves, refuses, nothing} {
			t.Run(p.Name+" "+string(does), func(t *testing.T) {
				defer w.within(t)()
				cancellationOf(w, p, does)
			})
		}
		w.right(p.Name)
	}
}

func cancellationOf(w *fixture, p bank.Profile, does answers) {
	first := accepted(w, p)
	status := func() string {
		w.t.Helper()
		return w.call(200, "GET", w.address(p.Name, first.link("status")), nil, nil).text("transactionStatus")
	}
	if got := status(); got != "ACTC" {
		w.t.Errorf("the approved order of tomorrow is %s", got)
	}
	address, want := w.address(p.Name, first.link("self")), p.LastStatus
	switch p.Cancellation {
	case bank.DirectCancellation:
		w.call(204, "DELETE", address, nil, nil)
		want = "CANC"
	case bank.SCACancellation:
		answer := w.call(202, "DELETE", address, nil, nil)
		p.Signatories = 1 // a single signatory may cancel
		w.authorise(p, answer, does)
		if does == approves {
			want = "CANC"
		}
	}
	w.pass(p.Name, "50h")
	if got := status(); got != want {
		w.t.Errorf("in the end the order is %s, want %s", got, want)
	}
	w.refused(405, "CANCELLATION_INVALID", "DELETE", address, nil, nil)
}

func TestWhatCannotBeCancelled(t *testing.T) {
	w := newFixture(t, "redirect", "old")
	old, _ := bank.ProfileNamed("old")
	p, _ := bank.ProfileNamed("redirect")
	waiting := w.call(201, "POST", w.address("redirect", single), order(nil), present(nil))
	w.call(204, "DELETE", waiting.link("self"), nil, nil)
	if got := w.call(200, "GET", waiting.link("status"), nil, nil).text("transactionStatus"); got != "CANC" {
		t.Errorf("an order cancelled before its approval is %s", got)
	}
	instant := w.call(201, "POST", w.address("redirect", "v1/payments/instant-sepa-credit-transfers"), order(nil), present(nil))
	w.authorise(p, instant, approves)
	w.refused(405, "CANCELLATION_INVALID", "DELETE", instant.link("self"), nil, nil)
	without := w.call(201, "POST", w.address("old", single), bodies(w, "old")[bank.Single], present(nil))
	w.authorise(old, without, approves)
	w.refused(405, "CANCELLATION_INVALID", "DELETE", w.address("old", without.link("self")), nil, nil)
}

func TestMoneyUnderWayComesBack(t *testing.T) {
	w := newFixture(t, "idempotent")
	p, _ := bank.ProfileNamed("idempotent")
	first := w.call(201, "POST", w.address("idempotent", single), bodies(w, "idempotent")[bank.Single], present(nil))
	w.authorise(p, first, approves)
	expected := func() any {
		return w.steer("GET", "idempotent/accounts?customer=anna", nil).at("accounts", 1, "expected")
	}
	if got := expected(); got != 24_987_50.0 {
		t.Errorf("with the transfer under way %v are expected", got)
	}
	w.call(204, "DELETE", first.link("self"), nil, nil)
	if got := expected(); got != 25_000_00.0 {
		t.Errorf("without it %v are expected", got)
	}
	w.pass("idempotent", "2h")
	w.right("idempotent")
}
