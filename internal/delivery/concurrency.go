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

func (p *concurrency) ended() bool {
	return p.timeouts >= maxTimeouts || p.failed >= maxFailures
}

func (p *concurrency) room() int {
	if p.ended() {
		return 0
	}
	// Each timeout lowers the limit by one, because the other requests may also time out.
	room := min(p.start+p.successes, maxInFlight) - p.timeouts
	// Requests in flight count as failures here. At most maxFailures requests can therefore fail in
	// a row.
	return min(room, maxFailures-p.failed)
}

func (p *concurrency) add(a store.DeliveryAttempt) {
	if a.Failure == "" {
		p.successes, p.failed = p.successes+1, 0
		return
	}
	p.successes, p.failed = 0, p.failed+1
	if a.Failure == store.TimedOut {
		p.timeouts++
	}
}
