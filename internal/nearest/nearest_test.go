package nearest_test

import (
	"strings"
	"testing"

	"passerelle/internal/nearest"
)

func TestName(t *testing.T) {
	known := []string{"limit", "offset", "min_date", "max_date"}
	for name, want := range map[string]string{
		"limi": "limit", "LIMIT": "limit", "ofset": "offset", "min-date": "min_date", "colour": "", "": "", strings.Repeat("limit", 20): "",
	} {
		if got := nearest.Name(name, known); got != want {
			t.Errorf("%q means %q, want %q", name, got, want)
		}
	}
}
