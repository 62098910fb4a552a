package passerelle_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"passerelle"
)

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0s": 0, "15m": 15 * time.Minute, "36h": 36 * time.Hour, "1h30m": 90 * time.Minute, "2d": 2 * day, "0d": 0,
		"2d12h": 60 * time.Hour, "-5m": -5 * time.Minute, "65535d": 65535 * day, "65535d2000000h": math.MaxInt64,
	} {
		got, err := passerelle.ParseDuration("advance", text)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "soon", "5", "1.5d", "-1d", "65536d", "1d2d", "2h1d", "1 d", "3000000h", "1d5"} {
		_, err := passerelle.ParseDuration("advance", text)
		var fault *passerelle.Error
		if !errors.As(err, &fault) || fault.Kind != passerelle.Invalid || fault.Field != "advance" {
			t.Errorf("%q: %v", text, err)
		}
	}
}
