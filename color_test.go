package passerelle_test

import (
	"math"
	"strings"
	"testing"

	"passerelle"
)

func TestContrastOfColours(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want float64
	}{
		{"#000000", "#ffffff", 21},
		{"ffffff", "#FFFFFF", 1},
		{"#777777", "#ffffff", 4.48},
		{"#767676", "#ffffff", 4.54},
		{"#ff0000", "#ffffff", 4},
		{"#0000ff", "#ffffff", 8.59},
		{"#ff8800", "#ffffff", 2.39},
	} {
		a, err := passerelle.ParseColor("a", test.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := passerelle.ParseColor("b", test.b)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Contrast(b); math.Abs(got-test.want) > 0.005 || got != b.Contrast(a) {
			t.Errorf("%s and %s have a contrast of %v and %v, want %v", a, b, got, b.Contrast(a), test.want)
		}
	}
}

func TestWrongAndFaintColoursAreRefused(t *testing.T) {
	for _, text := range []string{"", "#", "red", "#12345", "#1234567", "##12345", "12345g", "#12 456"} {
		_, err := passerelle.ParseColor("primary_color", text)
		wantField(t, err, "primary_color")
	}
	orange := passerelle.Color{Red: 0xff, Green: 0x88}
	err := orange.CheckSeen("primary_color", passerelle.TextContrast)
	wantField(t, err, "primary_color")
	for _, want := range []string{"#ff8800", "2.18:1", "#f2f5f4", "4.5:1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %s", err, want)
		}
	}
	if err := (passerelle.Color{Red: 0x15, Green: 0x5e, Blue: 0x63}).CheckSeen("primary_color", passerelle.TextContrast); err != nil {
		t.Error(err)
	}
}

func TestMixedColours(t *testing.T) {
	black, white := passerelle.Color{}, passerelle.Color{Red: 255, Green: 255, Blue: 255}
	for hundredths, want := range map[int]string{0: "#000000", 20: "#333333", 100: "#ffffff"} {
		if got := black.Mix(white, hundredths).String(); got != want {
			t.Errorf("%d hundredths of white make %s, want %s", hundredths, got, want)
		}
	}
}
