package initiation_test

import (
	"slices"
	"testing"

	"passerelle"
	"passerelle/internal/initiation"
	"passerelle/payment"
)

// standing brings a new payment to a state by simulation.
func (w *fixture) standing(state payment.State) passerelle.PaymentID {
	w.t.Helper()
	id := w.create(2)
	way := []payment.State{payment.Validating, payment.Pending}
	if n := slices.Index(way, state); n >= 0 {
		way = way[:n+1]
	}
	if state == payment.Created {
		return id
	}
	if state != payment.Validating && state != payment.Pending {
		way = append(way, state)
	}
	for _, next := range way {
		_, err := w.Simulate(w.t.Context(), w.domain, id, initiation.SimulatedChange{State: next})
		must(w.t, err)
	}
	return id
}

// TestEveryEdge simulates the change from every state to every state.
func TestEveryEdge(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		for _, from := range payment.States() {
			for _, to := range payment.States() {
				id := w.standing(from)
				rows := w.rows()
				p, err := w.Simulate(t.Context(), w.domain, id, initiation.SimulatedChange{State: to})
				legal := slices.ContainsFunc(payment.Edges(), func(e payment.Edge) bool { return e.From == from && e.To == to })
				if !legal {
					w.wantRefusal(t, err, rows, passerelle.Conflict, "", string(from))
					continue
				}
				must(t, err)
				if diff := unlike(w.stored(id), p); diff != "" || p.State != to {
					t.Errorf("from %s to %s: the payment is %s\n%s", from, to, p.State, diff)
				}
				if reported := w.eventSummaries(id); reported[len(reported)-1].State != to {
					t.Errorf("from %s to %s receivers are told %+v", from, to, reported)
				}
			}
		}
		w.runDue(t, w.Initiation, w.later(day), none)
	})
}

func TestSimulatedCodes(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		for _, code := range payment.ErrorCodes() {
			p, err := w.Simulate(t.Context(), w.domain, w.standing(payment.Validating), initiation.SimulatedChange{State: payment.Rejected, Code: code})
			must(t, err)
			if p.ErrorCode != code {
				t.Errorf("the code is %s, want %s", p.ErrorCode, code)
			}
		}
		p, err := w.Simulate(t.Context(), w.domain, w.standing(payment.Pending), initiation.SimulatedChange{State: payment.Partial, Code: payment.InvalidLabel})
		must(t, err)
		if p.Instructions[0].ErrorCode != payment.InvalidLabel || p.Instructions[1].State != payment.InstructionDone || p.ErrorCode != "" {
			t.Errorf("the payment is %+v", p)
		}
	})
}

// TestSimulatedLines checks that a payment becomes partial when one of its instructions is rejected
// and the other is accepted.
func TestSimulatedLines(t *testing.T) {
	line := func(n int, state payment.State) initiation.SimulatedChange {
		return initiation.SimulatedChange{State: state, Instruction: &n}
	}
	onEach(t, func(t *testing.T, w *fixture) {
		id := w.standing(payment.Pending)
		p, err := w.Simulate(t.Context(), w.domain, id, line(1, payment.Rejected))
		must(t, err)
		if p.State != payment.Pending || p.Instructions[1].ErrorCode != payment.NoSpecifiedReason {
			t.Errorf("the payment is %s", p.State)
		}
		events := len(w.eventSummaries(id))
		rows := w.rows()
		_, err = w.Simulate(t.Context(), w.domain, id, line(1, payment.Done))
		w.wantRefusal(t, err, rows, passerelle.Conflict, "", "1")
		p, err = w.Simulate(t.Context(), w.domain, id, line(0, payment.Accepted))
		must(t, err)
		if p.State != payment.Partial || len(w.eventSummaries(id)) != events+1 {
			t.Errorf("the payment is %s", p.State)
		}
	})
}

// TestSimulatedPartial makes payments partial, some instructions of which have already ended.
func TestSimulatedPartial(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		for _, test := range []struct {
			first  payment.State // of the first instruction
			second payment.InstructionState
			code   payment.ErrorCode // of the second instruction
		}{
			{payment.Done, payment.InstructionRejected, payment.InvalidLabel},
			{payment.Accepted, payment.InstructionRejected, payment.InvalidLabel},
			{payment.Rejected, payment.InstructionDone, ""},
		} {
			id, n := w.standing(payment.Pending), 0
			_, err := w.Simulate(t.Context(), w.domain, id, initiation.SimulatedChange{State: test.first, Instruction: &n})
			must(t, err)
			p, err := w.Simulate(t.Context(), w.domain, id, initiation.SimulatedChange{State: payment.Partial, Code: payment.InvalidLabel})
			must(t, err)
			if second := p.Instructions[1]; p.State != payment.Partial || second.State != test.second || second.ErrorCode != test.code {
				t.Errorf("after %s: the payment is %s, and its second instruction is %s with code %q", test.first, p.State, second.State, second.ErrorCode)
			}
		}
	})
}

func TestSimulationRefusals(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		n := 2
		id := w.standing(payment.Pending)
		rows := w.rows()
		for field, s := range map[string]initiation.SimulatedChange{
			"state":       {State: "paid"},
			"error_code":  {State: payment.Rejected, Code: "gremlins"},
			"instruction": {State: payment.Done, Instruction: &n},
		} {
			_, err := w.Simulate(t.Context(), w.domain, id, s)
			w.wantRefusal(t, err, rows, passerelle.Invalid, field)
		}
		_, err := w.Simulate(t.Context(), w.domain, id, initiation.SimulatedChange{State: payment.Done, Code: payment.Bug})
		w.wantRefusal(t, err, rows, passerelle.Invalid, "error_code")
		n = 0
		_, err = w.Simulate(t.Context(), w.domain, id, initiation.SimulatedChange{State: payment.Expired, Instruction: &n})
		w.wantRefusal(t, err, rows, passerelle.Invalid, "state")
		_, err = w.Simulate(t.Context(), w.domain, 999, initiation.SimulatedChange{State: payment.Done})
		w.wantRefusal(t, err, rows, passerelle.NotFound, "")
		live := w.domain
		live.Kind = passerelle.Live
		_, err = w.Simulate(t.Context(), live, id, initiation.SimulatedChange{State: payment.Done})
		w.wantRefusal(t, err, rows, passerelle.NotFound, "")
	})
}

func TestNoBankBehindASimulation(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		id := w.standing(payment.Validating)
		rows := w.rows()
		_, err := w.Answer(t.Context(), w.domain, id, payment.ByPayer, resume)
		w.wantRefusal(t, err, rows, passerelle.Conflict, "", "No bank")
		_, err = w.Cancel(t.Context(), w.domain, id, withdrawal)
		w.wantRefusal(t, err, rows, passerelle.Invalid, "")
	})
}

// TestSimulationOfASentPayment checks that a sent payment keeps a simulated state, and that the
// service no longer asks the bank about it.
func TestSimulationOfASentPayment(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.onItsWay()
		_, err := w.Simulate(t.Context(), w.domain, p.ID, initiation.SimulatedChange{State: payment.Accepted})
		must(t, err)
		w.runDue(t, w.Initiation, w.later(2*day), none)
		w.wantState(t, p.ID, payment.Accepted)
		w.wantCause(t, p.ID, payment.Cause{Trigger: payment.Admitted, Actor: payment.ByBank, Bank: "simulated"})
	})
}
