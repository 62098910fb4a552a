package passerelle_test

import (
	"testing"

	"passerelle"
)

func TestParseCountry(t *testing.T) {
	for _, code := range []string{"FR", "AD", "ZW", "GB", "SS"} {
		if got, err := passerelle.ParseCountry("birth_country", code); err != nil || got != code {
			t.Errorf("%s: got %q, %v", code, got, err)
		}
	}
	for _, code := range []string{"", "fr", "F", "FRA", "EU", "UK", "XX", "D ", " A", "DA AE"} {
		_, err := passerelle.ParseCountry("birth_country", code)
		wantField(t, err, "birth_country")
	}
}
