package passerelle

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads a Go duration that may begin with a number of days, each of 24 hours: "15m",
// "36h", "2d12h". When the sum of the days and the rest is too long for a time.Duration, the result
// is the longest time.Duration. Any other text is an Invalid error for the field, and so is a
// number of days above 65535.
func ParseDuration(field, text string) (time.Duration, error) {
	fault := InvalidField(field, "must be a duration such as 15m, 36h or 2d")
	days, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		days, rest = "0", text
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, fault
	}
	total := time.Duration(n) * 24 * time.Hour
	if hasDays && rest == "" {
		return total, nil
	}
	length, err := time.ParseDuration(rest)
	if err != nil {
		return 0, fault
	}
	if length > math.MaxInt64-total {
		return math.MaxInt64, nil
	}
	return total + length, nil
}
