package passerelle_test

import (
	"testing"
	"time"

	"passerelle"
)

func TestDateTime(t *testing.T) {
	paris := zone(t, "Europe/Paris")
	instant := time.Date(2022, 9, 29, 6, 5, 30, 999, time.UTC)
	if got := passerelle.FormatDateTime(instant, paris); got != "2022-09-29 08:05:30" {
		t.Errorf("formatted as %q", got)
	}
	for year, want := range map[int]string{0: "0000-06-05 01:02:03", 9999: "9999-06-05 01:02:03", 10000: "10000-06-05 01:02:03", -1: "-0001-06-05 01:02:03"} {
		if got := passerelle.FormatDateTime(time.Date(year, 6, 5, 1, 2, 3, 0, time.UTC), time.UTC); got != want {
			t.Errorf("the year %d is formatted as %q", year, got)
		}
	}
	for name, want := range map[string]string{"Asia/Kathmandu": "2022-09-29 11:50:30", "America/St_Johns": "2022-09-29 03:35:30"} {
		if got := passerelle.FormatDateTime(instant, zone(t, name)); got != want {
			t.Errorf("in %s it is formatted as %q", name, got)
		}
	}
	got, err := passerelle.ParseDateTime("set", "2022-09-29 08:05:30", paris)
	if err != nil || !got.Equal(instant.Truncate(time.Second)) {
		t.Errorf("parsed as %v, %v", got, err)
	}
}

func TestParseDateTimeRefuses(t *testing.T) {
	for _, s := range []string{
		"", "2022-09-29", "2022-09-29T08:05:30", "2022-09-29 08:05:30Z", "2022-09-29 08:05", "2022-09-29 8:05:30",
		"2022-09-29 08:05:30.5", "2022-09-29 24:00:00", "2022-02-30 00:00:00", "2022-03-27 02:30:00", "0000-01-01 00:00:00",
	} {
		_, err := passerelle.ParseDateTime("set", s, zone(t, "Europe/Paris"))
		wantField(t, err, "set")
	}
}
