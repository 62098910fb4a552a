package berlingroup

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"passerelle/connector"
)

// A bank that fails so often in a row is left alone for so long. Then one call finds
// out whether it is back.
const (
	failuresToOpen = 5
	openTime       = 30 * time.Second
)

// remembered is how many calls of a kind figures are made of.
const remembered = 256

// health is how the calls of one bank went lately, in this process.
type health struct {
	mu    sync.Mutex
	calls map[string]*callHealth
	// inARow counts failures since the last success; until is when the next call
	// may be made, and probing says that one is on its way to find out.
	inARow  int
	until   time.Time
	probing bool
	success time.Time
	failure time.Time
}

// callHealth is a ring of what became of calls of one kind.
type callHealth struct {
	took [remembered]time.Duration
	good [remembered]bool
	many int
}

// enter lets a call through unless the bank is left alone. Who is let through has to
// record, or to leave.
func (h *health) enter(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inARow < failuresToOpen {
		return true
	}
	if h.probing || now.Before(h.until) {
		return false
	}
	h.probing = true
	return true
}

// disturbed reports whether the bank is left alone.
func (h *health) disturbed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.inARow >= failuresToOpen
}

// leave ends a call that says nothing of the bank.
func (h *health) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.probing = false
}

// record notes what became of a call.
func (h *health) record(call string, begun, ended time.Time, good bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls == nil {
		h.calls = map[string]*callHealth{}
	}
	if h.calls[call] == nil {
		h.calls[call] = &callHealth{}
	}
	ring := h.calls[call]
	ring.took[ring.many%remembered], ring.good[ring.many%remembered] = ended.Sub(begun), good
	ring.many++
	h.probing = false
	if good {
		h.inARow, h.success = 0, ended
		return
	}
	h.inARow, h.failure, h.until = h.inARow+1, ended, ended.Add(openTime)
}

// Health tells how the calls went lately.
func (b *Bank) Health() connector.BankHealth {
	var certificates []connector.Expiry
	for _, c := range b.Certificates() {
		certificates = append(certificates, connector.Expiry{Field: c.Field, Until: c.Until})
	}
	h := b.health
	h.mu.Lock()
	defer h.mu.Unlock()
	reported := connector.BankHealth{LastSuccess: h.success, LastFailure: h.failure, Failures: h.inARow, Open: h.inARow >= failuresToOpen, Certificates: certificates}
	for _, call := range slices.Sorted(maps.Keys(h.calls)) {
		reported.Calls = append(reported.Calls, h.calls[call].figures(call))
	}
	return reported
}

func (c *callHealth) figures(call string) connector.CallHealth {
	window := min(c.many, remembered)
	reported := connector.CallHealth{Call: call, Calls: c.many, Window: window}
	for _, good := range c.good[:window] {
		if good {
			reported.Good++
		}
	}
	took := slices.SortedFunc(slices.Values(c.took[:window]), cmp.Compare[time.Duration])
	reported.P95 = took[(window*95+99)/100-1]
	return reported
}
