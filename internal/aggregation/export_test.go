package aggregation

import "time"

// SetMaxStatementAccounts changes the largest payload that a statement is made of, and
// returns what it was.
func SetMaxStatementAccounts(most int) (before int) {
	before, maxStatementPayload = maxStatementPayload, most
	return before
}

// SetConnectorTimes changes how long after its deadline a connector may come back, and
// how often the lease is renewed while it says nothing; it returns both as they
// were.
func SetConnectorTimes(afterwards, renewal time.Duration) (time.Duration, time.Duration) {
	before, often := lateGrace, renewalInterval
	lateGrace, renewalInterval = afterwards, renewal
	return before, often
}

// FormatReturn is the state with which a person comes back to a connection.
var FormatReturn = formatReturn
