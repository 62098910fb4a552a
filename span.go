package passerelle

import (
	"strconv"
	"strings"
)

// Span is a length of calendar time: some months, followed by some days. The zero value means no
// time.
type Span struct{ Months, Days int }

// maxSpan is the largest number in a span.
const maxSpan = 9999

// spanUnits contains the units of a span, without the s of the plural.
var spanUnits = map[string]Span{"day": {Days: 1}, "week": {Days: 7}, "month": {Months: 1}, "year": {Months: 12}}

// ParseSpan reads numbers with units, without spaces: 1month, 15days, 1year6months. Any other text,
// and a span of zero length, is an Invalid error for the field.
func ParseSpan(field, text string) (Span, error) {
	fault := InvalidField(field, "must be a number of days, weeks, months or years, such as 15days, 1month or 1year6months")
	var total Span
	for rest := text; rest != ""; {
		word := strings.TrimLeft(rest, "0123456789")
		n, err := strconv.ParseUint(rest[:len(rest)-len(word)], 10, 16)
		if err != nil || n > maxSpan {
			return Span{}, fault
		}
		rest = strings.TrimLeft(word, "abcdefghijklmnopqrstuvwxyz")
		unit, known := spanUnits[strings.TrimSuffix(word[:len(word)-len(rest)], "s")]
		if !known {
			return Span{}, fault
		}
		total.Months, total.Days = total.Months+int(n)*unit.Months, total.Days+int(n)*unit.Days
		if total.Months > maxSpan || total.Days > maxSpan {
			return Span{}, fault
		}
	}
	if total == (Span{}) {
		return Span{}, fault
	}
	return total, nil
}

// After returns the day that is n spans later than d.
func (s Span) After(d Date, n int) Date { return d.AddMonths(n * s.Months).AddDays(n * s.Days) }
