package passerelle_test

import (
	"testing"

	cldr "github.com/bojanz/currency"
	"github.com/google/go-cmp/cmp"

	"passerelle"
)

func TestCurrencyDetails(t *testing.T) {
	tests := map[passerelle.Currency]passerelle.CurrencyDetails{
		"EUR": {Name: "Euro", Symbol: "€", Precision: 2},
		"GBP": {Name: "Pound Sterling", Symbol: "£", Prefix: true, Precision: 2},
		"USD": {Name: "US Dollar", Symbol: "$", Prefix: true, Precision: 2},
		"JPY": {Name: "Yen", Symbol: "¥", Prefix: true},
		"PLN": {Name: "Zloty", Symbol: "PLN", Precision: 2},
		"TND": {Name: "Tunisian Dinar", Symbol: "TND", Precision: 3},
		"XCG": {Name: "Caribbean Guilder", Symbol: "Cg.", Prefix: true, Precision: 2},
		"BGN": {Name: "Bulgarian Lev", Symbol: "BGN", Precision: 2},
		"XBT": {Name: "Bitcoin", Symbol: "₿", Prefix: true, Crypto: true, Precision: 8},
		"QQQ": {Name: "QQQ", Symbol: "QQQ"},
	}
	for currency, want := range tests {
		if diff := cmp.Diff(want, currency.Details()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", currency, diff)
		}
	}
}

func TestParseCurrency(t *testing.T) {
	for _, code := range []string{"EUR", "GBP", "JPY", "XCG", "ZWG"} {
		if got, err := passerelle.ParseCurrency("currency", code); err != nil || string(got) != code {
			t.Errorf("%s: got %q, %v", code, got, err)
		}
	}
	for _, code := range []string{"", "eur", "EU", "EURO", "QQQ", "BGN", "XBT", "XXX", "EUR ", "€"} {
		_, err := passerelle.ParseCurrency("instructions[2].currency", code)
		wantField(t, err, "instructions[2].currency")
	}
}

// Each currency that the library lists must have a name in this package. Otherwise ParseCurrency
// refuses it.
func TestEveryCurrencyHasAName(t *testing.T) {
	for _, code := range cldr.GetCurrencyCodes() {
		if details := passerelle.Currency(code).Details(); details.Name == code {
			t.Errorf("%s has no name", code)
		}
	}
}
