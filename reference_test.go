package passerelle_test

import (
	"bytes"
	"strings"
	"testing"

	"passerelle"
)

func TestCheckReference(t *testing.T) {
	for _, s := range []string{"a", "INV-2026/0042", "(a) b? c: d. e, f' g+", strings.Repeat("x", 31)} {
		if err := passerelle.CheckReference("reference_id", s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{
		"", " ", " a", "a ", "/a", "a/", "a//b", "é", "a_b", "a&b", "a\nb", "a\x00", "\xff", strings.Repeat("x", 32),
	} {
		wantField(t, passerelle.CheckReference("instructions[0].reference_id", s), "instructions[0].reference_id")
	}
}

func TestNewReference(t *testing.T) {
	tests := []struct {
		name            string
		scheme          passerelle.AccountScheme
		position, count int
		length          int
		suffix          string
	}{
		{"single SEPA", passerelle.IBAN, 1, 1, 31, ""},
		{"single sort code", passerelle.SortCode, 1, 1, 18, ""},
		{"first of a bulk", passerelle.IBAN, 1, 2, 31, "-1"},
		{"last of the largest bulk", passerelle.IBAN, 1000, 1000, 31, "-1000"},
		{"last of the largest sort code bulk", passerelle.SortCode, 1000, 1000, 18, "-1000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			id := passerelle.NewReference([31]byte(bytes.Repeat([]byte{7}, 31)), test.scheme, test.position, test.count)
			if len(id) != test.length || !strings.HasSuffix(id, test.suffix) || test.suffix == "" && strings.Contains(id, "-") {
				t.Errorf("got %q of %d characters, want %d and suffix %q", id, len(id), test.length, test.suffix)
			}
			if err := passerelle.CheckReference("reference_id", id); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNewReferenceUsesItsRandomness(t *testing.T) {
	var random [31]byte
	first := passerelle.NewReference(random, passerelle.IBAN, 1, 1)
	for i := range random {
		changed := random
		changed[i]++
		if passerelle.NewReference(changed, passerelle.IBAN, 1, 1) == first {
			t.Errorf("byte %d is not used", i)
		}
	}
	if random != [31]byte{} {
		t.Error("the caller's bytes were changed")
	}
}
