package passerelle

import "time"

// Period is a day, a month or a year. Clients use it to limit a list. The zero value means no
// period.
type Period struct {
	first Date
	unit  periodUnit
}

// periodUnit is the unit of a period. Its value is the length of the period's text in characters.
type periodUnit uint8

const (
	inYear  periodUnit = 4
	inMonth periodUnit = 7
	inDay   periodUnit = 10
)

// ParsePeriod reads YYYY-MM-DD, YYYY-MM or YYYY, with years 0001 to 9999. Any other text is an
// Invalid error for the field.
func ParsePeriod(field, s string) (Period, error) {
	const firstDay = "0000-01-01"
	unit := periodUnit(min(len(s), len(firstDay)+1))
	switch unit {
	case inYear, inMonth, inDay:
		if first, ok := readDate(s + firstDay[len(s):]); ok {
			return Period{first: first, unit: unit}, nil
		}
	}
	return Period{}, InvalidField(field, "must be a day, month or year that exists, in the form YYYY-MM-DD, YYYY-MM or YYYY, such as 2024-03-01, 2024-03 or 2024")
}

// ParseInstant returns the first instant of [ParseInterval].
func ParseInstant(field, s string, loc *time.Location) (time.Time, error) {
	from, _, err := ParseInterval(field, s, loc)
	return from, err
}

// ParseInterval reads a Period, or a DateTime in a zone. It returns the first instant of the period
// or of the second, and the first instant after it. A second that occurs twice because of a clock
// change counts from its first occurrence to the end of its last one. For a DateTime that a clock
// change skips, both results are the instant of the change. Any other text is an Invalid error for
// the field.
func ParseInterval(field, s string, loc *time.Location) (time.Time, time.Time, error) {
	if period, err := ParsePeriod(field, s); err == nil {
		return period.Start(loc), period.End(loc), nil
	}
	from, until, ok := readDateTime(s, loc)
	if !ok {
		return from, until, InvalidField(field, "must be a DateTime YYYY-MM-DD HH:MM:SS or a date YYYY-MM-DD that exists, such as 2024-03-01")
	}
	return from, until, nil
}

// IsZero reports whether p is the zero Period.
func (p Period) IsZero() bool { return p == Period{} }

// String returns the form that ParsePeriod reads, and "" for the zero Period.
func (p Period) String() string { return p.first.String()[:p.unit] }

// Start returns the first instant of the period in a zone.
func (p Period) Start(loc *time.Location) time.Time { return p.first.In(loc) }

// End returns the first instant after the period in a zone.
func (p Period) End(loc *time.Location) time.Time {
	switch p.unit {
	case inYear:
		return p.first.AddMonths(12).In(loc)
	case inMonth:
		return p.first.AddMonths(1).In(loc)
	default:
		return p.first.AddDays(1).In(loc)
	}
}
