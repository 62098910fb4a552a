package passerelle

import (
	"strconv"
	"strings"
)

// Span is a length of calendar time: months, then days. The zero value is none.
type Span struct{ Months, Days int }

// maxSpan is how large a number of a span may be.
const maxSpan = 9999

// spanUnits are the words of a span, of which an s at the end is left out.
var spanUnits = map[string]Span{"day": {Days: 1}, "week": {Days: 7}, "month": {Months: 1}, "year": {Months: 12}}

// ParseSpan reads numbers with units, without spaces: 1month, 15days,
// 1year6months. Anything else, and no time at all, is an Invalid error on the
// field.
func ParseSpan(field, text string) (Span, error) {
	fault := InvalidField(field, "must be numbers of days, weeks, months or years, such as 15days, 1month or 1year6months")
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

// After is the day that many spans after another.
func (s Span) After(d Date, n int) Date { return d.AddMonths(n * s.Months).AddDays(n * s.Days) }
