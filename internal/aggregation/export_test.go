package aggregation

import "time"

// SetMaxStatementPayload changes maxStatementPayload, in bytes, and returns the previous value.
func SetMaxStatementPayload(most int) (before int) {
	before, maxStatementPayload = maxStatementPayload, most
	return before
}

// SetConnectorTimes changes the time in which a connector may return after its deadline, and the
// time between two renewals of the lease during a call. It returns the previous values.
func SetConnectorTimes(afterwards, renewal time.Duration) (time.Duration, time.Duration) {
	before, often := lateGrace, renewalInterval
	lateGrace, renewalInterval = afterwards, renewal
	return before, often
}

// SetMaxRunTime changes the longest duration of a run, and returns the previous value.
func SetMaxRunTime(most time.Duration) (before time.Duration) {
	before, maxRunTime = maxRunTime, most
	return before
}
