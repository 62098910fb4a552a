package database

import (
	"time"

	"golang.org/x/text/cases"

	"passerelle"
)

// Micros is the stored form of an instant: microseconds since the epoch, in UTC. Both databases
// compare these numbers in the same way, independently of a session's time zone.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// Instant is the instant of stored microseconds.
func Instant(µs int64) time.Time { return time.UnixMicro(µs).UTC() }

// OptionalMicros is Micros, and NULL for nil.
func OptionalMicros(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	µs := Micros(*t)
	return &µs
}

// OptionalInstant is Instant, and nil for NULL.
func OptionalInstant(µs *int64) *time.Time {
	if µs == nil {
		return nil
	}
	t := Instant(*µs)
	return &t
}

// OptionalText stores the empty string as NULL, for columns where NULL and empty have the same
// meaning.
func OptionalText[T ~string](s T) *string {
	if s == "" {
		return nil
	}
	text := string(s)
	return &text
}

// Text returns the text of a column; NULL is the empty string.
func Text[T ~string](s *string) T {
	if s == nil {
		return ""
	}
	return T(*s)
}

// OptionalID stores zero as NULL.
func OptionalID[T ~int64](id T) *int64 {
	if id == 0 {
		return nil
	}
	n := int64(id)
	return &n
}

// ID returns the id in a column; NULL is zero.
func ID[T ~int64](id *int64) T {
	if id == nil {
		return 0
	}
	return T(*id)
}

// OptionalDate stores a day as text, and the zero day as NULL.
func OptionalDate(d passerelle.Date) *string {
	if d == (passerelle.Date{}) {
		return nil
	}
	text := d.String()
	return &text
}

// Date reads a day that OptionalDate wrote; NULL is the zero day. Any other text is an error.
func Date(s *string) (passerelle.Date, error) {
	if s == nil {
		return passerelle.Date{}, nil
	}
	return passerelle.ParseDate("stored date", *s)
}

// Fold returns the form of a text for comparisons that ignore case but not accents. It is stored
// in addition to the text, because the two databases fold different sets of letters.
func Fold(text string) string { return cases.Fold().String(text) }
