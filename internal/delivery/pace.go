package delivery

import (
	"context"

	"passerelle/internal/store"
)

// The bounds of a run, after the interface specification.
const (
	// maxInFlight is how many requests to one webhook are under way at once.
	maxInFlight = 8
	// maxFailures in a row, or maxTimeouts in all, end a run of the flusher.
	maxFailures = 10
	maxTimeouts = 2
	// carefully is how many requests a run of the flusher begins with: so many
	// time outs are needed to know that the receiver is still away. Every
	// success in a row then allows one more.
	carefully = maxTimeouts
)

// pace decides how many requests of a run may be under way.
type pace struct {
	// start is how many there may be at first.
	start int
	// failures in a row that end the run; zero for any number. Requests under
	// way count as failures, so that there are never more.
	failures int

	successes, failed, timeouts int // the first two in a row
}

func (p *pace) ended() bool {
	return p.timeouts >= maxTimeouts || p.failures > 0 && p.failed >= p.failures
}

func (p *pace) room() int {
	if p.ended() {
		return 0
	}
	// A request that timed out is not replaced: the others may, too.
	room := min(p.start+p.successes, maxInFlight) - p.timeouts
	if p.failures > 0 {
		room = min(room, p.failures-p.failed)
	}
	return room
}

func (p *pace) note(a store.DeliveryAttempt) {
	if a.Failure == "" {
		p.successes, p.failed = p.successes+1, 0
		return
	}
	p.successes, p.failed = 0, p.failed+1
	if a.Failure == timedOut {
		p.timeouts++
	}
}

// send sends deliveries as the pace allows, and returns the accounts of those
// it sent, the first ones of the list, in its order. It stops early when the
// pace ends, the context does, or the batch has taken long enough; what is
// under way then is waited for, up to the timeout of the webhook.
func (t *turn) send(ctx context.Context, to target, deliveries []store.Delivery, p *pace) []exchange {
	batch := make([]exchange, 0, len(deliveries))
	answered := make(chan int)
	started := t.Now()
	timely := func() bool { return len(batch) == 0 || t.Now().Sub(started) < pageTime }
	for underWay := 0; ; underWay-- {
		for ; ctx.Err() == nil && underWay < p.room() && len(batch) < len(deliveries) && timely(); underWay++ {
			i := len(batch)
			batch = append(batch, exchange{delivery: deliveries[i]})
			x := &batch[i]
			go func() {
				x.attempt = t.exchange(context.WithoutCancel(ctx), to, x.delivery)
				answered <- i
			}()
		}
		if underWay == 0 {
			return batch
		}
		p.note(batch[<-answered].attempt)
	}
}
