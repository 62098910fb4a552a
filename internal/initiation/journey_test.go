package initiation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/payment"
)

type eventSummary struct {
	Version   int64
	State     payment.State
	Action    string
	HasURI    bool
	ErrorCode string
	Lines     string
}

func (w *fixture) eventSummaries(id passerelle.PaymentID) []eventSummary {
	w.t.Helper()
	var all []eventSummary
	for _, e := range w.events(id) {
		one := eventSummary{Version: e.Version, State: e.Body.State, HasURI: e.Body.ValidateURI != nil}
		if e.Body.Action != nil {
			one.Action = string(*e.Body.Action)
		}
		if e.Body.ErrorCode != nil {
			one.ErrorCode = string(*e.Body.ErrorCode)
		}
		var lines []string
		for _, in := range e.Body.Instructions {
			state := "null"
			if in.State != nil {
				state = string(*in.State)
			}
			lines = append(lines, state)
		}
		one.Lines = strings.Join(lines, " ")
		all = append(all, one)
	}
	return all
}

func (w *fixture) wantEvents(t *testing.T, id passerelle.PaymentID, want ...eventSummary) {
	t.Helper()
	if diff := cmp.Diff(want, w.eventSummaries(id)); diff != "" {
		t.Errorf("receivers are told (-want +got):\n%s", diff)
	}
}

func (w *fixture) wantHistory(t *testing.T, id passerelle.PaymentID, want ...payment.Transition) {
	t.Helper()
	got, err := w.db.Transitions(t.Context(), w.domain.ID, id)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the history is (-want +got):\n%s", diff)
	}
}

func step(seq int64, from, to payment.State, trigger payment.Trigger, by payment.Actor, bank string, at time.Time) payment.Transition {
	return payment.Transition{Seq: seq, From: from, To: to, Cause: payment.Cause{Trigger: trigger, Actor: by, Bank: bank}, At: at}
}

var (
	registered    = step(0, "", payment.Created, "", payment.ByClient, "", noon)
	atTheBank     = step(1, payment.Created, payment.Validating, payment.Validated, payment.ByPayer, "awaiting", noon)
	redirectEvent = eventSummary{Version: 1, State: payment.Validating, Action: "redirect", HasURI: true, Lines: "pending"}
)

func TestJourney(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		id := w.create(1)
		w.wantEvents(t, id)
		p, err := w.Validate(t.Context(), w.domain, id, validated())
		must(t, err)
		if diff := unlike(w.stored(id), p); diff != "" {
			t.Errorf("what is answered is not what is stored (-stored +answered):\n%s", diff)
		}
		w.wantEvents(t, id, redirectEvent)
		w.wantAttempt(t, id, "answered")
		ended, err := w.Return(t.Context(), w.domain, w.decide(p, "approve"), nil)
		must(t, err)
		if ended.State != payment.Done || ended.Instructions[0].State != payment.InstructionDone || ended.ValidateURI != "" {
			t.Errorf("the payment ends as %+v", ended)
		}
		w.wantEvents(t, id, redirectEvent, eventSummary{Version: 2, State: payment.Pending, Lines: "pending"}, eventSummary{Version: 3, State: payment.Done, Lines: "done"})
		w.wantHistory(t, id, registered, atTheBank,
			step(2, payment.Validating, payment.Pending, payment.Approved, payment.ByPayer, "executed", noon),
			step(3, payment.Pending, payment.Done, payment.Executed, payment.ByBank, "executed", noon))
		w.wantSubmissions(t, id, 1)
		if w.woken.Load() != 2 {
			t.Errorf("the sender was woken %d times, want 2", w.woken.Load())
		}
	})
}

// TestFaithfulTiming checks at which times a payment advances with sandbox.Faithful if the payer
// never returns from the bank.
func TestFaithfulTiming(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		w.bank.Timing = sandbox.Faithful
		p := w.sent(1)
		w.runDue(t, w.Initiation, w.later(14*time.Second), none)
		w.decide(p, "approve")
		w.runDue(t, w.Initiation, w.later(15*time.Second), one)
		w.wantState(t, p.ID, payment.Pending)
		executed := 15*time.Minute + 15*time.Second
		w.runDue(t, w.Initiation, w.later(executed-time.Microsecond), none)
		w.runDue(t, w.Initiation, w.later(executed), one)
		w.wantState(t, p.ID, payment.Done)
		w.runDue(t, w.Initiation, w.later(400*24*time.Hour), none)
		w.wantHistory(t, p.ID, registered, atTheBank,
			step(2, payment.Validating, payment.Pending, payment.Approved, payment.ByPayer, "approved", noon.Add(15*time.Second)),
			step(3, payment.Pending, payment.Done, payment.Executed, payment.ByBank, "executed", noon.Add(executed)))
		w.wantSubmissions(t, p.ID, 1)
	})
}

func TestRefusedAtTheBank(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.sent(2)
		ended, err := w.Return(t.Context(), w.domain, w.decide(p, "refuse"), nil)
		must(t, err)
		if ended.State != payment.Rejected || ended.ErrorCode != payment.CancelledByUser || ended.Instructions[1].State != payment.InstructionRejected {
			t.Errorf("the payment ends as %+v", ended)
		}
		first := redirectEvent
		first.Lines = "pending pending"
		w.wantEvents(t, p.ID, first, eventSummary{Version: 2, State: payment.Rejected, ErrorCode: "CancelledByUser", Lines: "rejected rejected"})
		w.wantHistory(t, p.ID, registered, atTheBank,
			step(2, payment.Validating, payment.Rejected, payment.Refused, payment.ByPayer, "refused", noon))
	})
}

// TestLinesOneByOne checks that the bank's reports about single instructions are stored before the
// state of the payment changes. No event may be emitted until the state changes.
func TestLinesOneByOne(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		w.bank.Timing = sandbox.Faithful
		p := w.sent(2)
		state := w.decide(p, "approve")
		_, err := w.Return(t.Context(), w.domain, state, nil)
		must(t, err)
		for _, lines := range [][]payment.Line{
			{{Position: 1, State: payment.InstructionRejected, Code: payment.InvalidBeneficiary, Description: "closed"}},
			{{Position: 0, State: payment.InstructionDone, Executed: passerelle.DateOf(noon, time.UTC)}},
		} {
			w.line.breaks(nil, answers(payment.Report{Status: payment.Processing, Raw: "one by one", Lines: lines}))
			if _, err = w.Return(t.Context(), w.domain, state, nil); err != nil {
				t.Fatal(err)
			}
			if got := w.stored(p.ID).Instructions[lines[0].Position]; got.State != lines[0].State || got.ErrorCode != lines[0].Code {
				t.Errorf("the line is stored as %+v, want %+v", got, lines[0])
			}
		}
		got := w.eventSummaries(p.ID)
		want := eventSummary{Version: 3, State: payment.Partial, Lines: "done rejected"}
		if diff := cmp.Diff(want, got[len(got)-1]); len(got) != 3 || diff != "" {
			t.Errorf("receivers are told %+v", got)
		}
	})
}

func TestChoiceIsKept(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		id := w.create(1)
		choice := validated()
		choice.Validated, choice.Fields, choice.Connector = false, map[string]string{"use_case_pay": "redirect", "stray": "x"}, "40"
		choice.Payer = &passerelle.Account{Scheme: passerelle.IBAN, Identification: "fr76 9999 9000 0000 0000 0000 033", Label: "The Payer"}
		kept, err := w.Validate(t.Context(), w.domain, id, choice)
		must(t, err)
		if diff := unlike(w.stored(id), kept); diff != "" || kept.State != payment.Created || kept.Connector != testConnector {
			t.Errorf("kept is %+v\n%s", kept, diff)
		}
		w.wantAttempt(t, id, "")
		choice = validated()
		choice.Connector = ""
		sent, err := w.Validate(t.Context(), w.domain, id, choice)
		must(t, err)
		a, err := w.db.Attempt(t.Context(), w.domain.ID, id)
		must(t, err)
		if diff := cmp.Diff(map[string]string{"use_case_pay": "redirect"}, a.Fields); diff != "" || sent.Payer.Label != "The Payer" {
			t.Errorf("sent is %+v with fields\n%s", sent, diff)
		}
		w.wantEvents(t, id, redirectEvent)
	})
}
