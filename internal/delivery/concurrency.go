package delivery

import "passerelle/internal/store"

// A run is one execution of a sendLoop, in one lease session. These are the limits of a run.
const (
	// maxInFlight limits the requests to one webhook that are in flight at the same time.
	maxInFlight = 8
	// A run ends after maxFailures consecutive failures, or after maxTimeouts timeouts in total.
	maxFailures = 10
	maxTimeouts = 2
	// cautiousStart is the number of requests that a run of the flusher first sends at the same
	// time. It equals the number of timeouts that end the run. Each consecutive success allows one
	// more request in flight.
	cautiousStart = maxTimeouts
)

// concurrency decides how many requests may be in flight.
type concurrency struct {
	// start is the limit while successes and timeouts are zero.
	start int

	successes, failed, timeouts int // consecutive successes and failures, and all timeouts
}

func (c *concurrency) ended() bool {
	return c.timeouts >= maxTimeouts || c.failed >= maxFailures
}

func (c *concurrency) room() int {
	if c.ended() {
		return 0
	}
	// Each timeout lowers the limit by one, because the other requests may also time out.
	room := min(c.start+c.successes, maxInFlight) - c.timeouts
	// Requests in flight count as failures here. At most maxFailures requests can therefore fail in
	// a row.
	return min(room, maxFailures-c.failed)
}

func (c *concurrency) add(a store.DeliveryAttempt) {
	if a.Failure == "" {
		c.successes, c.failed = c.successes+1, 0
		return
	}
	c.successes, c.failed = 0, c.failed+1
	if a.Failure == store.TimedOut {
		c.timeouts++
	}
}
