package passerelle

import (
	"math"
	"strconv"
	"strings"

	cldr "github.com/bojanz/currency"
)

// MaxInstruction is the largest amount of one payment instruction, in major
// units of any currency. Sums may be larger.
const MaxInstruction = "999999999.99"

const maxInstructionHundredths = 99_999_999_999

// Money is an exact amount in minor units of a currency: 1250 of EUR is 12.50. It may be
// negative or zero. The methods Positive and CheckInstruction check the rules for payment amounts.
type Money struct {
	Minor    int64
	Currency Currency
}

// ParseMoney reads an amount in major units: a JSON number or the same digits as a string, without
// exponent, plus sign, spaces or leading zeros. It accepts zeros beyond the precision of the
// currency. Other digits beyond the precision are Invalid errors for the field, and so are amounts
// beyond 63 bits of minor units.
func ParseMoney(field, text string, c Currency) (Money, error) {
	if !IsDecimal(text) {
		return Money{}, InvalidField(field, "must be a plain decimal number such as 12.50, without exponent, plus sign, spaces or leading zeros")
	}
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	precision := c.Digits()
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > precision {
		return Money{}, InvalidField(field, "%s has %d digits after the decimal point; only zeros may follow them", c, precision)
	}
	minor, fits := minorUnits(whole, fraction, precision)
	if !fits {
		return Money{}, InvalidField(field, "is too large; one instruction is at most %s", MaxInstruction)
	}
	if negative {
		minor = -minor
	}
	return Money{Minor: minor, Currency: c}, nil
}

// IsDecimal reports whether a text is a JSON number without an exponent: digits without leading
// zeros, with at most one point between them and at most one minus sign before them.
func IsDecimal(text string) bool {
	whole, fraction, pointed := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	return isWhole(whole) && (!pointed || isDigits(fraction))
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func isWhole(s string) bool { return isDigits(s) && (s[0] != '0' || len(s) == 1) }

func minorUnits(whole, fraction string, precision int) (int64, bool) {
	var minor int64
	for i := range len(whole) + precision {
		var digit int64
		switch {
		case i < len(whole):
			digit = int64(whole[i] - '0')
		case i-len(whole) < len(fraction):
			digit = int64(fraction[i-len(whole)] - '0')
		}
		if minor > (math.MaxInt64-digit)/10 {
			return 0, false
		}
		minor = minor*10 + digit
	}
	return minor, true
}

// Positive returns an Invalid error for the field when the amount is zero or negative.
func (m Money) Positive(field string) error {
	if m.Minor <= 0 {
		return InvalidField(field, "must be positive, not %s", m.Decimal())
	}
	return nil
}

// CheckInstruction refuses an amount that a payment instruction cannot have: zero, a negative
// amount, or more than MaxInstruction. The error is Invalid, for the field.
func (m Money) CheckInstruction(field string) error {
	if err := m.Positive(field); err != nil {
		return err
	}
	if m.Minor > fromHundredths(maxInstructionHundredths, m.Currency.Digits()) {
		return InvalidField(field, "must be at most %s, not %s", MaxInstruction, m.Decimal())
	}
	return nil
}

// fromHundredths converts hundredths of a major unit to minor units of the given precision, rounded
// down. A result that is too large becomes the largest possible amount.
func fromHundredths(n int64, precision int) int64 {
	for ; precision < 2; precision++ {
		n /= 10
	}
	for ; precision > 2; precision-- {
		if n > math.MaxInt64/10 {
			return math.MaxInt64
		}
		n *= 10
	}
	return n
}

// Add returns the sum. It fails with Invalid for the field when the currencies differ, or when the
// sum exceeds 63 bits of minor units. field is the name of the added amounts.
func (m Money) Add(field string, other Money) (Money, error) {
	if m.Currency != other.Currency {
		return Money{}, InvalidField(field, "must all be in the same currency, not in %s and %s", m.Currency, other.Currency)
	}
	sum := m.Minor + other.Minor
	if (other.Minor > 0) != (sum > m.Minor) && other.Minor != 0 {
		return Money{}, InvalidField(field, "the total is too large")
	}
	return Money{Minor: sum, Currency: m.Currency}, nil
}

// Decimal returns the amount in major units with exactly the digits of the currency: "12.50" for
// EUR, "12" for JPY. ParseMoney reads the result.
func (m Money) Decimal() string {
	var digits [24]byte
	return string(m.AppendDecimal(digits[:0]))
}

// Written returns the exact amount as CLDR formats it for readers of a language. The language is a
// BCP 47 tag such as "en" or "pt-PT". A currency that CLDR does not know is written with its code.
func (m Money) Written(language string) string {
	amount, err := cldr.NewAmount(m.Decimal(), string(m.Currency))
	if err != nil {
		return m.Decimal() + "\u00a0" + string(m.Currency)
	}
	formatter := cldr.NewFormatter(cldr.NewLocale(language))
	formatter.MinDigits = uint8(m.Currency.Digits()) // at most 4; zeros among these digits are kept
	return formatter.Format(amount)
}

// AppendDecimal appends the result of Decimal to b. It does not allocate when b has enough room.
func (m Money) AppendDecimal(b []byte) []byte {
	magnitude := uint64(m.Minor)
	if m.Minor < 0 {
		b = append(b, '-')
		magnitude = -magnitude
	}
	precision := m.Currency.Digits()
	unit := uint64(1)
	for range precision {
		unit *= 10
	}
	b = strconv.AppendUint(b, magnitude/unit, 10)
	if precision == 0 {
		return b
	}
	// The leading 1 keeps the leading zeros of the fraction, and is then replaced by the decimal
	// point.
	point := len(b)
	b = strconv.AppendUint(b, magnitude%unit+unit, 10)
	b[point] = '.'
	return b
}
