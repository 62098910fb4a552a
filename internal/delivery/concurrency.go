package delivery

import "passerelle/internal/store"

// The bounds of a run, after the interface specification.
const (
	// maxInFlight is how many requests to one webhook are under way at once.
	maxInFlight = 8
	// maxFailures in a row, or maxTimeouts in all, end a run.
	maxFailures = 10
	maxTimeouts = 2
	// cautiousStart is how many requests a run of the flusher begins with: so many
	// time outs are needed to know that the receiver is still away. Every
	// success in a row then allows one more.
	cautiousStart = maxTimeouts
)

// concurrency decides how many requests may be under way.
type concurrency struct {
	// start is how many there may be at first.
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
	// A request that timed out is not replaced: the others may, too.
	room := min(p.start+p.successes, maxInFlight) - p.timeouts
	// Those under way count as failures, so that there are never more of them.
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
