package sandbox

import (
	"fmt"
	"time"

	"passerelle/payment"
)

// Timing defines how long the bank takes for each pending step of an order, and how long payers
// take to answer. Durations in a script apply with every timing.
type Timing string

// These are the timing profiles.
const (
	// CI takes no time, but the bank reports every step.
	CI Timing = "ci"
	// Faithful takes 15 minutes, and 15 seconds for an instant payment, like the API's public test
	// connector. A deferred payment without a script waits for its day.
	Faithful Timing = "faithful"
)

var timings = map[Timing]struct{ instant, other time.Duration }{
	CI:       {},
	Faithful: {instant: 15 * time.Second, other: 15 * time.Minute},
}

// ParseTiming reads the name of a timing profile.
func ParseTiming(name string) (Timing, error) {
	if _, known := timings[Timing(name)]; !known {
		return "", fmt.Errorf("unknown timing profile %q: it is %s or %s", name, CI, Faithful)
	}
	return Timing(name), nil
}

// execution returns how long one pending step takes for an order with a date type.
func (t Timing) execution(dates payment.DateType) time.Duration {
	if dates == payment.Instant {
		return timings[t].instant
	}
	return timings[t].other
}
