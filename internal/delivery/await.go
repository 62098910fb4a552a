package delivery

import (
	"fmt"
	"sync"

	"passerelle"
)

// maxAwaited limits how many clients of a domain may wait for receivers at the same time in this
// process. A receiver may delay its response for as long as its domain allows. Without this limit,
// the waiting clients of one domain could keep the process from serving other clients.
const maxAwaited = 8

// waiting counts the waiting clients by domain. The zero value is ready to use.
type waiting struct {
	mu sync.Mutex
	in map[passerelle.DomainID]int
}

// Await counts a client that waits for a receiver of the domain. The caller must call the returned
// function once, when the client has stopped waiting. Await fails with passerelle.Unavailable when
// maxAwaited clients are already waiting.
func (d *Delivery) Await(domain passerelle.DomainID) (func(), error) {
	w := &d.process.waiting
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.in[domain] == maxAwaited {
		return nil, &passerelle.Error{
			Kind: passerelle.Unavailable, Code: "rateLimited", RetryAfter: 5,
			Message: fmt.Sprintf("%d calls already wait for receivers of this domain; try again when one of them has its response.", maxAwaited),
		}
	}
	if w.in == nil {
		w.in = map[passerelle.DomainID]int{}
	}
	w.in[domain]++
	return func() { w.leave(domain) }, nil
}

func (w *waiting) leave(domain passerelle.DomainID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.in[domain]--; w.in[domain] == 0 {
		delete(w.in, domain)
	}
}
