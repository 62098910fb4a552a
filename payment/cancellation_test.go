package payment_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/payment"
)

const cancelPage = "https://bank.example/cancel"

func about(r payment.Report, c payment.Cancellation) payment.Report {
	r.Cancellation = c
	if c == payment.CancellationAwaiting {
		r.Action, r.ValidateURI = payment.Redirect, cancelPage
	}
	return r
}

// cancelling returns a payment in the given state. The client has requested a cancellation, and the
// payer has not decided yet.
func cancelling(t testing.TB, state payment.State, lines int) *payment.Payment {
	t.Helper()
	p := in(t, state, lines)
	p.AskCancellation(payment.CancelledByClient, "https://client.example/back", "s")
	as := map[payment.State]payment.Report{payment.Validating: awaiting, payment.Pending: processing}
	if steps, err := p.Apply(about(as[state], payment.CancellationAwaiting), now); err != nil || len(steps) != 0 {
		t.Fatal(steps, err)
	}
	if p.State != state || p.Detail != payment.Cancelling {
		t.Fatalf("prepared %s %s", p.State, p.Detail)
	}
	p.TakeNotes()
	return p
}

// TestEveryReportInEverySituation applies each pair of an order status and a cancellation status to
// a payment in each state, also during a cancellation. In final states, all reports are stale.
func TestEveryReportInEverySituation(t *testing.T) {
	type situation struct {
		name string
		make func() *payment.Payment
	}
	var all []situation
	for _, state := range payment.States() {
		all = append(all, situation{string(state), func() *payment.Payment { return in(t, state, 2) }})
		if state == payment.Validating || state == payment.Pending {
			all = append(all, situation{string(state) + "+", func() *payment.Payment { return cancelling(t, state, 2) }})
		}
	}
	var matrix strings.Builder
	fmt.Fprintln(&matrix, "# + is a cancellation under way. A line says: what was, the order, its cancellation -> the states gone through,")
	fmt.Fprintln(&matrix, "# what is left of the cancellation, the action, the code; the notes.")
	for _, s := range all {
		for _, order := range []payment.Report{awaiting, processing, settled, declined} {
			for _, c := range []payment.Cancellation{"", payment.CancellationAwaiting, payment.CancellationGranted, payment.CancellationRefused} {
				p := s.make()
				final, row := p.State.Final(), after(t, p, about(order, c))
				if final && !strings.HasPrefix(row, "stale") {
					t.Errorf("%s leaves a final state: %s", s.name, row)
				}
				if !final {
					fmt.Fprintf(&matrix, "%-11s %-10s %-8s -> %s\n", s.name, order.Status, c, row)
				}
			}
		}
	}
	wantFile(t, "testdata/reports.txt", matrix.String())
}

func after(t *testing.T, p *payment.Payment, r payment.Report) string {
	t.Helper()
	steps, err := p.Apply(r, now)
	wantCodes(t, p)
	if (p.Detail == payment.Cancelling) != (p.ValidateURI == cancelPage) {
		t.Errorf("detail %q with the page %q", p.Detail, p.ValidateURI)
	}
	outcome := statesOf(steps)
	switch {
	case errors.Is(err, payment.ErrStale):
		outcome = "stale"
	case err != nil:
		t.Error(err)
	case outcome == "":
		outcome = "stays"
	}
	words := []string{outcome, string(p.Detail), string(p.Action), string(p.ErrorCode)}
	var notes []string
	for _, note := range p.TakeNotes() {
		notes = append(notes, fmt.Sprintf("%s by %s", note.Kind, note.Actor))
	}
	text := strings.Join(strings.Fields(strings.Join(words, " ")), " ")
	return strings.TrimSuffix(text+"; "+strings.Join(notes, ", "), "; ")
}

func TestMayCancel(t *testing.T) {
	ordered := func(state payment.State) *payment.Payment {
		p := in(t, state, 2)
		for i := range p.Instructions {
			p.Instructions[i].DateType = payment.FirstOpenDay
		}
		return p
	}
	oneInstant := ordered(payment.Pending)
	oneInstant.Instructions[1].DateType = payment.Instant
	underWay := cancelling(t, payment.Pending, 1)
	underWay.Instructions[0].DateType = payment.Deferred
	approved := ordered(payment.Validating)
	approved.Action = payment.Confirm
	tests := map[string]struct {
		by     payment.Actor
		p      *payment.Payment
		unable bool
		kind   passerelle.Kind
		code   string
	}{
		"created":                        {p: ordered(payment.Created)},
		"created, instant":               {p: in(t, payment.Created, 1)},
		"created, connector is not able": {p: ordered(payment.Created), unable: true},
		"validating":                     {p: ordered(payment.Validating)},
		"pending":                        {p: ordered(payment.Pending)},
		"pending, connector is not able": {p: ordered(payment.Pending), unable: true, kind: passerelle.Invalid, code: "notSupported"},
		"instant and no able connector":  {p: in(t, payment.Pending, 1), unable: true, kind: passerelle.Invalid, code: "notSupported"},
		"validating, instant":            {p: in(t, payment.Validating, 1), kind: passerelle.Conflict, code: "conflict"},
		"an instant line among others":   {p: oneInstant, kind: passerelle.Conflict, code: "conflict"},
		"under way":                      {p: underWay, kind: passerelle.Conflict, code: "conflict"},
		"rejected":                       {p: ordered(payment.Rejected), kind: passerelle.Conflict, code: "conflict"},
		"done":                           {p: ordered(payment.Done), kind: passerelle.Conflict, code: "conflict"},
		"accepted":                       {p: ordered(payment.Accepted), kind: passerelle.Conflict, code: "conflict"},
		"expired":                        {p: ordered(payment.Expired), kind: passerelle.Conflict, code: "conflict"},
		"partial, connector is not able": {p: ordered(payment.Partial), unable: true, kind: passerelle.Conflict, code: "conflict"},

		"payer, validating and instant":       {by: payment.ByPayer, p: in(t, payment.Validating, 1)},
		"payer, validating, not able":         {by: payment.ByPayer, p: ordered(payment.Validating), unable: true},
		"payer, pending and instant":          {by: payment.ByPayer, p: in(t, payment.Pending, 1), kind: passerelle.Conflict, code: "conflict"},
		"payer, pending, not able":            {by: payment.ByPayer, p: ordered(payment.Pending), unable: true, kind: passerelle.Invalid, code: "notSupported"},
		"payer, approved and to be confirmed": {by: payment.ByPayer, p: approved, unable: true, kind: passerelle.Invalid, code: "notSupported"},
		"payer, under way":                    {by: payment.ByPayer, p: underWay, kind: passerelle.Conflict, code: "conflict"},
		"payer, expired":                      {by: payment.ByPayer, p: ordered(payment.Expired), unable: true, kind: passerelle.Conflict, code: "conflict"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.by == "" {
				test.by = payment.ByClient
			}
			err := test.p.MayCancel(test.by, !test.unable)
			if test.kind == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var reported *passerelle.Error
			if !errors.As(err, &reported) || reported.Kind != test.kind || reported.Code != test.code || reported.Message == "" {
				t.Errorf("%v, want %s %s", err, test.kind, test.code)
			}
		})
	}
}

// TestMayCancelAgain: after a refused cancellation, the client can request another one. The payment
// keeps the redirect address of the first cancellation, because the payer may still be on the
// bank's page.
func TestMayCancelAgain(t *testing.T) {
	p := cancelling(t, payment.Pending, 1)
	p.Instructions[0].DateType = payment.Deferred
	if _, err := p.Apply(about(processing, payment.CancellationRefused), now); err != nil {
		t.Fatal(err)
	}
	if err := p.MayCancel(payment.ByClient, true); err != nil || p.CancelCode != "" || p.CancelRedirectURI == "" || p.CancelState != "s" {
		t.Errorf("%v %+v", err, p)
	}
}

func TestWhoseCancellationIsGranted(t *testing.T) {
	tests := []struct {
		asked payment.ErrorCode
		code  payment.ErrorCode
		actor payment.Actor
	}{
		{payment.CancelledByClient, payment.CancelledByClient, payment.ByClient},
		{payment.CancelledByUser, payment.CancelledByUser, payment.ByPayer},
		{"", payment.CancelledByUser, payment.ByPayer},
	}
	for _, test := range tests {
		for _, state := range []payment.State{payment.Created, payment.Validating, payment.Pending} {
			p := in(t, state, 2)
			if test.asked != "" {
				p.AskCancellation(test.asked, "https://client.example/back", "")
			}
			steps, err := p.Apply(about(declined, payment.CancellationGranted), now)
			if err != nil || statesOf(steps) != "rejected" || p.ErrorCode != test.code || steps[0].Transition.Cause.Actor != test.actor {
				t.Errorf("%s asked by %q: %q by %+v, %v", state, test.asked, p.ErrorCode, steps, err)
			}
			wantCodes(t, p)
		}
	}
}

// TestCancellingABulk: an instruction that the bank reports in a final state keeps this state. The
// pending instructions end with the requester's code.
func TestCancellingABulk(t *testing.T) {
	tests := map[payment.InstructionState]struct{ states, code, lines string }{
		payment.InstructionPending:  {"rejected", "CancelledByClient", "CancelledByClient CancelledByClient"},
		payment.InstructionRejected: {"rejected", "CancelledByClient", "invalidLabel CancelledByClient"},
		payment.InstructionDone:     {"partial", "", " CancelledByClient"},
		payment.InstructionAccepted: {"partial", "", " CancelledByClient"},
	}
	for first, want := range tests {
		p := cancelling(t, payment.Pending, 2)
		report := about(processing, payment.CancellationGranted)
		report.Lines = []payment.Line{{Position: 0, State: first, Code: payment.InvalidLabel}}
		steps, err := p.Apply(report, now)
		lines := fmt.Sprintf("%s %s", p.Instructions[0].ErrorCode, p.Instructions[1].ErrorCode)
		if err != nil || statesOf(steps) != want.states || string(p.ErrorCode) != want.code || lines != want.lines {
			t.Errorf("first line %s: %s %q %q, %v", first, statesOf(steps), p.ErrorCode, lines, err)
		}
		wantNotes(t, p, "cancellationGranted")
	}
}

// TestApprovingWhileCancelling: after the payer approves the order, the cancellation still waits
// for the payer's action.
func TestApprovingWhileCancelling(t *testing.T) {
	p := cancelling(t, payment.Validating, 1)
	steps, err := p.Apply(processing, now)
	if err != nil || statesOf(steps) != "pending" {
		t.Fatal(statesOf(steps), err)
	}
	for _, seen := range []payment.Payment{*p, steps[0].Payment} {
		if seen.Detail != payment.Cancelling || seen.Action != payment.Redirect || seen.ValidateURI != cancelPage {
			t.Errorf("%s with action %q at %s", seen.Detail, seen.Action, seen.ValidateURI)
		}
	}
	wantNotes(t, p)
}

// TestApprovalDefaultsToRedirect: when a cancellation needs approval and the report names no
// action, the action is redirect. The report that refuses the cancellation sets the action of the
// order again.
func TestApprovalDefaultsToRedirect(t *testing.T) {
	p := in(t, payment.Validating, 1)
	p.AskCancellation(payment.CancelledByUser, "https://client.example/back", "")
	ask := payment.Report{Status: payment.Awaiting, ValidateURI: cancelPage, Cancellation: payment.CancellationAwaiting}
	if _, err := p.Apply(ask, now); err != nil || p.Action != payment.Redirect || p.Detail != payment.Cancelling {
		t.Fatal(p.Action, p.Detail, err)
	}
	if _, err := p.Apply(about(awaiting, payment.CancellationRefused), now); err != nil || p.Action != payment.Redirect || p.ValidateURI != page || p.Detail != "" {
		t.Fatal(p.Action, p.ValidateURI, p.Detail, err)
	}
	wantNotes(t, p, "cancelling", "cancellationRefused")
}

// TestEndsWithoutItsBank: expiry and refusals that no bank reports also end a cancellation.
func TestEndsWithoutItsBank(t *testing.T) {
	ends := map[payment.State]func(*payment.Payment) ([]payment.Step, error){
		payment.Expired: func(p *payment.Payment) ([]payment.Step, error) { return p.Expire(now) },
		payment.Rejected: func(p *payment.Payment) ([]payment.Step, error) {
			return p.Refuse(&payment.Refusal{Code: payment.ConfirmationRefused}, payment.Cause{Actor: payment.ByClient}, now)
		},
	}
	for want, end := range ends {
		p := cancelling(t, payment.Validating, 1)
		steps, err := end(p)
		if err != nil || statesOf(steps) != string(want) || p.Detail != "" || steps[0].Payment.Detail != "" {
			t.Errorf("%s, detail %q, %v", statesOf(steps), p.Detail, err)
		}
		wantNotes(t, p, "cancellationOvertaken")
	}
}

func TestRefuseCancellation(t *testing.T) {
	p := cancelling(t, payment.Pending, 1)
	before := *p
	p.RefuseCancellation(payment.ByBank, now)
	if p.Detail != "" || p.Action != "" || p.ValidateURI != "" || before.Detail != payment.Cancelling {
		t.Errorf("%+v", p)
	}
	wantNotes(t, p, "cancellationRefused")
	p.RefuseCancellation(payment.ByBank, now)
	wantNotes(t, p)
	asked := in(t, payment.Pending, 1)
	asked.AskCancellation(payment.CancelledByUser, "https://client.example/back", "")
	asked.RefuseCancellation(payment.ByBank, now)
	wantNotes(t, asked, "cancellationRefused")
}

// TestNotesAreNotShared: a note added to a copy of a payment does not overwrite a note of another
// copy, although both copies share an array.
func TestNotesAreNotShared(t *testing.T) {
	p := made(t, 1)
	p.Notes = make([]payment.Note, 1, 8)
	one, other := *p, *p
	one.AskCancellation(payment.CancelledByUser, "", "")
	one.RefuseCancellation(payment.ByPayer, now)
	if _, err := other.Apply(payment.Report{}, now); err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff([]string{"", "cancellationRefused"}, []string{one.Notes[0].Kind, one.Notes[1].Kind}); diff != "" {
		t.Error(diff)
	}
}
