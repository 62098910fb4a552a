package payment_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// days are the first occurrences, at most so many.
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

// TestScheduleIsRegular: whatever the order, its days follow each other within
// its bounds, and those of months keep to the day of the start or the month's
// end.
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
