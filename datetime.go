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

// readDateTime reads the form of FormatDateTime. It returns the first instant at which clocks in
// the zone show this time, and the end of the last second in which they do. These differ by more
// than a second when a clock change makes the time occur twice. For a time that a clock change
// skips, both are the instant of the change.
func readDateTime(s string, loc *time.Location) (time.Time, time.Time, bool) {
	shown, err := time.Parse(time.DateTime, s)
	if err != nil || FormatDateTime(shown, time.UTC) != s || shown.Year() < 1 {
		return time.Time{}, time.Time{}, false
	}
	year, month, day := shown.Date()
	hour, minute, second := shown.Clock()
	t := time.Date(year, month, day, hour, minute, second, 0, loc)
	start, end := t.ZoneBounds()
	// For a skipped time, time.Date uses the offset before or after the change.
	switch got := FormatDateTime(t, loc); {
	case got > s:
		return start, start, true
	case got < s:
		return end, end, true
	}
	return firstOccurrence(t), lastOccurrence(t).Add(time.Second), true
}

// firstOccurrence returns the earlier instant with the local time of t if a clock change before t
// makes this time occur twice. Otherwise it returns t.
func firstOccurrence(t time.Time) time.Time {
	change, _ := t.ZoneBounds()
	if change.IsZero() {
		return t
	}
	if earlier := withOffsetOf(t, change.Add(-time.Nanosecond)); earlier.Before(change) {
		return earlier
	}
	return t
}

// lastOccurrence returns the later instant with the local time of t if a clock change after t makes
// this time occur twice. Otherwise it returns t.
func lastOccurrence(t time.Time) time.Time {
	_, change := t.ZoneBounds()
	if change.IsZero() {
		return t
	}
	if later := withOffsetOf(t, change); !later.Before(change) {
		return later
	}
	return t
}

// withOffsetOf returns the instant that has the local time of t in the offset that applies at other.
func withOffsetOf(t, other time.Time) time.Time {
	_, offset := t.Zone()
	_, wanted := other.Zone()
	return t.Add(time.Duration(offset-wanted) * time.Second)
}
