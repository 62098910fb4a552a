package payment_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"passerelle"
	"passerelle/payment"
)

func series(t testing.TB, frequency payment.Frequency, start, end string) payment.Instruction {
	t.Helper()
	in := payment.Instruction{DateType: payment.Periodic, Frequency: frequency, StartDate: day(t, start)}
	if end != "" {
		in.EndDate = day(t, end)
	}
	return in
}

func days(in payment.Instruction, most int) []string {
	var all []string
	for d := range payment.Occurrences(in) {
		if len(all) == most {
			break
		}
		all = append(all, d.String())
	}
	return all
}

func TestOccurrences(t *testing.T) {
	tests := []struct {
		frequency  payment.Frequency
		start, end string
		want       string
	}{
		{"daily", "2028-02-27", "", "2028-02-27 2028-02-28 2028-02-29 2028-03-01 2028-03-02"},
		{"daily", "2026-03-28", "2026-03-30", "2026-03-28 2026-03-29 2026-03-30"},
		{"weekly", "2026-12-24", "", "2026-12-24 2026-12-31 2027-01-07 2027-01-14 2027-01-21"},
		{"two-weekly", "2028-02-15", "", "2028-02-15 2028-02-29 2028-03-14 2028-03-28 2028-04-11"},
		{"monthly", "2027-01-15", "", "2027-01-15 2027-02-15 2027-03-15 2027-04-15 2027-05-15"},
		{"monthly", "2027-01-29", "", "2027-01-29 2027-02-28 2027-03-29 2027-04-29 2027-05-29"},
		{"monthly", "2028-01-30", "", "2028-01-30 2028-02-29 2028-03-30 2028-04-30 2028-05-30"},
		{"monthly", "2027-01-31", "", "2027-01-31 2027-02-28 2027-03-31 2027-04-30 2027-05-31"},
		{"monthly", "2027-01-31", "2027-04-29", "2027-01-31 2027-02-28 2027-03-31"},
		{"monthly", "2027-01-31", "2027-04-30", "2027-01-31 2027-02-28 2027-03-31 2027-04-30"},
		{"two-monthly", "2026-12-31", "", "2026-12-31 2027-02-28 2027-04-30 2027-06-30 2027-08-31"},
		{"quarterly", "2026-11-30", "", "2026-11-30 2027-02-28 2027-05-30 2027-08-30 2027-11-30"},
		{"four-monthly", "2026-10-31", "", "2026-10-31 2027-02-28 2027-06-30 2027-10-31 2028-02-29"},
		{"semiannually", "2026-08-31", "", "2026-08-31 2027-02-28 2027-08-31 2028-02-29 2028-08-31"},
		{"yearly", "2028-02-29", "", "2028-02-29 2029-02-28 2030-02-28 2031-02-28 2032-02-29"},
		{"yearly", "2096-02-29", "2104-12-31", "2096-02-29 2097-02-28 2098-02-28 2099-02-28 2100-02-28"},
		{"yearly", "2026-11-21", "2026-11-21", "2026-11-21"},
		{"yearly", "9998-11-21", "", "9998-11-21 9999-11-21"},
		{"daily", "9999-12-30", "", "9999-12-30 9999-12-31"},
	}
	for _, test := range tests {
		t.Run(string(test.frequency)+" "+test.start, func(t *testing.T) {
			got := days(series(t, test.frequency, test.start, test.end), 5)
			if diff := cmp.Diff(strings.Fields(test.want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNothingIsScheduled(t *testing.T) {
	sound := series(t, "monthly", "2027-01-31", "")
	for name, change := range map[string]func(*payment.Instruction){
		"not periodic":         func(in *payment.Instruction) { in.DateType = payment.Deferred },
		"no start":             func(in *payment.Instruction) { in.StartDate = passerelle.Date{} },
		"no frequency":         func(in *payment.Instruction) { in.Frequency = "" },
		"an unknown frequency": func(in *payment.Instruction) { in.Frequency = "hourly" },
		"the end came first":   func(in *payment.Instruction) { in.EndDate = day(t, "2027-01-30") },
	} {
		in := sound
		change(&in)
		if got := days(in, 5); got != nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestScheduleIsRegular: the scheduled days of any order ascend, and none is after the end date.
// With an interval of months, each occurrence has the start's day of the month or is the last day
// of a month.
func TestScheduleIsRegular(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := payment.Instruction{DateType: payment.Periodic, Frequency: rapid.SampledFrom(payment.Frequencies()).Draw(rt, "frequency")}
		in.StartDate = day(t, "2026-01-01").AddDays(rapid.IntRange(0, 1500).Draw(rt, "start"))
		in.EndDate = in.StartDate.AddDays(rapid.IntRange(0, 3000).Draw(rt, "length"))
		all := slices.Collect(payment.Occurrences(in))
		if len(all) == 0 || all[0] != in.StartDate || !slices.IsSortedFunc(all, passerelle.Date.Compare) {
			rt.Fatalf("%+v gives %v", in, all)
		}
		if last := all[len(all)-1]; last.Compare(in.EndDate) > 0 || len(slices.Compact(slices.Clone(all))) != len(all) {
			rt.Fatalf("%+v gives %v", in, all)
		}
		inDays := slices.Contains([]payment.Frequency{"daily", "weekly", "two-weekly"}, in.Frequency)
		for _, d := range all {
			monthEnds := strings.HasSuffix(d.AddDays(1).String(), "-01")
			if !inDays && !monthEnds && d.String()[8:] != in.StartDate.String()[8:] {
				rt.Fatalf("%+v has an occurrence on %s", in, d)
			}
		}
	})
}

func active(t testing.TB) *payment.Payment {
	t.Helper()
	d := draft(1)
	in := &d.Instructions[0]
	in.DateType, in.Frequency, in.StartDate = payment.Periodic, "monthly", day(t, "2026-11-30")
	p, _, err := payment.New(d, payment.Policy{Periodic: true}, random(), now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(processing, now); err != nil {
		t.Fatal(err)
	}
	return p
}

// executions reads a text such as "2026-11-30 2026-12-30:insufficientFunds".
func executions(t testing.TB, text string) []payment.Occurrence {
	t.Helper()
	var all []payment.Occurrence
	for word := range strings.FieldsSeq(text) {
		when, code, _ := strings.Cut(word, ":")
		all = append(all, payment.Occurrence{Day: day(t, when), Code: payment.ErrorCode(code)})
	}
	return all
}

// TestExecutionsOfASeries: each execution gets one note. Executed is the day of the last successful
// execution.
func TestExecutionsOfASeries(t *testing.T) {
	const first = "2026-11-30"
	reported := []struct {
		status   payment.Status
		days     string
		state    payment.State
		executed string
		notes    []string
	}{
		{payment.Processing, "", payment.Pending, "", nil},
		{payment.Processing, first, payment.Pending, first, []string{"occurrence 2026-11-30"}},
		{payment.Processing, first, payment.Pending, first, nil},
		{payment.Processing, "", payment.Pending, first, nil},
		{payment.Processing, first + " 2026-12-30:insufficientFunds", payment.Pending, first, []string{"occurrenceFailed 2026-12-30 insufficientFunds"}},
		{payment.Processing, first + " 2026-12-30:insufficientFunds", payment.Pending, first, nil},
		{payment.Processing, first + " 2026-12-30:insufficientFunds 2027-01-30:AM04 2027-02-28", payment.Pending, "2027-02-28", []string{"occurrenceFailed 2027-01-30 noSpecifiedReason", "occurrence 2027-02-28"}},
		{payment.Processing, "2027-02-28:bug", payment.Pending, "2027-02-28", nil},
		{payment.Settled, "2027-03-30", payment.Done, "2027-03-30", []string{"occurrence 2027-03-30"}},
	}
	p := active(t)
	for i, r := range reported {
		before := *p
		if _, err := p.Apply(payment.Report{Status: r.status, Occurrences: executions(t, r.days)}, now); err != nil {
			t.Fatal(err)
		}
		if in := p.Instructions[0]; p.State != r.state || in.Executed.String() != r.executed {
			t.Errorf("report %d leaves %s executed on %s", i, p.State, in.Executed)
		}
		if before.Instructions[0].State != payment.InstructionPending || len(before.Notes) > 0 {
			t.Errorf("report %d changes a copy made before", i)
		}
		wantNotes(t, p, r.notes...)
	}
}

// TestRepeatedExecution: a bank tries a failed execution again on the same day, and succeeds. The
// success gets a note of its own, once. Otherwise the timeline would say only that the execution failed.
func TestRepeatedExecution(t *testing.T) {
	const failed, both = "2026-11-30 2026-12-30:insufficientFunds", "2026-11-30 2026-12-30:insufficientFunds 2026-12-30"
	for name, then := range map[string]string{"in place of the failure": "2026-11-30 2026-12-30", "beside the failure": both} {
		p := active(t)
		for i, r := range []struct {
			days  string
			notes []string
		}{
			{failed, []string{"occurrence 2026-11-30", "occurrenceFailed 2026-12-30 insufficientFunds"}},
			{failed, nil},
			{then, []string{"occurrence 2026-12-30"}},
			{then, nil},
			{then + " 2027-01-30", []string{"occurrence 2027-01-30"}},
		} {
			if _, err := p.Apply(payment.Report{Status: payment.Processing, Occurrences: executions(t, r.days)}, now); err != nil {
				t.Fatal(err)
			}
			if in := p.Instructions[0]; i >= 2 && in.Executed.Compare(day(t, "2026-12-30")) < 0 {
				t.Errorf("%s, report %d: executed on %s", name, i+1, in.Executed)
			}
			wantNotes(t, p, r.notes...)
		}
	}
}

// TestNotesOfASeries: a note about an execution has the day of the execution and the bank's own
// status word. Other notes of the same report have no day.
func TestNotesOfASeries(t *testing.T) {
	p := active(t)
	p.AskCancellation(payment.CancelledByClient, "https://client.example/back", "")
	_, err := p.Apply(payment.Report{
		Status: payment.Processing, Raw: "ACSC\x00", Occurrences: executions(t, "2026-11-30 2026-12-30:bug"), Cancellation: payment.CancellationRefused,
	}, now)
	want := []payment.Note{
		{At: now, Kind: payment.NoteCancellationRefused, Actor: payment.ByBank, Bank: "ACSC"},
		{At: now, Kind: payment.NoteOccurrence, Actor: payment.ByBank, Bank: "ACSC", Text: "2026-11-30", Day: day(t, "2026-11-30")},
		{At: now, Kind: payment.NoteOccurrenceFailed, Actor: payment.ByBank, Bank: "ACSC", Text: "2026-12-30 bug", Day: day(t, "2026-12-30")},
	}
	if diff := cmp.Diff(want, p.TakeNotes(), cmpopts.EquateComparable(passerelle.Date{})); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestNotesOfBadReports: notes about stale and invalid reports also have the bank's own status
// word.
func TestNotesOfBadReports(t *testing.T) {
	p := active(t)
	for _, r := range []payment.Report{{Status: payment.Awaiting, Raw: "RCVD"}, {Status: "gone", Raw: "lost\x00"}} {
		if _, err := p.Apply(r, now); err == nil {
			t.Errorf("%+v is followed", r)
		}
	}
	if notes := p.TakeNotes(); len(notes) != 2 || notes[0].Bank != "RCVD" || notes[1].Bank != "lost" {
		t.Errorf("notes %+v", notes)
	}
}

// TestStoppedSeries: a periodic payment that is cancelled after some executions gets the code of
// the cancellation, and keeps the day of the last execution.
func TestStoppedSeries(t *testing.T) {
	p := active(t)
	p.AskCancellation(payment.CancelledByUser, "https://client.example/back", "")
	report := about(processing, payment.CancellationGranted)
	report.Occurrences = executions(t, "2026-11-30")
	steps, err := p.Apply(report, now)
	if err != nil || statesOf(steps) != "rejected" || p.ErrorCode != payment.CancelledByUser || p.Instructions[0].Executed.String() != "2026-11-30" {
		t.Errorf("%s %s %+v, %v", statesOf(steps), p.ErrorCode, p.Instructions[0], err)
	}
	wantNotes(t, p, "occurrence 2026-11-30")
}

// TestSeriesWhoseBankTellsNothing: when the bank reports no executions, its connector settles the
// instruction as accepted, and so the payment ends as accepted.
func TestSeriesWhoseBankTellsNothing(t *testing.T) {
	p := active(t)
	report := payment.Report{Status: payment.Settled, Lines: every(1, payment.InstructionAccepted)}
	if _, err := p.Apply(report, now); err != nil || p.State != payment.Accepted || !p.Instructions[0].Executed.IsZero() {
		t.Errorf("%s executed on %s, %v", p.State, p.Instructions[0].Executed, err)
	}
	wantNotes(t, p)
}

// TestManyExecutions checks that the memory for a long report grows with the number of executions,
// not with its square. One note has less than 200 bytes.
func TestManyExecutions(t *testing.T) {
	p, all := active(t), make([]payment.Occurrence, payment.MaxOccurrences)
	for n := range all {
		all[n].Day = day(t, "2026-11-21").AddDays(n)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := p.Apply(payment.Report{Status: payment.Processing, Occurrences: all}, now); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if notes := p.TakeNotes(); len(notes) != len(all) {
		t.Errorf("%d notes of %d executions", len(notes), len(all))
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 10*200*payment.MaxOccurrences {
		t.Errorf("the report took %d bytes", used)
	}
}

func TestNonsenseAboutASeries(t *testing.T) {
	for name, all := range map[string][]payment.Occurrence{
		"no day":   {{}},
		"disorder": executions(t, "2026-12-30 2026-11-30"),
		"a flood":  make([]payment.Occurrence, payment.MaxOccurrences+1),
		"too late": {{Day: day(t, "2026-11-30")}, {Day: day(t, "9999-12-31").AddDays(1)}},
		"too soon": {{Day: day(t, "0001-01-01").AddDays(-1)}, {Day: day(t, "2026-11-30")}},
	} {
		p := active(t)
		before := *p
		_, err := p.Apply(payment.Report{Status: payment.Settled, Occurrences: all}, now)
		wantNotes(t, p, "senselessReport "+fmt.Sprint(err))
		if diff := cmp.Diff(before, *p, dates); !errors.Is(err, payment.ErrSenseless) || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// TestEachExecutionIsReportedOnce: each execution gets one note, even if the bank reports an
// execution again or several executions together.
func TestEachExecutionIsReportedOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := active(t)
		codes := rapid.SliceOfN(rapid.SampledFrom(words), 1, 12).Draw(rt, "codes")
		var all []payment.Occurrence
		var succeeded string
		for d := range payment.Occurrences(p.Instructions[0]) {
			if len(all) == len(codes) {
				break
			}
			all = append(all, payment.Occurrence{Day: d, Code: codes[len(all)]})
			if all[len(all)-1].Code == "" {
				succeeded = d.String()
			}
		}
		for _, reported := range rapid.SliceOf(rapid.IntRange(0, len(all))).Draw(rt, "told at a time") {
			if _, err := p.Apply(payment.Report{Status: payment.Processing, Occurrences: all[:reported]}, now); err != nil {
				rt.Fatal(err)
			}
		}
		if _, err := p.Apply(payment.Report{Status: payment.Processing, Occurrences: all}, now); err != nil {
			rt.Fatal(err)
		}
		if notes := p.TakeNotes(); len(notes) != len(all) || p.Instructions[0].Executed.String() != succeeded || p.State != payment.Pending {
			rt.Fatalf("%d notes of %d executions, the last on %s: %+v", len(notes), len(all), p.Instructions[0].Executed, notes)
		}
	})
}
