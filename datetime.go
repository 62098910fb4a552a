package passerelle

import "time"

// FormatDateTime formats an instant in a zone as YYYY-MM-DD HH:MM:SS, without the name of the
// zone and without a fraction.
func FormatDateTime(t time.Time, loc *time.Location) string {
	t = t.In(loc)
	if year := t.Year(); year < 0 || year > 9999 {
		return t.Format(time.DateTime)
	}
	// Package time formats RFC 3339 faster than any other layout. RFC 3339 differs from the result
	// only in the T and the zone. Speed matters because lists of transactions contain many instants.
	text := t.AppendFormat(make([]byte, 0, len(time.RFC3339)), time.RFC3339)[:len(time.DateTime)]
	text[len(time.DateOnly)] = ' '
	return string(text)
}

// ParseDateTime reads the form of FormatDateTime with years 0001 to 9999. Any other text, and a
// time that a clock change skips in the zone, is an Invalid error for the field. For a time that
// occurs twice, it returns one of the two instants.
func ParseDateTime(field, s string, loc *time.Location) (time.Time, error) {
	// time.Parse also accepts fractions, hours of one digit, and skipped times. In these cases, the
	// formatted result differs from the text.
	t, err := time.ParseInLocation(time.DateTime, s, loc)
	if err != nil || FormatDateTime(t, loc) != s || t.Year() < 1 {
		return time.Time{}, InvalidField(field, "must be a valid date and time in the form YYYY-MM-DD HH:MM:SS, such as 2024-03-01 09:30:00, in %s", loc)
	}
	return t, nil
}
