package delivery

import "passerelle/internal/store"

// The limits of a run, from the interface specification.
const (
	// maxInFlight is how many requests to one webhook may be in flight at once.
	maxInFlight = 8
	// maxFailures failures in a row, or maxTimeouts timeouts in all, end a run.
	maxFailures = 10
	maxTimeouts = 2
	// cautiousStart is the number of requests with which a run of the flusher begins. It equals
	// the number of timeouts that end the run. Each success in a row allows one more request in
	// flight.
	cautiousStart = maxTimeouts
)

// concurrency decides how many requests may be in flight.
type concurrency struct {
	// start is the limit before the first success.
	start int

	successes, failed, timeouts int // successes and failures are counted in a row
}

func (p *concurrency) ended() bool {
	return p.timeouts >= maxTimeouts || p.failed >= maxFailures
}

func (p *concurrency) room() int {
	if p.ended() {
		return 0
	}
	// A request that timed out is not replaced by a new one, because the others may also time
	// out.
	room := min(p.start+p.successes, maxInFlight) - p.timeouts
	// Requests in flight are counted as if they failed, so that at most maxFailures requests
	// fail.
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
