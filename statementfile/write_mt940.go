package statementfile

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/govalues/decimal"
	"golang.org/x/text/unicode/norm"

	"passerelle"
)

// These are the maximum lengths in MT940. mtPurpose is the maximum number of parts of a purpose, and
// mtRows the maximum number of lines of field 86.
const (
	max16     = 16
	mtLine    = 65
	mtPurpose = 10
	mtRows    = 6
	mtAmounts = 15
)

var (
	mtYears   = formatYears{"MT940", 1980, 2079}
	errLength = &UnfitError{Text: "MT940 has amounts of at most 15 characters only"}
)

// mtKind returns the code of field 61 for a type.
func mtKind(t passerelle.TransactionType) string {
	for _, kind := range []string{"TRF", "CHK", "CHG", "DDT", "INT", "LDP"} {
		if mtKinds[kind] == t {
			return "N" + kind
		}
	}
	return "NMSC"
}

func writeMT940(o *output, s *Written) error {
	o.text(":20:%s\r\n:25:%s\r\n:28C:1\r\n", cut(swift(s.ID), max16), cut(swift(s.Account.number()), max35))
	if err := o.mtBalance(s, "60F", s.Opening); err != nil {
		return err
	}
	for e, err := range s.Entries {
		if err != nil {
			return err
		}
		if err := o.mtEntry(s, &e); err != nil {
			return err
		}
	}
	if err := o.mtBalance(s, "62F", s.Closing); err != nil {
		return err
	}
	o.text("-\r\n")
	return nil
}

// mtAmount formats an amount with a comma as decimal mark.
func (s *Written) mtAmount(d decimal.Decimal) (string, error) {
	text := strings.Replace(s.digits(d), ".", ",", 1)
	if !strings.Contains(text, ",") {
		text += ","
	}
	if len(text) > mtAmounts {
		return "", errLength
	}
	return text, nil
}

// mtDay formats a day as YYMMDD.
func mtDay(d passerelle.Date) (string, error) {
	if err := mtYears.check(d); err != nil {
		return "", err
	}
	return strings.ReplaceAll(d.String(), "-", "")[2:], nil
}

func mtMark(negative bool) string { return mark(negative)[:1] }

func (o *output) mtBalance(s *Written, tag string, b *StatementBalance) error {
	day, err := mtDay(b.Date)
	if err != nil {
		return err
	}
	amount, err := s.mtAmount(b.Amount)
	o.text(":%s:%s%s%s%s\r\n", tag, mtMark(b.Amount.IsNeg()), day, s.Account.Currency, amount)
	return err
}

func (o *output) mtEntry(s *Written, e *StatementEntry) error {
	amount, err := s.mtAmount(e.Amount)
	if err != nil {
		return err
	}
	booked, err := mtDay(e.Booked)
	if err != nil {
		return err
	}
	value := booked
	if !e.Value.IsZero() {
		day, err := mtDay(e.Value)
		if err != nil {
			return err
		}
		if tellsYear(e.Value, e.Booked) {
			value = day
		}
	}
	o.text(":61:%s%s%s%s%s%s", value, booked[2:], mtMark(e.Amount.IsNeg()), amount, mtKind(e.Type), mtReference(e.EndToEnd))
	if e.Reference != "" {
		o.text("//%s", cut(swift(e.Reference), max16))
	}
	o.text("\r\n")
	o.mtInformation(e)
	return nil
}

// slashes matches two or more slashes. Two slashes separate the customer's reference from the
// bank's.
var slashes = regexp.MustCompile("//+")

// mtReference returns the customer's reference, or NONREF. The result contains no separator and
// does not end with a slash, which would move the separator.
func mtReference(endToEnd string) string {
	text := cut(slashes.ReplaceAllString(swift(endToEnd), "/"), max16)
	return cmp.Or(strings.TrimRight(text, "/ "), "NONREF")
}

// tellsYear reports whether a reader can derive the year of the booking day from the value day.
// MT940 omits this year.
func tellsYear(value, booked passerelle.Date) bool {
	day, err := bookingDay(value, booked.In(time.UTC).Format("0102"))
	return err == nil && day == booked
}

// mtInformation writes field 86 as numbered parts, like German banks. It omits the last parts of a
// purpose for which the field has no room.
func (o *output) mtInformation(e *StatementEntry) {
	for most := mtPurpose; most >= 0; most-- {
		text := mtParts(e, most)
		if lines := mtLinesOf("999" + text); text != "" && len(lines) <= mtRows {
			o.text(":86:%s\r\n", strings.Join(lines, "\r\n"))
			return
		}
	}
}

// mtParts returns the parts of field 86. The argument most is the maximum number of parts of the
// purpose.
func mtParts(e *StatementEntry, most int) string {
	text := ""
	part := func(code int, value string) {
		if value != "" {
			text += fmt.Sprintf("?%02d%s", code, value)
		}
	}
	purpose := []rune(swift(e.Wording))
	for i := range most {
		from := min(i*fullPart, len(purpose))
		part(20+i, string(purpose[from:min(from+fullPart, len(purpose))]))
	}
	part(31, cut(swift(e.Number), max35))
	name := []rune(cut(swift(e.Name), 2*fullPart))
	part(32, string(name[:min(fullPart, len(name))]))
	part(33, string(name[min(fullPart, len(name)):]))
	return text
}

// mtLinesOf breaks a text into lines. No line ends with a blank, because the blank would be lost.
// No line begins with a dash, because the dash would end the message.
func mtLinesOf(text string) []string {
	var lines []string
	for len(text) > mtLine {
		end := mtLine
		for end > 1 && (text[end-1] == ' ' || text[end] == '-') {
			end--
		}
		lines, text = append(lines, text[:end]), text[end:]
	}
	return append(lines, text)
}

// swift converts a text to characters that all banks accept: letters without accents, digits and
// some signs. Other characters become blanks.
func swift(text string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r):
			return -1
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/-().,'+", r)):
			return r
		}
		return ' '
	}, norm.NFKD.String(text))
	return strings.Join(strings.Fields(plain), " ")
}
