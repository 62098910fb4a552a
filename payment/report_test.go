package payment_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"passerelle/payment"
)

const page = "https://bank.example/approve"

var (
	awaiting   = payment.Report{Status: payment.Awaiting, Action: payment.Redirect, ValidateURI: page, Raw: "RCVD"}
	processing = payment.Report{Status: payment.Processing, Raw: "ACTC"}
	settled    = payment.Report{Status: payment.Settled, Raw: "ACSC"}
	declined   = payment.Report{Status: payment.Declined, Code: payment.InsufficientFunds, Description: "too poor", Raw: "RJCT"}
)

func in(t testing.TB, state payment.State, lines int) *payment.Payment {
	t.Helper()
	p := made(t, lines)
	path := map[payment.State][]payment.Report{
		payment.Created:    nil,
		payment.Validating: {awaiting},
		payment.Pending:    {processing},
		payment.Rejected:   {declined},
		payment.Done:       {settled},
		payment.Accepted:   {{Status: payment.Settled, Lines: every(lines, payment.InstructionAccepted)}},
		payment.Partial:    {{Status: payment.Settled, Lines: []payment.Line{{Position: 0, State: payment.InstructionRejected}}}},
	}
	for _, report := range path[state] {
		if _, err := p.Apply(report, now); err != nil {
			t.Fatal(err)
		}
	}
	if state == payment.Expired {
		if _, err := p.Expire(now); err != nil {
			t.Fatal(err)
		}
	}
	if p.State != state {
		t.Fatalf("prepared %s, want %s", p.State, state)
	}
	return p
}

func every(lines int, state payment.InstructionState) []payment.Line {
	var all []payment.Line
	for i := range lines {
		all = append(all, payment.Line{Position: i, State: state})
	}
	return all
}

func statesOf(steps []payment.Step) string {
	var states []string
	for _, step := range steps {
		states = append(states, string(step.Payment.State))
	}
	return strings.Join(states, " ")
}

func TestApplyFromEveryState(t *testing.T) {
	reports := map[payment.Status]payment.Report{
		payment.Awaiting: awaiting, payment.Processing: processing, payment.Settled: settled, payment.Declined: declined,
	}
	tests := map[payment.State]map[payment.Status]string{
		payment.Created: {
			payment.Awaiting: "validating", payment.Processing: "validating pending",
			payment.Settled: "validating pending done", payment.Declined: "rejected",
		},
		payment.Validating: {
			payment.Awaiting: "", payment.Processing: "pending", payment.Settled: "pending done", payment.Declined: "rejected",
		},
		payment.Pending: {
			payment.Awaiting: "stale", payment.Processing: "", payment.Settled: "done", payment.Declined: "rejected",
		},
	}
	for _, state := range payment.States() {
		for status, report := range reports {
			want, intermediate := tests[state][status]
			if !intermediate {
				want = "stale"
			}
			t.Run(fmt.Sprintf("%s/%s", state, status), func(t *testing.T) {
				p := in(t, state, 2)
				before := *p
				steps, err := p.Apply(report, now)
				got := statesOf(steps)
				if errors.Is(err, payment.ErrStale) {
					got, err = "stale", nil
				}
				if got != want || err != nil {
					t.Errorf("%q, %v; want %q", got, err, want)
				}
				wantNotes(t, p, map[string]string{"stale": "staleReport " + report.Raw}[want])
				if diff := cmp.Diff(before, *p, dates); (want == "stale" || want == "") && diff != "" {
					t.Errorf("the payment changed: %s", diff)
				}
			})
		}
	}
}

// TestSnapshots checks that each step contains the payment after its transition, and that an
// earlier copy does not change.
func TestSnapshots(t *testing.T) {
	p := made(t, 2)
	before := *p
	report := settled
	report.BankPaymentID = "B-1"
	report.Action, report.ValidateURI = payment.Redirect, page
	report.Lines = []payment.Line{{Position: 1, State: payment.InstructionRejected, Code: payment.InvalidLabel, Description: "no"}}
	steps, err := p.Apply(report, now)
	if err != nil || statesOf(steps) != "validating pending partial" {
		t.Fatal(statesOf(steps), err)
	}
	type seen struct {
		Action payment.Action
		URI    string
		Lines  []payment.InstructionState
		Code   payment.ErrorCode
	}
	var got []seen
	for i, step := range steps {
		s := seen{Action: step.Payment.Action, URI: step.Payment.ValidateURI, Code: step.Payment.Instructions[1].ErrorCode}
		for _, line := range step.Payment.Instructions {
			s.Lines = append(s.Lines, line.State)
		}
		got = append(got, s)
		if step.Transition.Seq != int64(i+1) || step.Transition.Cause.Bank != "ACSC" || step.Payment.BankPaymentID != "B-1" || !step.Payment.Validated.Equal(now) {
			t.Errorf("step %d is %+v of %+v", i, step.Transition, step.Payment)
		}
	}
	want := []seen{
		{payment.Redirect, page, []payment.InstructionState{"pending", "pending"}, ""},
		{"", "", []payment.InstructionState{"pending", "pending"}, ""},
		{"", "", []payment.InstructionState{"done", "rejected"}, payment.InvalidLabel},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(*p, steps[2].Payment, dates); diff != "" {
		t.Errorf("the last step is not the payment as it is left: %s", diff)
	}
	if diff := cmp.Diff(*made(t, 2), before, dates); diff != "" {
		t.Errorf("a copy made before has changed: %s", diff)
	}
}

func TestAwaitingAgainMayAskForMore(t *testing.T) {
	p := in(t, payment.Validating, 1)
	ask := payment.Report{Status: payment.Awaiting, Action: payment.FillFields, Fields: []payment.Field{{
		Name: "otp", Type: "list", Label: "Code\x00", Values: []payment.FieldValue{{Label: "A", Value: "a"}},
	}}}
	steps, err := p.Apply(ask, now)
	if len(steps) != 0 || err != nil {
		t.Fatal(steps, err)
	}
	want := []payment.Field{{Name: "otp", Type: "list", Label: "Code", Values: []payment.FieldValue{{Label: "A", Value: "a"}}}}
	if diff := cmp.Diff(want, p.Fields); p.Action != payment.FillFields || p.ValidateURI != "" || diff != "" {
		t.Error(p.Action, p.ValidateURI, diff)
	}
}

// TestDecliningTakesOpenLines: a declined order rejects only the instructions that are not in a
// final state.
func TestDecliningTakesOpenLines(t *testing.T) {
	part := func(state payment.InstructionState) payment.Report {
		return payment.Report{Status: payment.Processing, Lines: []payment.Line{{Position: 0, State: state, Code: payment.InvalidLabel}}}
	}
	late := declined
	late.Lines = []payment.Line{{Position: 1, State: payment.InstructionDone}}
	reasons, oneReason := declined, declined
	reasons.Lines = []payment.Line{
		{Position: 0, State: payment.InstructionRejected, Code: payment.InvalidLabel},
		{Position: 1, State: payment.InstructionRejected, Code: payment.InvalidBeneficiary},
	}
	oneReason.Lines = reasons.Lines[1:]
	granted := reasons
	granted.Cancellation = payment.CancellationGranted
	tests := map[string]struct {
		reports []payment.Report
		states  string
		code    payment.ErrorCode
		lines   string
	}{
		"with reasons of lines":   {[]payment.Report{reasons}, "rejected", payment.InvalidLabel, "rejected invalidLabel, rejected invalidBeneficiary"},
		"with reasons, later":     {[]payment.Report{awaiting, reasons}, "validating rejected", payment.InvalidLabel, "rejected invalidLabel, rejected invalidBeneficiary"},
		"with one reason":         {[]payment.Report{oneReason}, "rejected", payment.InsufficientFunds, "rejected insufficientFunds, rejected invalidBeneficiary"},
		"cancelled with reasons":  {[]payment.Report{awaiting, granted}, "validating rejected", payment.CancelledByUser, "rejected invalidLabel, rejected invalidBeneficiary"},
		"at once":                 {[]payment.Report{declined}, "rejected", payment.InsufficientFunds, "rejected insufficientFunds, rejected insufficientFunds"},
		"after one was done":      {[]payment.Report{part(payment.InstructionDone), declined}, "validating pending partial", "", "done , rejected insufficientFunds"},
		"after one was rejected":  {[]payment.Report{part(payment.InstructionRejected), declined}, "validating pending rejected", payment.InvalidLabel, "rejected invalidLabel, rejected insufficientFunds"},
		"while a line is done":    {[]payment.Report{late}, "validating pending partial", "", "rejected insufficientFunds, done "},
		"lines that say no more":  {[]payment.Report{part(payment.InstructionPending), declined}, "validating pending rejected", payment.InsufficientFunds, "rejected insufficientFunds, rejected insufficientFunds"},
		"a line in a final state": {[]payment.Report{part(payment.InstructionDone), part(payment.InstructionRejected), settled}, "validating pending done", "", "done , done "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := made(t, 2)
			var all []payment.Step
			for _, report := range test.reports {
				steps, err := p.Apply(report, now)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, steps...)
			}
			var lines []string
			for _, in := range p.Instructions {
				lines = append(lines, fmt.Sprintf("%s %s", in.State, in.ErrorCode))
			}
			if statesOf(all) != test.states || p.ErrorCode != test.code || strings.Join(lines, ", ") != test.lines {
				t.Errorf("%s with %q and %q", statesOf(all), p.ErrorCode, lines)
			}
		})
	}
}

func combinations(n int, fn func([]payment.InstructionState)) {
	states := []payment.InstructionState{payment.InstructionPending, payment.InstructionRejected, payment.InstructionDone, payment.InstructionAccepted}
	total := 1
	for range n {
		total *= len(states)
	}
	for i := range total {
		mix := make([]payment.InstructionState, n)
		for k := range mix {
			mix[k] = states[i%len(states)]
			i /= len(states)
		}
		fn(mix)
	}
}

// rolledUp implements the table of bulk payments in docs/payment-states.md independently of the
// code.
func rolledUp(mix []payment.InstructionState) payment.State {
	all := fmt.Sprint(mix)
	has := func(s payment.InstructionState) bool { return strings.Contains(all, string(s)) }
	switch {
	case has("pending"):
		return payment.Pending
	case has("rejected") && (has("done") || has("accepted")):
		return payment.Partial
	case has("rejected"):
		return payment.Rejected
	case has("accepted"):
		return payment.Accepted
	}
	return payment.Done
}

// TestRollUp checks all combinations of the states of up to three instructions. A settled report
// makes open instructions done.
func TestRollUp(t *testing.T) {
	for lines := 1; lines <= 3; lines++ {
		combinations(lines, func(mix []payment.InstructionState) {
			report := payment.Report{Status: payment.Processing}
			for i, state := range mix {
				report.Lines = append(report.Lines, payment.Line{Position: i, State: state})
			}
			wantRollUp(t, lines, report, rolledUp(mix))
			report.Status = payment.Settled
			closed := strings.ReplaceAll(fmt.Sprint(mix), "pending", "done")
			wantRollUp(t, lines, report, rolledUp([]payment.InstructionState{payment.InstructionState(closed)}))
		})
	}
}

func wantRollUp(t *testing.T, lines int, report payment.Report, want payment.State) {
	t.Helper()
	p := made(t, lines)
	if _, err := p.Apply(report, now); err != nil || p.State != want {
		t.Errorf("%s of %v is %s, %v; want %s", report.Status, report.Lines, p.State, err, want)
	}
	wantCodes(t, p)
}

func wantCodes(t interface {
	Helper()
	Errorf(string, ...any)
}, p *payment.Payment,
) {
	t.Helper()
	if (p.ErrorCode != "") != (p.State == payment.Rejected) {
		t.Errorf("a payment that is %s has code %q", p.State, p.ErrorCode)
	}
	for _, in := range p.Instructions {
		if (in.ErrorCode != "") != (in.State == payment.InstructionRejected) {
			t.Errorf("a line that is %q has code %q", in.State, in.ErrorCode)
		}
	}
}

func TestNonsense(t *testing.T) {
	awaitingFields := func(fields ...payment.Field) payment.Report {
		return payment.Report{Status: payment.Awaiting, Action: payment.FillFields, Fields: fields}
	}
	tests := map[string]payment.Report{
		"nothing at all":          {},
		"unknown status":          {Status: "ACSC"},
		"unknown action":          {Status: payment.Awaiting, Action: "dance"},
		"unknown actor":           {Status: payment.Declined, By: "nobody"},
		"redirect to nowhere":     {Status: payment.Awaiting, Action: payment.Redirect},
		"a script":                {Status: payment.Awaiting, Action: payment.Redirect, ValidateURI: "javascript:alert(1)"},
		"a relative address":      {Status: payment.Awaiting, Action: payment.Redirect, ValidateURI: "/approve"},
		"an address with a break": {Status: payment.Awaiting, Action: payment.Redirect, ValidateURI: page + "\r\nX: y"},
		"an endless address":      {Status: payment.Awaiting, Action: payment.Redirect, ValidateURI: page + strings.Repeat("x", payment.MaxValidateURI)},
		"a line before the first": {Status: payment.Settled, Lines: []payment.Line{{Position: -1, State: payment.InstructionDone}}},
		"a line after the last":   {Status: payment.Settled, Lines: []payment.Line{{Position: 2, State: payment.InstructionDone}}},
		"unknown line state":      {Status: payment.Settled, Lines: []payment.Line{{Position: 0, State: "ACSC"}}},
		"a day in the year 10000": {Status: payment.Settled, Lines: []payment.Line{{Position: 0, State: payment.InstructionDone, Executed: day(t, "9999-12-31").AddDays(1)}}},
		"no line state":           {Status: payment.Settled, Lines: []payment.Line{{Position: 0}}},
		"a field without a name":  awaitingFields(payment.Field{Type: "text"}),
		"an unknown field type":   awaitingFields(payment.Field{Name: "a", Type: "file"}),
		"a field twice":           awaitingFields(payment.Field{Name: "a", Type: "text"}, payment.Field{Name: "a", Type: "list"}),
		"an endless name":         awaitingFields(payment.Field{Name: strings.Repeat("x", 256), Type: "text"}),
		"a list without a choice": awaitingFields(payment.Field{Name: "a", Type: "list", Required: true, Values: []payment.FieldValue{{Label: "None"}}}),
		"an endless pattern":      awaitingFields(payment.Field{Name: "a", Type: "text", Regex: strings.Repeat("x", 1001)}),
		"a choice with NUL":       awaitingFields(payment.Field{Name: "a", Type: "list", Values: []payment.FieldValue{{Value: "\x00"}}}),
		"too many fields":         awaitingFields(make([]payment.Field, 101)...),
		"unknown cancellation":    {Status: payment.Processing, Cancellation: "perhaps"},
		"approval of what":        {Status: payment.Processing, Cancellation: payment.CancellationAwaiting},
		"nowhere to approve":      {Status: payment.Processing, Cancellation: payment.CancellationAwaiting, Action: payment.Redirect},
		"a series of one":         {Status: payment.Processing, Occurrences: []payment.Occurrence{{Day: day(t, "2026-11-20")}}},
	}
	for name, report := range tests {
		t.Run(name, func(t *testing.T) {
			p := in(t, payment.Validating, 2)
			before := *p
			steps, err := p.Apply(report, now)
			if !errors.Is(err, payment.ErrSenseless) || steps != nil {
				t.Errorf("%v, %v", statesOf(steps), err)
			}
			wantNotes(t, p, "senselessReport "+err.Error())
			if diff := cmp.Diff(before, *p, dates); diff != "" {
				t.Errorf("the payment changed: %s", diff)
			}
			if len(err.Error()) > 300 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

// A report with an unknown word is refused. Its author learns the allowed words.
func TestNonsenseNamesTheAllowedWords(t *testing.T) {
	field := payment.Field{Name: "a", Type: "file"}
	for want, report := range map[string]payment.Report{
		`status "ACSC" is not one of awaiting, processing, settled, declined`:                          {Status: "ACSC"},
		`status "" is not one of awaiting, processing, settled, declined`:                              {},
		`action "dance" is not one of redirect, decoupled, additionalInformationNeeded, confirm, psuV`: {Status: payment.Awaiting, Action: "dance"},
		`actor "nobody" is not one of client, payer, bank, service`:                                    {Status: payment.Declined, By: "nobody"},
		`cancellation "perhaps" is not one of awaiting, granted, refused`:                              {Status: payment.Processing, Cancellation: "perhaps"},
		`line 1: state "ACSC" is not one of pending, rejected, done, accepted`:                         {Status: payment.Settled, Lines: []payment.Line{{Position: 1, State: "ACSC"}}},
		`field "a": type "file" is not one of text, list`:                                              {Status: payment.Awaiting, Action: payment.FillFields, Fields: []payment.Field{field}},
	} {
		if _, err := in(t, payment.Validating, 2).Apply(report, now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error %v does not say: %s", err, want)
		}
	}
}

func TestForeignTextIsBounded(t *testing.T) {
	flood := strings.Repeat("é\x00\xff<b>", 200_000)
	p := made(t, 2)
	report := payment.Report{
		Status: payment.Settled, Raw: flood, BankPaymentID: flood,
		Lines: []payment.Line{
			{Position: 0, State: payment.InstructionRejected, Code: "AM04", Description: flood},
			{Position: 1, State: payment.InstructionRejected, Code: "AC01"},
		},
	}
	steps, err := p.Apply(report, now)
	if err != nil {
		t.Fatal(err)
	}
	first := p.Instructions[0]
	for name, text := range map[string]struct {
		text  string
		limit int
	}{
		"description": {p.ErrorDescription, 1000},
		"of the line": {first.ErrorDescription, 1000},
		"raw":         {steps[0].Transition.Cause.Bank, 100},
		"bank id":     {p.BankPaymentID, 255},
	} {
		if n := utf8.RuneCountInString(text.text); n != text.limit || !utf8.ValidString(text.text) || strings.Contains(text.text, "\x00") {
			t.Errorf("%s has %d characters, want %d, all of them storable", name, n, text.limit)
		}
		if !strings.HasPrefix(text.text, "é\uFFFD<b>é") {
			t.Errorf("%s begins with %.20q", name, text.text)
		}
	}
	if second := p.Instructions[1]; second.ErrorCode != payment.NoSpecifiedReason || second.ErrorDescription != "AC01" {
		t.Errorf("the bank's word of a line is lost: %q %q", second.ErrorCode, second.ErrorDescription)
	}
}

func TestCodesOfTheBank(t *testing.T) {
	for _, code := range payment.ErrorCode("").Values() {
		wantReason(t, payment.Report{Code: payment.ErrorCode(code), Raw: "RJCT"}, payment.ErrorCode(code), "RJCT")
	}
	wantReason(t, payment.Report{Code: "AM04", Raw: "RJCT"}, payment.NoSpecifiedReason, "RJCT AM04")
	wantReason(t, payment.Report{Code: "AM04"}, payment.NoSpecifiedReason, "AM04")
	wantReason(t, payment.Report{Raw: "RJCT"}, payment.NoSpecifiedReason, "RJCT")
}

func wantReason(t *testing.T, r payment.Report, code payment.ErrorCode, word string) {
	t.Helper()
	r.Status = payment.Declined
	p := made(t, 1)
	steps, err := p.Apply(r, now)
	if err != nil {
		t.Fatal(err)
	}
	cause := payment.Cause{Trigger: payment.Refused, Actor: payment.ByBank, Bank: word}
	if p.ErrorCode != code || steps[0].Transition.Cause != cause {
		t.Errorf("%q: code %q, cause %+v", r.Code, p.ErrorCode, steps[0].Transition.Cause)
	}
}

func TestWhoDeclined(t *testing.T) {
	for _, by := range []payment.Actor{payment.ByClient, payment.ByPayer, payment.ByService} {
		for _, state := range []payment.State{payment.Created, payment.Validating, payment.Pending} {
			p, report := in(t, state, 1), declined
			report.By = by
			steps, err := p.Apply(report, now)
			if err != nil || len(steps) != 1 || steps[0].Transition.Cause.Actor != by {
				t.Errorf("declined by %s in %s: %+v, %v", by, state, steps, err)
			}
		}
	}
}

// TestDayOfExecution: the bank's day of execution is used for a done instruction. An instruction
// that the bank does not name gets the day on which the report arrives. An accepted instruction
// gets no day.
func TestDayOfExecution(t *testing.T) {
	p := made(t, 3)
	reported := day(t, "2026-11-20")
	report := settled
	report.Lines = []payment.Line{
		{Position: 0, State: payment.InstructionDone, Executed: reported, Code: payment.Bug, Description: "of no use"},
		{Position: 1, State: payment.InstructionAccepted, Executed: reported},
	}
	if _, err := p.Apply(report, now); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, in := range p.Instructions {
		got = append(got, fmt.Sprintf("%s %s %s", in.State, in.Executed, in.ErrorDescription))
	}
	want := []string{"done 2026-11-20 ", "accepted  ", "done 2026-11-21 "}
	if diff := cmp.Diff(want, got, cmpopts.AcyclicTransformer("trim", strings.TrimSpace)); diff != "" {
		t.Error(diff)
	}
}

func TestExpire(t *testing.T) {
	for _, state := range payment.States() {
		p := in(t, state, 2)
		if state == payment.Pending {
			p.Instructions[0].State = payment.InstructionDone
		}
		before := *p
		steps, err := p.Expire(now.Add(time.Hour))
		if state.Final() {
			if !errors.Is(err, payment.ErrIllegal) || p.State != state {
				t.Errorf("%s expires: %v", state, err)
			}
			continue
		}
		if err != nil || statesOf(steps) != "expired" || steps[0].Transition.Cause.Actor != payment.ByService {
			t.Errorf("%s: %+v, %v", state, steps, err)
		}
		if diff := cmp.Diff(before.Instructions, p.Instructions, dates); diff != "" {
			t.Errorf("the lines of a payment that was %s changed, though nobody knows what became of them: %s", state, diff)
		}
	}
}

func TestRefuse(t *testing.T) {
	for _, state := range payment.States() {
		p := in(t, state, 2)
		before := *p
		steps, err := p.Refuse(&payment.Refusal{Code: payment.CancelledByClient, Description: "changed\x00 mind"}, payment.Cause{Actor: payment.ByClient}, now)
		if state.Final() {
			if diff := cmp.Diff(before, *p, dates); !errors.Is(err, payment.ErrIllegal) || diff != "" {
				t.Errorf("%s: %v %s", state, err, diff)
			}
			continue
		}
		if err != nil || statesOf(steps) != "rejected" || p.ErrorCode != payment.CancelledByClient || p.ErrorDescription != "changed mind" {
			t.Errorf("%s: %+v, %v", state, steps, err)
		}
		if before.Instructions[0].State == payment.InstructionRejected {
			t.Error("a copy made before has changed")
		}
		wantCodes(t, p)
	}
}

func TestRefusalSaysWhy(t *testing.T) {
	if got := (&payment.Refusal{Code: payment.InvalidDate, Description: "private"}).Error(); got != "refused by the bank: invalidDate" {
		t.Error(got)
	}
}

// TestPicturesOfFields: only a data URL of a picture that is small enough is kept.
func TestPicturesOfFields(t *testing.T) {
	right := "data:image/png;base64,iVBORw0KGgo="
	for image, want := range map[string]string{
		right: right, "data:image/jpeg;base64,AAAA": "data:image/jpeg;base64,AAAA", "data:image/svg+xml;base64,AAAA": "", "data:text/html;base64,AAAA": "",
		"https://bank.example/a.png": "", "javascript:alert(1)": "", right + "\"": "", "data:image/png;base64," + strings.Repeat("A", payment.MaxFieldImage): "",
	} {
		p := in(t, payment.Validating, 1)
		if _, err := p.Apply(payment.Report{Status: payment.Awaiting, Action: payment.FillFields, Fields: []payment.Field{{Name: "code", Type: "text", Image: image}}}, now); err != nil || p.Fields[0].Image != want {
			t.Errorf("%.40s became %.40s, %v", image, p.Fields[0].Image, err)
		}
	}
}
