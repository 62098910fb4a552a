package passerelle_test

import (
	"errors"
	"strings"
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

func TestInstants(t *testing.T) {
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"2026-11-20 10:00:01": "2026-11-20T10:00:01+01:00", "2026-07-20": "2026-07-20T00:00:00+02:00",
		"2026-11": "2026-11-01T00:00:00+01:00", "2026": "2026-01-01T00:00:00+01:00",
	} {
		if got, err := passerelle.ParseInstant("since", text, paris); err != nil || got.In(paris).Format(time.RFC3339) != want {
			t.Errorf("%s is %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "2026-02-30", "2026-11-20 25:00:00", "2026-11-20T10:00:00Z"} {
		if got, err := passerelle.ParseInstant("since", text, paris); !errors.Is(err, passerelle.Invalid) || !strings.Contains(err.Error(), "since: must be a DateTime YYYY-MM-DD HH:MM:SS or a date YYYY-MM-DD that exists, such as ") {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
}

// A local time that a clock change repeats counts from its first occurrence to the end of its last
// one. A time that a clock change skips is the instant of the change.
func TestIntervalsAtClockChanges(t *testing.T) {
	for _, test := range []struct{ zone, text, from, until string }{
		{"UTC", "2026-11-20 10:00:01", "2026-11-20T10:00:01Z", "2026-11-20T10:00:02Z"},
		{"UTC", "9999-12-31 23:59:59", "9999-12-31T23:59:59Z", "10000-01-01T00:00:00Z"},
		{"UTC", "0001-01-01 00:00:00", "0001-01-01T00:00:00Z", "0001-01-01T00:00:01Z"},
		{"Europe/Paris", "2027-10-31", "2027-10-30T22:00:00Z", "2027-10-31T23:00:00Z"},
		{"Europe/Paris", "2027-10-31 01:59:59", "2027-10-30T23:59:59Z", "2027-10-31T00:00:00Z"},
		{"Europe/Paris", "2027-10-31 02:20:00", "2027-10-31T00:20:00Z", "2027-10-31T01:20:01Z"},
		{"Europe/Paris", "2027-10-31 03:00:00", "2027-10-31T02:00:00Z", "2027-10-31T02:00:01Z"},
		{"Europe/Paris", "2027-03-28 02:00:00", "2027-03-28T01:00:00Z", "2027-03-28T01:00:00Z"},
		{"Europe/Paris", "2027-03-28 02:59:59", "2027-03-28T01:00:00Z", "2027-03-28T01:00:00Z"},
		{"America/New_York", "2026-11-01 01:30:00", "2026-11-01T05:30:00Z", "2026-11-01T06:30:01Z"},
		{"America/New_York", "2027-03-14 02:30:00", "2027-03-14T07:00:00Z", "2027-03-14T07:00:00Z"},
		{"Australia/Lord_Howe", "2027-04-04 01:45:00", "2027-04-03T14:45:00Z", "2027-04-03T15:15:01Z"},
		{"Australia/Lord_Howe", "2026-10-04 02:15:00", "2026-10-03T15:30:00Z", "2026-10-03T15:30:00Z"},
		{"Pacific/Apia", "2011-12-30 12:00:00", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"},
	} {
		from, until, err := passerelle.ParseInterval("since", test.text, zone(t, test.zone))
		if err != nil {
			t.Errorf("%s in %s: %v", test.text, test.zone, err)
			continue
		}
		if got := from.UTC().Format(time.RFC3339); got != test.from {
			t.Errorf("%s in %s is from %s, want %s", test.text, test.zone, got, test.from)
		}
		if got := until.UTC().Format(time.RFC3339); got != test.until {
			t.Errorf("%s in %s is until %s, want %s", test.text, test.zone, got, test.until)
		}
		if first, err := passerelle.ParseInstant("since", test.text, zone(t, test.zone)); err != nil || !first.Equal(from) {
			t.Errorf("%s in %s is %s, %v, want %s", test.text, test.zone, first, err, from)
		}
	}
}

// The interval of a time contains each instant at which the clocks show it.
func TestIntervalsContainTheirInstants(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Paris", "America/Havana", "Australia/Lord_Howe", "Africa/Casablanca"} {
		loc := zone(t, name)
		end := time.Date(2027, 12, 1, 0, 0, 0, 0, time.UTC)
		for at := time.Date(2026, 12, 1, 0, 7, 0, 0, time.UTC); at.Before(end); at = at.Add(15 * time.Minute) {
			text := passerelle.FormatDateTime(at, loc)
			from, until, err := passerelle.ParseInterval("since", text, loc)
			if err != nil || from.After(at) || !until.After(at) || passerelle.FormatDateTime(from, loc) != text {
				t.Fatalf("%s in %s is from %s to %s, %v, want %s in it", text, name, from, until, err, at)
			}
		}
	}
}
