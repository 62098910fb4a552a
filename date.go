package passerelle

import (
	"cmp"
	"time"
)

// Date is a day of the calendar, without a zone. The zero value means no date. Dates are
// comparable with ==.
type Date struct {
	year  int32
	month uint8
	day   uint8
}

// ParseDate reads YYYY-MM-DD with years 0001 to 9999. Any other text, and a day that does not
// exist, is an Invalid error for the field.
func ParseDate(field, s string) (Date, error) {
	d, ok := readDate(s)
	if !ok {
		return Date{}, InvalidField(field, "must be a valid date in the form YYYY-MM-DD, such as 2024-03-01")
	}
	return d, nil
}

// MarshalText returns the text of String, which is empty for the zero date. It never fails.
func (d Date) MarshalText() ([]byte, error) {
	if d.IsZero() {
		return nil, nil
	}
	return []byte(d.String()), nil
}

// UnmarshalText reads an empty text as the zero date, and the texts that ParseDate reads. Any other
// text is an Invalid error for the field "date".
func (d *Date) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Date{}
		return nil
	}
	read, err := ParseDate("date", string(text))
	*d = read
	return err
}

func readDate(s string) (Date, bool) {
	if len(s) != len(time.DateOnly) || s[4] != '-' || s[7] != '-' {
		return Date{}, false
	}
	year, month, day := readNumber(s[:4]), readNumber(s[5:7]), readNumber(s[8:])
	if year < 1 || month < 1 || month > 12 || day < 1 || day > 28 && day > daysIn(year, month) {
		return Date{}, false
	}
	return makeDate(year, time.Month(month), day), true
}

// readNumber returns the value of a few decimal digits, or -1 for any other text.
func readNumber(s string) int {
	if !isDigits(s) {
		return -1
	}
	n := 0
	for i := range len(s) {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func makeDate(year int, month time.Month, day int) Date {
	return Date{year: int32(year), month: uint8(month), day: uint8(day)}
}

// DateOf returns the day in a zone at the instant t.
func DateOf(t time.Time, loc *time.Location) Date { return makeDate(t.In(loc).Date()) }

// IsZero reports whether d is the zero date.
func (d Date) IsZero() bool { return d == Date{} }

// String returns the date as YYYY-MM-DD, and "" for the zero date. ParseDate reads the result for
// the years 0001 to 9999.
func (d Date) String() string {
	if d.IsZero() {
		return ""
	}
	if d.year < 0 || d.year > 9999 {
		return d.utc().Format(time.DateOnly)
	}
	year, month, day := d.year, d.month, d.day
	// Lists of transactions contain many dates, and this code is faster than package time.
	return string([]byte{
		byte('0' + year/1000), byte('0' + year/100%10), byte('0' + year/10%10), byte('0' + year%10), '-',
		'0' + month/10, '0' + month%10, '-', '0' + day/10, '0' + day%10,
	})
}

// Compare returns a negative number when d is before other, zero when they are equal, and a
// positive number when d is after other. The zero date is before all dates that ParseDate accepts.
func (d Date) Compare(other Date) int {
	return cmp.Or(cmp.Compare(d.year, other.year), cmp.Compare(d.month, other.month), cmp.Compare(d.day, other.day))
}

// AddDays returns the date a number of days later, or earlier when the number is negative. A
// zero date stays zero. A result outside of the years 0001 to 9999 is a valid Date that
// ParseDate would not accept.
func (d Date) AddDays(days int) Date {
	if d.IsZero() {
		return d
	}
	return makeDate(d.utc().AddDate(0, 0, days).Date())
}

// AddMonths returns the same day of a later month, or of an earlier one for a negative number. When
// that month is too short, AddMonths returns its last day. A zero date stays zero.
func (d Date) AddMonths(months int) Date {
	if d.IsZero() {
		return d
	}
	first := time.Date(int(d.year), time.Month(d.month)+time.Month(months), 1, 0, 0, 0, 0, time.UTC)
	year, month, _ := first.Date()
	return makeDate(year, month, min(int(d.day), daysIn(year, int(month))))
}

// Weekday returns the day of the week. The result for the zero date has no meaning.
func (d Date) Weekday() time.Weekday { return d.utc().Weekday() }

func (d Date) utc() time.Time {
	return time.Date(int(d.year), time.Month(d.month), int(d.day), 0, 0, 0, 0, time.UTC)
}

// In returns the first instant of the day in a zone. This is midnight unless a clock change skips
// midnight. When midnight occurs twice, In returns the earlier one. For a day that the zone
// skipped, In returns the first instant of the next day.
func (d Date) In(loc *time.Location) time.Time {
	midnight := time.Date(int(d.year), time.Month(d.month), int(d.day), 0, 0, 0, 0, loc)
	change, next := midnight.ZoneBounds()
	switch DateOf(midnight, loc).Compare(d) {
	case -1:
		return next
	case 1:
		return change
	}
	return firstOccurrence(midnight)
}

// FirstOfMonth returns the first day of the date's month. A zero date stays zero.
func (d Date) FirstOfMonth() Date {
	if d.IsZero() {
		return d
	}
	return Date{year: d.year, month: d.month, day: 1}
}
