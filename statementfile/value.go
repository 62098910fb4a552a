package statementfile

import (
	"errors"
	"strings"
	"time"
	"unicode"

	"github.com/govalues/decimal"

	"passerelle"
)

var (
	errRequired  = errors.New("is required")
	errRepeated  = errors.New("must occur only once")
	errAmount    = errors.New("must be an amount of at most 18 digits, with at most 9 decimals")
	errPoint     = errors.New("must be an amount with a point before the decimals, not a comma")
	errDate      = errors.New("must be a valid date")
	errCurrency  = errors.New("must be an ISO 4217 currency")
	errDirection = errors.New("must be CRDT or DBIT")
	errStatus    = errors.New("must be BOOK, PDNG, INFO or FUTR")
	errThousands = errors.New("must not have three digits after a comma, which may separate thousands; use a point")
	errNegative  = errors.New("must not be negative; CdtDbtInd has the direction")
	errDay       = errors.New("must be from 1900 to 2099")
)

// These are the first and the last day that entries and balances can have. Some programs write
// other days, such as 0001-01-01, for entries without a day.
var (
	firstDay = passerelle.DateOf(time.Date(1900, time.January, 1, 0, 0, 0, 0, time.UTC), time.UTC)
	lastDay  = passerelle.DateOf(time.Date(2099, time.December, 31, 0, 0, 0, 0, time.UTC), time.UTC)
)

func implausible(d passerelle.Date) bool { return d.Compare(firstDay) < 0 || d.Compare(lastDay) > 0 }

// maxDigits is the maximum number of digits in an amount. With more digits, sums could have too
// many digits for decimal.Decimal. maxDecimals is the maximum number of decimals.
const (
	maxDigits   = 18
	maxDecimals = 9
)

// amountOf parses an amount in which separator is the decimal mark. It accepts no exponent, no
// second sign and no separators of thousands.
func amountOf(text string, separator byte) (decimal.Decimal, error) {
	text = strings.TrimSpace(text)
	if positive, signed := strings.CutPrefix(text, "+"); signed && !strings.HasPrefix(positive, "-") {
		text = positive
	}
	if separator != '.' {
		if strings.Contains(text, ".") {
			return decimal.Decimal{}, errAmount
		}
		text = strings.Replace(text, string(separator), ".", 1)
	}
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	if digits := whole + fraction; digits == "" || len(digits) > maxDigits || len(fraction) > maxDecimals || strings.Trim(digits, "0123456789") != "" {
		return decimal.Decimal{}, errAmount
	}
	text = strings.TrimSuffix(text, ".")
	d, err := decimal.Parse(text)
	if err != nil {
		return d, errAmount
	}
	return d, nil
}

// dateOf parses the date YYYY-MM-DD or YYYYMMDD at the beginning of a text.
func dateOf(text string) (passerelle.Date, error) {
	text = strings.TrimSpace(text)
	if len(text) >= 8 && !strings.Contains(text[:8], "-") {
		text = text[:4] + "-" + text[4:6] + "-" + text[6:8]
	}
	d, err := passerelle.ParseDate("date", text[:min(len(text), len("2006-01-02"))])
	if err != nil {
		return d, errDate
	}
	return d, nil
}

// timeOf reads an ISO 8601 time, or an OFX time, whose zone it ignores. It returns zero for other
// texts.
func timeOf(text string) time.Time {
	text = strings.TrimSpace(text)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	t, _ := time.Parse("20060102150405", text[:min(len(text), len("20060102150405"))])
	return t
}

func currencyOf(text string) (passerelle.Currency, error) {
	c := passerelle.Currency(strings.TrimSpace(text))
	if !c.Known() {
		return "", errCurrency
	}
	return c, nil
}

// tidy normalises a text from a file: it removes control characters and invisible characters,
// separates words with one blank, and cuts the text after maxText bytes.
func tidy(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == unicode.ReplacementChar:
			return ' '
		case passerelle.Misleading(r) && !unicode.IsSpace(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	text = strings.Join(strings.Fields(text), " ")
	return strings.TrimSpace(strings.ToValidUTF8(text[:min(len(text), maxText)], ""))
}

// number converts an account number to canonical form: without blanks, in capitals.
func number(text string) string { return strings.ToUpper(strings.Join(strings.Fields(tidy(text)), "")) }

// setNumber sets the IBAN when the text is an IBAN, and the number otherwise.
func (a *StatementAccount) setNumber(text string) {
	text = number(text)
	one := passerelle.Account{Scheme: passerelle.IBAN, Identification: text, Label: "account"}
	if one.Check("") == nil {
		a.IBAN = text
		return
	}
	a.Number = text
}

// check refuses an account without a number or a currency.
func (a *StatementAccount) check(line int, field string) error {
	if a.IBAN == "" && a.Number == "" {
		return at(line, field, "the account has no number").because(NoAccount)
	}
	if !a.Currency.Known() {
		return at(line, field, "the account has no currency").because(NoAccount)
	}
	return nil
}

func pointAmount(text string) (decimal.Decimal, error) {
	if strings.Contains(text, ",") {
		return decimal.Decimal{}, errPoint
	}
	return amountOf(text, '.')
}
