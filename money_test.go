package passerelle_test

import (
	"errors"
	"math"
	"testing"

	"passerelle"
)

// wantField fails the test unless err is an Invalid error for the field and its message begins with
// the field's name.
func wantField(t *testing.T, err error, field string) {
	t.Helper()
	var e *passerelle.Error
	if !errors.As(err, &e) || !errors.Is(err, passerelle.Invalid) {
		t.Fatalf("error %v, want an Invalid one on %s", err, field)
	}
	if e.Field != field {
		t.Errorf("error on field %q, want %q (%s)", e.Field, field, e.Message)
	}
	if want := field + ": "; len(e.Message) <= len(want) || e.Message[:len(want)] != want {
		t.Errorf("message %q does not begin with %q", e.Message, want)
	}
}

func TestParseMoney(t *testing.T) {
	tests := []struct {
		text     string
		currency passerelle.Currency
		minor    int64
		decimal  string
	}{
		{"12.5", "EUR", 1250, "12.50"},
		{"1.0000000000", "EUR", 100, "1.00"},
		{"0", "EUR", 0, "0.00"},
		{"0.05", "EUR", 5, "0.05"},
		{"-0.05", "EUR", -5, "-0.05"},
		{"12", "JPY", 12, "12"},
		{"12.000", "JPY", 12, "12"},
		{"1.234", "TND", 1234, "1.234"},
		{"999999999.99", "EUR", 99999999999, "999999999.99"},
		{"92233720368547758.07", "EUR", math.MaxInt64, "92233720368547758.07"},
		{"0.00000001", "XBT", 1, "0.00000001"},
		{"9.000000000000000001", "ETH", 9000000000000000001, "9.000000000000000001"},
	}
	for _, test := range tests {
		t.Run(test.text+" "+string(test.currency), func(t *testing.T) {
			got, err := passerelle.ParseMoney("amount", test.text, test.currency)
			if want := (passerelle.Money{Minor: test.minor, Currency: test.currency}); err != nil || got != want {
				t.Fatalf("got %v, %v, want %v", got, err, want)
			}
			if got.Decimal() != test.decimal {
				t.Errorf("decimal %q, want %q", got.Decimal(), test.decimal)
			}
		})
	}
}

func TestParseMoneyRefuses(t *testing.T) {
	for _, text := range []string{
		"", "-", ".", "1.", ".5", "+1", "1e2", "1E2", "01", "00", " 1", "1 ", "1,5", "--1", "1.2.3", "0x1",
		"NaN", "Infinity", "1.234", "1.001", "92233720368547758.08", "99999999999999999999999", "١", "1\x00",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := passerelle.ParseMoney("instructions[0].amount", text, "EUR")
			wantField(t, err, "instructions[0].amount")
		})
	}
	_, err := passerelle.ParseMoney("amount", "12.5", "JPY")
	wantField(t, err, "amount")
}

func TestCheckInstruction(t *testing.T) {
	tests := []struct {
		text     string
		currency passerelle.Currency
		ok       bool
	}{
		{"0.01", "EUR", true},
		{"999999999.99", "EUR", true},
		{"1000000000", "EUR", false},
		{"0", "EUR", false},
		{"0.00", "EUR", false},
		{"-0", "EUR", false},
		{"-5", "EUR", false},
		{"999999999", "JPY", true},
		{"1000000000", "JPY", false},
		{"999999999.990", "TND", true},
		{"999999999.991", "TND", false},
		{"9", "ETH", true},
	}
	for _, test := range tests {
		t.Run(test.text+" "+string(test.currency), func(t *testing.T) {
			money, err := passerelle.ParseMoney("amount", test.text, test.currency)
			if err != nil {
				t.Fatal(err)
			}
			switch err := money.CheckInstruction("amount"); {
			case test.ok && err != nil:
				t.Errorf("refused: %v", err)
			case !test.ok:
				wantField(t, err, "amount")
			}
		})
	}
}

func TestMoneyAdd(t *testing.T) {
	euros := func(minor int64) passerelle.Money { return passerelle.Money{Minor: minor, Currency: "EUR"} }
	tests := []struct {
		name string
		a, b passerelle.Money
		sum  int64
		ok   bool
	}{
		{"plain", euros(150), euros(250), 400, true},
		{"zero", euros(150), euros(0), 150, true},
		{"negative", euros(150), euros(-250), -100, true},
		{"above the bound of an instruction", euros(99999999999), euros(99999999999), 199999999998, true},
		{"up to the end", euros(math.MaxInt64 - 1), euros(1), math.MaxInt64, true},
		{"overflow", euros(math.MaxInt64), euros(1), 0, false},
		{"underflow", euros(math.MinInt64), euros(-1), 0, false},
		{"two currencies", euros(1), passerelle.Money{Minor: 1, Currency: "USD"}, 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.a.Add("instructions", test.b)
			if !test.ok {
				wantField(t, err, "instructions")
				return
			}
			if err != nil || got != euros(test.sum) {
				t.Errorf("got %v, %v, want %d", got, err, test.sum)
			}
		})
	}
}

func TestSmallestMoneyPrints(t *testing.T) {
	if got := (passerelle.Money{Minor: math.MinInt64, Currency: "EUR"}).Decimal(); got != "-92233720368547758.08" {
		t.Errorf("got %s", got)
	}
}

func TestMoneyDoesNotAllocate(t *testing.T) {
	var buffer [32]byte
	allocations := testing.AllocsPerRun(100, func() {
		money, err := passerelle.ParseMoney("amount", "1234.50", "EUR")
		if err != nil || money.CheckInstruction("amount") != nil {
			t.Fatal("refused")
		}
		money.AppendDecimal(buffer[:0])
	})
	if allocations != 0 {
		t.Errorf("%v allocations for parsing, checking and appending an amount, want none", allocations)
	}
}

func FuzzParseMoney(f *testing.F) {
	for _, text := range []string{"12.50", "-0.01", "0", "999999999.99", "1e3", "1.000000000", "92233720368547758.07"} {
		for _, currency := range []string{"EUR", "JPY", "TND", "ETH"} {
			f.Add(text, currency)
		}
	}
	f.Fuzz(func(t *testing.T, text, code string) {
		money, err := passerelle.ParseMoney("amount", text, passerelle.Currency(code))
		if err != nil {
			wantField(t, err, "amount")
			return
		}
		again, err := passerelle.ParseMoney("amount", money.Decimal(), money.Currency)
		if err != nil || again != money {
			t.Fatalf("%q in %s is %v, prints as %q and reads back as %v, %v", text, code, money, money.Decimal(), again, err)
		}
	})
}

func TestMoneyForPeople(t *testing.T) {
	for _, test := range []struct {
		minor    int64
		currency passerelle.Currency
		language string
		want     string
	}{
		{1_234_568_150, "EUR", "en", "€12,345,681.50"},
		{1_234_568_150, "EUR", "fr", "12\u202f345\u202f681,50\u00a0€"},
		{1_234_568_150, "EUR", "de", "12.345.681,50\u00a0€"},
		{1_234_568_150, "EUR", "it", "12.345.681,50\u00a0€"},
		{1_234_568_150, "EUR", "nl", "€\u00a012.345.681,50"},
		{1_234_568_150, "EUR", "pt-PT", "12\u00a0345\u00a0681,50\u00a0€"},
		{123_456, "EUR", "es", "1234,56\u00a0€"},
		{1_234_567, "EUR", "es", "12.345,67\u00a0€"},
		{1250, "GBP", "en", "£12.50"},
		{1250, "GBP", "fr", "12,50\u00a0£GB"},
		{1250, "DKK", "en", "DKK\u00a012.50"},
		{1250, "JPY", "en", "¥1,250"},
		{1250, "XTS", "en", "1250\u00a0XTS"},
		{12_500, "UYW", "en", "UYW\u00a01.2500"},
		{-12_345_600, "EUR", "en", "-€123,456.00"},
		{0, "EUR", "en", "€0.00"},
		{math.MinInt64, "EUR", "en", "-€92,233,720,368,547,758.08"},
	} {
		if got := (passerelle.Money{Minor: test.minor, Currency: test.currency}).Written(test.language); got != test.want {
			t.Errorf("%d %s is written %q in %s, want %q", test.minor, test.currency, got, test.language, test.want)
		}
	}
}
