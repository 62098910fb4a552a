package delivery

import "passerelle/internal/store"

// The limits of a run, from the interface specification.
const (
	// maxInFlight is how many requests to one webhook may be in flight at once.
	maxInFlight = 8
	// maxFailures in a row, or maxTimeouts in all, end a run.
	maxFailures = 10
	maxTimeouts = 2
	// cautiousStart is how many requests a run of the flusher begins with: as many
	// as need to time out before the run ends. Each success in a row allows one more.
	cautiousStart = maxTimeouts
)

// concurrency decides how many requests may be in flight.
type concurrency struct {
	// start is the limit at the beginning.
	start int

	successes, failed, timeouts int // the first two in a row
}

func (p *concurrency) ended() bool {
	return p.timeouts >= maxTimeouts || p.failed >= maxFailures
}

func (p *concurrency) room() int {
	if p.ended() {
		return 0
	}
	// A request that timed out is not replaced, because the others may time out too.
	room := min(p.start+p.successes, maxInFlight) - p.timeouts
	// Requests in flight count as failures, so that no more than maxFailures fail.
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
