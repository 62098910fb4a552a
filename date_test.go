package passerelle_test

import (
	"testing"
	"time"
	_ "time/tzdata"

	"passerelle"
)

func mustDate(t *testing.T, s string) passerelle.Date {
	t.Helper()
	d, err := passerelle.ParseDate("date", s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestParseDate(t *testing.T) {
	for _, s := range []string{"2024-03-01", "2024-02-29", "0001-01-01", "9999-12-31", "2000-02-29"} {
		if got := mustDate(t, s); got.String() != s {
			t.Errorf("%s reads as %s", s, got)
		}
	}
	for _, s := range []string{
		"", "2024-3-1", "2024-02-30", "2023-02-29", "1900-02-29", "2024-13-01", "2024-00-10", "2024-01-00", "0000-01-01",
		"2024/03/01", "2024-03-01 ", " 2024-03-01", "20240301", "2024-03", "+024-03-01", "2024-03-0a", "2024-03-01T00:00:00Z",
	} {
		_, err := passerelle.ParseDate("instructions[0].execution_date", s)
		wantField(t, err, "instructions[0].execution_date")
	}
}

func TestDateArithmetic(t *testing.T) {
	tests := []struct {
		from         string
		days, months int
		want         string
	}{
		{"2024-02-28", 1, 0, "2024-02-29"},
		{"2024-12-31", 1, 0, "2025-01-01"},
		{"2024-03-01", -1, 0, "2024-02-29"},
		{"2024-01-31", 0, 1, "2024-02-29"},
		{"2023-01-31", 0, 1, "2023-02-28"},
		{"2023-08-31", 0, 6, "2024-02-29"},
		{"2024-01-15", 0, -2, "2023-11-15"},
		{"2024-12-31", 0, 12, "2025-12-31"},
	}
	for _, test := range tests {
		if got := mustDate(t, test.from).AddMonths(test.months).AddDays(test.days); got.String() != test.want {
			t.Errorf("%s + %d months + %d days is %s, want %s", test.from, test.months, test.days, got, test.want)
		}
	}
	if got := mustDate(t, "2026-11-21").Weekday(); got != time.Saturday {
		t.Errorf("weekday %s", got)
	}
}

func TestNoDate(t *testing.T) {
	var none passerelle.Date
	if !none.IsZero() || none.String() != "" || !none.AddDays(1).IsZero() || !none.AddMonths(1).IsZero() {
		t.Error("no date does not stay no date")
	}
	if none.Compare(mustDate(t, "0001-01-01")) >= 0 {
		t.Error("no date does not come first")
	}
}

func TestDateOf(t *testing.T) {
	instant := time.Date(2024, 3, 31, 23, 30, 0, 0, time.UTC)
	if got := passerelle.DateOf(instant, time.UTC); got != mustDate(t, "2024-03-31") {
		t.Errorf("in UTC: %s", got)
	}
	if got := passerelle.DateOf(instant, zone(t, "Europe/Paris")); got != mustDate(t, "2024-04-01") {
		t.Errorf("in Paris: %s", got)
	}
}

// Date.In returns the first instant of a day, even in a zone that changed its clocks at midnight or
// skipped a day.
func TestStartOfEveryDay(t *testing.T) {
	for _, name := range []string{
		"UTC", "Europe/Paris", "America/Sao_Paulo", "America/Havana", "Asia/Beirut", "Africa/Cairo", "Pacific/Apia",
		"Atlantic/Azores", "Asia/Amman", "America/Scoresbysund", "Australia/Lord_Howe", "America/Asuncion",
	} {
		loc := zone(t, name)
		last := mustDate(t, "2025-01-01")
		for day := mustDate(t, "2005-01-01"); day.Compare(last) < 0; day = day.AddDays(1) {
			start := day.In(loc)
			if passerelle.DateOf(start, loc).Compare(day) < 0 {
				t.Errorf("%s in %s starts at %s, too early", day, name, start)
			}
			if passerelle.DateOf(start.Add(-time.Nanosecond), loc).Compare(day) >= 0 {
				t.Errorf("%s in %s starts at %s, too late", day, name, start)
			}
		}
	}
}

func FuzzParseDate(f *testing.F) {
	for _, s := range []string{"2024-02-29", "0001-01-01", "9999-12-31", "2023-02-29", "2024-1-1", "١٢٣٤-01-01"} {
		f.Add(s, 1)
	}
	f.Fuzz(func(t *testing.T, s string, days int) {
		d, err := passerelle.ParseDate("date", s)
		if err != nil {
			wantField(t, err, "date")
			return
		}
		if d.String() != s {
			t.Fatalf("%q reads as %s", s, d)
		}
		days %= 1_000_000
		if back := d.AddDays(days).AddDays(-days); back != d {
			t.Fatalf("%s and %d days forth and back is %s", d, days, back)
		}
		if passerelle.DateOf(d.In(time.UTC), time.UTC) != d {
			t.Fatalf("%s does not start on itself", d)
		}
	})
}
