package passerelle_test

import (
	"testing"
	"time"

	"passerelle"
)

func TestClock(t *testing.T) {
	real := time.Date(2026, 11, 21, 9, 0, 0, 0, time.FixedZone("CET", 3600))
	frozen := time.Date(2027, 1, 1, 1, 0, 0, 0, time.FixedZone("CET", 3600))
	tests := []struct {
		name  string
		clock passerelle.Clock
		want  string
	}{
		{"real", passerelle.Clock{}, "2026-11-21T08:00:00Z"},
		{"advanced", passerelle.Clock{Offset: 25 * time.Hour}, "2026-11-22T09:00:00Z"},
		{"frozen", passerelle.Clock{Offset: time.Hour, Frozen: &frozen}, "2027-01-01T00:00:00Z"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.clock.Now(real).Format(time.RFC3339); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
