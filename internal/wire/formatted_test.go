package wire_test

import (
	"testing"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/wire"
)

func TestFormattedValues(t *testing.T) {
	for _, test := range []struct {
		value    string
		currency passerelle.Currency
		want     string
	}{
		{"7481.01", "EUR", "7 481,01\u00a0€"},
		{"-7481.01", "EUR", "-7 481,01\u00a0€"},
		{"0", "EUR", "0,00\u00a0€"},
		{"0.005", "EUR", "0,00\u00a0€"},
		{"999", "EUR", "999,00\u00a0€"},
		{"-1234567890.5", "EUR", "-1 234 567 890,50\u00a0€"},
		{"1234567", "JPY", "1 234 567\u00a0¥"},
		{"1", "", "1"},
	} {
		of := passerelle.Transaction{TransactionDetails: passerelle.TransactionDetails{Value: decimal.MustParse(test.value)}}
		if got := *wire.NewTransaction(of, test.currency, time.UTC).FormattedValue; got != test.want {
			t.Errorf("%s %s is formatted as %q, want %q", test.value, test.currency, got, test.want)
		}
	}
}
