package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"passerelle"
)

// DetailRow has a name and a value. When the row has an instant, Value is a remark about the
// instant.
type DetailRow struct {
	Name, Value string
	At          When
}

// Details returns rows from pairs of a name and a value. It omits pairs without a value.
func Details(pairs ...string) []DetailRow {
	var facts []DetailRow
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			facts = append(facts, DetailRow{Name: pairs[i], Value: pairs[i+1]})
		}
	}
	return facts
}

// At returns a row with an instant. It returns no row when there is no instant.
func At(name string, at When) []DetailRow { return AtWith(name, at, "") }

// AtWith is like At, with a remark about the instant.
func AtWith(name string, at When, remark string) []DetailRow {
	if at.Age == "" {
		return nil
	}
	return []DetailRow{{name, remark, at}}
}

// OrNothing formats a number. It returns an empty text for zero.
func OrNothing[T ~int | ~int64](n T) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}

// ParseID reads the id in a field. It returns zero for an empty text.
func ParseID[T ~int64](field, text string) (T, error) {
	if text == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 {
		return 0, passerelle.InvalidField(field, "must be a number, or empty for none")
	}
	return T(id), nil
}

// Percent formats a fraction as a percentage, rounded down.
func Percent(part, whole int64) string {
	tenths := 1000 * part / whole
	return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
}

// Took formats the duration of a call.
func Took(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return Age(d)
}

// Counted formats a number with its noun, in the singular or in the plural.
func Counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}

// UpTo formats a count that stops at a limit.
func UpTo(n, bound int64) string {
	if n >= bound {
		return strconv.FormatInt(bound, 10) + " or more"
	}
	return strconv.FormatInt(n, 10)
}

// DayStart reads a day from a field, and adds a number of days. It returns the first instant of the
// resulting day.
func DayStart(field, text string, zone *time.Location, after int) (time.Time, error) {
	day, err := time.ParseInLocation(time.DateOnly, text, zone)
	if err != nil || day.Year() < 1 {
		return time.Time{}, passerelle.InvalidField(field, "must be a day in the form YYYY-MM-DD")
	}
	return day.AddDate(0, 0, after), nil
}

// CheckDays fails when a period ends before it begins. The argument `last` is the field with its
// last day. A zero time means that the period has no such limit.
func CheckDays(last string, from, until time.Time) error {
	if from.IsZero() || until.IsZero() || until.After(from) {
		return nil
	}
	return passerelle.InvalidField(last, "must not be before the first day")
}

// UntilUser and UntilRetry are filter values. UntilUser selects connections that their users can
// repair. UntilRetry selects connections that the service can repair with its next attempt.
const (
	UntilUser  = "user"
	UntilRetry = "retry"
)

// NoConnector is the filter value that selects payments without a connector.
const NoConnector = "none"

// Amount formats an amount. It groups the whole units by three digits, as in English.
func Amount(m passerelle.Money) string { return Grouped(m.Decimal()) + " " + string(m.Currency) }

// Grouped groups the whole units of a decimal number by three digits, as in English.
func Grouped(text string) string {
	whole := len(text)
	if point := strings.IndexByte(text, '.'); point >= 0 {
		whole = point
	}
	for i := whole - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
