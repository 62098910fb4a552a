package statementfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
)

// Written is a statement to write. Account, Opening, Closing and Entries are required. Created is
// also the creation time of the file.
type Written struct {
	FileStatement
	// Entries must lead from the opening to the closing balance, oldest first. A reference must be
	// unique among the entries.
	Entries iter.Seq2[StatementEntry, error]
}

// writers maps formats to the functions that write them.
var writers = map[Format]func(*output, *Written) error{CAMT: writeCAMT, MT940: writeMT940, CFONB: writeCFONB, OFX: writeOFX, CSV: writeCSV}

// Write writes one statement: as camt.053.001.08, MT940, CFONB 120, OFX 2 or CSV. Texts that are
// too long for the format are cut. Amounts and days never change, except that MT940 has the booking
// day in place of a value day that is missing or too far away. Memory does not grow with the number
// of entries, except for CFONB 120, which is written as a whole. Write fails with an
// *UnfitError when a value does not fit the format, with an error from the entries or from w, or
// when a value is missing. It may then have written part of the file.
func Write(w io.Writer, format Format, s Written) error {
	write := writers[format]
	switch {
	case write == nil:
		return fmt.Errorf("write a statement: no format %q", format)
	case s.Opening == nil || s.Closing == nil:
		return errors.New("write a statement: a balance is missing")
	}
	if err := s.Account.check(0, ""); err != nil {
		return err
	}
	out := &output{w: bufio.NewWriter(w)}
	if err := write(out, &s); err != nil {
		return err
	}
	return out.flush()
}

// UnfitError means that a format cannot represent a statement. The text names the format and its
// limit.
type UnfitError struct {
	Text string
	// First and Last are the first and the last day of the format. They are zero unless a day of the
	// statement is outside them.
	First, Last passerelle.Date
}

// Error implements error.
func (e *UnfitError) Error() string { return e.Text }

// formatYears are the years of a format that writes them with two digits.
type formatYears struct {
	format      string
	first, last int
}

func (y formatYears) check(d passerelle.Date) error {
	if year := d.In(time.UTC).Year(); !d.IsZero() && y.first <= year && year <= y.last {
		return nil
	}
	day := func(year int, month time.Month, day int) passerelle.Date {
		return passerelle.DateOf(time.Date(year, month, day, 0, 0, 0, 0, time.UTC), time.UTC)
	}
	return &UnfitError{fmt.Sprintf("%s has the years %d to %d only", y.format, y.first, y.last), day(y.first, time.January, 1), day(y.last, time.December, 31)}
}

// output writes texts and stores the first error.
type output struct {
	w   *bufio.Writer
	err error
}

func (o *output) text(format string, args ...any) {
	if o.err == nil {
		_, o.err = fmt.Fprintf(o.w, format, args...)
	}
}

func (o *output) flush() error {
	if o.err == nil {
		o.err = o.w.Flush()
	}
	if o.err != nil {
		return fmt.Errorf("write a statement: %w", o.err)
	}
	return nil
}

// digits returns the absolute value of an amount with at least the decimals of its currency.
func (s *Written) digits(d decimal.Decimal) string {
	return d.Abs().Trim(s.Account.Currency.Digits()).Pad(s.Account.Currency.Digits()).String()
}

// cut returns at most the given number of characters from the beginning of a text.
func cut(text string, most int) string {
	runes := []rune(text)
	return strings.TrimSpace(string(runes[:min(most, len(runes))]))
}

// broken breaks a text between words into parts that have at most the given number of characters. A
// word that is too long is broken anywhere.
func broken(text string, most int) []string {
	var parts []string
	for runes := []rune(text); len(runes) > 0; {
		end := lineEnd(runes, most)
		parts = append(parts, strings.TrimSpace(string(runes[:end])))
		runes = []rune(strings.TrimSpace(string(runes[end:])))
	}
	return parts
}

// lineEnd returns the end of the first part.
func lineEnd(runes []rune, most int) int {
	if len(runes) <= most {
		return len(runes)
	}
	for end := most; end > 0; end-- {
		if runes[end] == ' ' {
			return end
		}
	}
	return most
}

// number returns the IBAN of an account or, without an IBAN, its number.
func (a *StatementAccount) number() string {
	if a.IBAN != "" {
		return a.IBAN
	}
	return a.Number
}
