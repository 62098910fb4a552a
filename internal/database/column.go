package database

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/text/cases"

	"passerelle"
)

// Micros returns the stored form of an instant: microseconds since 1970, in UTC. Both databases
// compare these numbers in the same way, independently of the session's time zone.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// Instant returns the instant whose stored form is µs.
func Instant(µs int64) time.Time { return time.UnixMicro(µs).UTC() }

// OptionalMicros does the same as Micros, and returns nil for nil. Nil is stored as NULL.
func OptionalMicros(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	µs := Micros(*t)
	return &µs
}

// OptionalInstant does the same as Instant, and returns nil for NULL.
func OptionalInstant(µs *int64) *time.Time {
	if µs == nil {
		return nil
	}
	t := Instant(*µs)
	return &t
}

// OptionalText returns a text for a column in which NULL and the empty string have the same
// meaning. It returns nil for the empty string. Nil is stored as NULL.
func OptionalText[T ~string](s T) *string {
	if s == "" {
		return nil
	}
	text := string(s)
	return &text
}

// Text returns the text of a column, and the empty string for NULL.
func Text[T ~string](s *string) T {
	if s == nil {
		return ""
	}
	return T(*s)
}

// OptionalID returns an id, and nil for zero. Nil is stored as NULL.
func OptionalID[T ~int64](id T) *int64 {
	if id == 0 {
		return nil
	}
	n := int64(id)
	return &n
}

// ID returns the id in a column, and zero for NULL.
func ID[T ~int64](id *int64) T {
	if id == nil {
		return 0
	}
	return T(*id)
}

// OptionalDate returns a day as text, and nil for the zero day. Nil is stored as NULL.
func OptionalDate(d passerelle.Date) *string {
	if d == (passerelle.Date{}) {
		return nil
	}
	text := d.String()
	return &text
}

// Date reads a day that OptionalDate wrote. It returns the zero day for NULL, and for the empty
// text that earlier versions stored for a client's transaction without a date. It fails for any
// other text that is no day.
func Date(s *string) (passerelle.Date, error) {
	if s == nil || *s == "" {
		return passerelle.Date{}, nil
	}
	d, err := passerelle.ParseDate("", *s)
	if err != nil {
		return d, fmt.Errorf("the stored text %q is no date", *s) // not an error of the client
	}
	return d, nil
}

// Containing returns the pattern of texts that contain a part, for LIKE with ESCAPE '!'.
func Containing(part string) string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(part) + "%"
}

// Fold returns the form of a text that is used in comparisons. These comparisons ignore case but
// not accents. The stored form is in a separate column, because the two databases would fold
// different sets of letters.
func Fold(text string) string { return cases.Fold().String(text) }
