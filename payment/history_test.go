package payment_test

import (
	"errors"
	"slices"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"passerelle"
	"passerelle/payment"
)

var (
	statuses      = []payment.Status{payment.Awaiting, payment.Processing, payment.Settled, payment.Declined, "ACSC"}
	actors        = []payment.Actor{"", payment.ByBank, payment.ByPayer, payment.ByClient}
	words         = []payment.ErrorCode{"", payment.InvalidDate, payment.CancelledByUser, "AM04"}
	cancellations = []payment.Cancellation{"", "", payment.CancellationAwaiting, payment.CancellationGranted, payment.CancellationRefused, "perhaps"}

	outcomes = []payment.InstructionState{payment.InstructionPending, payment.InstructionRejected, payment.InstructionDone, payment.InstructionAccepted}
)

func reports(lines int) *rapid.Generator[payment.Report] {
	about := rapid.Custom(func(t *rapid.T) payment.Line {
		return payment.Line{
			Position: rapid.IntRange(0, lines-1).Draw(t, "position"), State: rapid.SampledFrom(outcomes).Draw(t, "outcome"),
			Code: rapid.SampledFrom(words).Draw(t, "line code"), Description: rapid.String().Draw(t, "line description"),
		}
	})
	return rapid.Custom(func(t *rapid.T) payment.Report {
		return payment.Report{
			Status: rapid.SampledFrom(statuses).Draw(t, "status"), Lines: rapid.SliceOfN(about, 0, lines).Draw(t, "lines"),
			Code: rapid.SampledFrom(words).Draw(t, "code"), Description: rapid.String().Draw(t, "description"),
			Raw: rapid.String().Draw(t, "raw"), By: rapid.SampledFrom(actors).Draw(t, "by"),
			Cancellation: rapid.SampledFrom(cancellations).Draw(t, "cancellation"),
			Action:       payment.Decoupled, BankPaymentID: rapid.String().Draw(t, "bank id"),
		}
	})
}

// TestHistoryIsAPath: for any reports in any order, the transitions follow the state table
// without a gap, and no transition leaves a final state.
func TestHistoryIsAPath(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.IntRange(1, 3).Draw(rt, "number of lines")
		p := made(t, lines)
		h := history{t: rt, p: p, state: p.State}
		for _, report := range rapid.SliceOfN(reports(lines), 1, 6).Draw(rt, "reports") {
			h.apply(report)
		}
	})
}

type history struct {
	t interface {
		Helper()
		Errorf(string, ...any)
	}
	p     *payment.Payment
	state payment.State
	seq   int64
}

func (h *history) apply(r payment.Report) {
	h.t.Helper()
	final := h.state.Final()
	steps, err := h.p.Apply(r, now)
	if err != nil && !errors.Is(err, payment.ErrStale) && !errors.Is(err, payment.ErrSenseless) {
		h.t.Errorf("error %v", err)
	}
	if (err != nil || final) && len(steps) > 0 {
		h.t.Errorf("%s moved to %s with error %v", h.state, statesOf(steps), err)
	}
	for _, step := range steps {
		h.follow(step)
	}
	if h.p.State != h.state || h.p.Seq != h.seq {
		h.t.Errorf("the payment is %s at %d, its history ends with %s at %d", h.p.State, h.p.Seq, h.state, h.seq)
	}
	wantCodes(h.t, h.p)
	h.wantStorable()
}

func (h *history) follow(s payment.Step) {
	h.t.Helper()
	t := s.Transition
	if !slices.Contains(payment.Edges(), payment.Edge{From: h.state, Trigger: t.Cause.Trigger, To: t.To}) {
		h.t.Errorf("from %s by %s to %s", h.state, t.Cause.Trigger, t.To)
	}
	if t.From != h.state || t.Seq != h.seq+1 || s.Payment.State != t.To || s.Payment.Seq != t.Seq {
		h.t.Errorf("step %+v after %s at %d", t, h.state, h.seq)
	}
	if n := utf8.RuneCountInString(t.Cause.Bank); n > payment.MaxBankWord || !storable(t.Cause.Bank) {
		h.t.Errorf("%d characters of the bank's word, or none to be stored", n)
	}
	h.state, h.seq = t.To, t.Seq
}

func (h *history) wantStorable() {
	h.t.Helper()
	texts := []string{h.p.ErrorDescription, h.p.BankPaymentID, h.p.ValidateURI}
	for _, in := range h.p.Instructions {
		texts = append(texts, in.ErrorDescription)
	}
	for _, note := range h.p.Notes {
		texts = append(texts, note.Text)
	}
	for _, field := range h.p.Fields {
		texts = append(texts, field.Name, field.Label, field.Regex)
	}
	for _, text := range texts {
		if !storable(text) || utf8.RuneCountInString(text) > payment.MaxValidateURI {
			h.t.Errorf("%.100q cannot be stored", text)
		}
	}
}

func storable(text string) bool { return passerelle.CheckText("", text, 0) == nil }

func FuzzApply(f *testing.F) {
	f.Add("awaiting", "settled", "redirect", page, "AM04", "why", "RJCT", "bank", "otp", "text", 1, "rejected", "awaiting")
	f.Add("processing", "declined", "", "", "", "\xff\x00", "", "", "", "", -1, "pending", "granted")
	f.Fuzz(func(t *testing.T, first, second, action, uri, code, why, raw, by, field, kind string, position int, state, cancellation string) {
		report := payment.Report{
			Status: payment.Status(first), Action: payment.Action(action), ValidateURI: uri, Code: payment.ErrorCode(code),
			Description: why, Raw: raw, By: payment.Actor(by), BankPaymentID: raw, Cancellation: payment.Cancellation(cancellation),
			Fields: []payment.Field{{Name: field, Type: kind, Label: why, Regex: raw}},
			Lines:  []payment.Line{{Position: position, State: payment.InstructionState(state), Code: payment.ErrorCode(code), Description: why}},
		}
		p := made(t, 2)
		h := history{t: t, p: p, state: p.State}
		h.apply(report)
		report.Status, report.Fields, report.Lines = payment.Status(second), nil, nil
		h.apply(report)
	})
}
