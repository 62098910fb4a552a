package store

import (
	"time"

	"passerelle"
)

// Instants are stored as microseconds since the epoch, in UTC: both databases
// compare them alike, and nothing depends on a session's time zone.

func micros(t time.Time) int64 { return t.UnixMicro() }

func instant(µs int64) time.Time { return time.UnixMicro(µs).UTC() }

func optionalMicros(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	µs := micros(*t)
	return &µs
}

func optionalInstant(µs *int64) *time.Time {
	if µs == nil {
		return nil
	}
	t := instant(*µs)
	return &t
}

// optionalText stores the empty string as NULL, for columns where absence and
// emptiness mean the same.
func optionalText[T ~string](s T) *string {
	if s == "" {
		return nil
	}
	text := string(s)
	return &text
}

func text[T ~string](s *string) T {
	if s == nil {
		return ""
	}
	return T(*s)
}

func optionalDate(d passerelle.Date) *string {
	if d == (passerelle.Date{}) {
		return nil
	}
	text := d.String()
	return &text
}

// storedDate reads a date this package wrote; nil is no date.
func storedDate(s *string) (passerelle.Date, error) {
	if s == nil {
		return passerelle.Date{}, nil
	}
	return passerelle.ParseDate("stored date", *s)
}
