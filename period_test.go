package passerelle_test

import (
	"testing"
	"time"

	"passerelle"
)

func TestParsePeriod(t *testing.T) {
	tests := []struct{ text, zone, start, end string }{
		{"2024-03-01", "UTC", "2024-03-01T00:00:00Z", "2024-03-02T00:00:00Z"},
		{"2024-02", "UTC", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"},
		{"2024-12", "UTC", "2024-12-01T00:00:00Z", "2025-01-01T00:00:00Z"},
		{"2024", "UTC", "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"},
		{"9999", "UTC", "9999-01-01T00:00:00Z", "10000-01-01T00:00:00Z"},
		{"0001", "UTC", "0001-01-01T00:00:00Z", "0002-01-01T00:00:00Z"},
		{"2024-03", "Europe/Paris", "2024-02-29T23:00:00Z", "2024-03-31T22:00:00Z"},
		{"2024-03-31", "Europe/Paris", "2024-03-30T23:00:00Z", "2024-03-31T22:00:00Z"},
	}
	for _, test := range tests {
		t.Run(test.text+" "+test.zone, func(t *testing.T) {
			period, err := passerelle.ParsePeriod("min_date", test.text)
			if err != nil {
				t.Fatal(err)
			}
			loc := zone(t, test.zone)
			start, end := period.Start(loc).UTC().Format(time.RFC3339), period.End(loc).UTC().Format(time.RFC3339)
			if start != test.start || end != test.end || period.String() != test.text {
				t.Errorf("%s is from %s to %s, want from %s to %s", period, start, end, test.start, test.end)
			}
		})
	}
}

func TestParsePeriodRefuses(t *testing.T) {
	for _, s := range []string{"", "0000", "24", "2024-", "2024-13", "2024-00", "2024-02-30", "2024-3", "2024-03-01 00:00:00", "today", "20240301", "-024"} {
		_, err := passerelle.ParsePeriod("max_date", s)
		wantField(t, err, "max_date")
	}
	if none := (passerelle.Period{}); !none.IsZero() || none.String() != "" {
		t.Errorf("no period is %q", none)
	}
}

func FuzzParsePeriod(f *testing.F) {
	for _, s := range []string{"2024-03-01", "2024-03", "2024", "9999", "0001-01", "2024-02-30"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		period, err := passerelle.ParsePeriod("min_date", s)
		if err != nil {
			wantField(t, err, "min_date")
			return
		}
		if period.String() != s {
			t.Fatalf("%q reads as %s", s, period)
		}
		start, end := period.Start(time.UTC), period.End(time.UTC)
		if !start.Before(end) {
			t.Fatalf("%s is from %s to %s", s, start, end)
		}
		last, err := passerelle.ParsePeriod("min_date", end.Add(-time.Nanosecond).Format(time.DateOnly)[:len(s)])
		if err != nil || last != period {
			t.Fatalf("the last instant of %s lies in %s, %v", s, last, err)
		}
	})
}
