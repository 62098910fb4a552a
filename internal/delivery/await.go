package delivery

import (
	"fmt"
	"sync"

	"passerelle"
)

// maxAwaited is how many clients of a domain may wait at once, in this process, for
// what receivers answer. Receivers are whoever a domain says, and may be silent for
// as long as the domain allows them: without a bound, one domain could have every
// request that the process works on wait for them.
const maxAwaited = 8

// waiting counts them. It holds the domains alone in which somebody waits. The zero
// value is ready for use.
type waiting struct {
	mu sync.Mutex
	in map[passerelle.DomainID]int
}

// Await counts a client of the domain as one that waits for receivers until leave
// is called, which is to be done once. It is passerelle.Unavailable, to try again,
// when too many wait.
func (d *Delivery) Await(domain passerelle.DomainID) (func(), error) {
	w := &d.process.waiting
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.in[domain] == maxAwaited {
		return nil, &passerelle.Error{
			Kind: passerelle.Unavailable, Code: "rateLimited", RetryAfter: 5,
			Message: fmt.Sprintf("%d calls wait for receivers of this domain already; try again when one of them has its answer.", maxAwaited),
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
