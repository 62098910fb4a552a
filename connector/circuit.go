package connector

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// After failuresToOpen consecutive failures, a bank gets no calls for openTime. Then one call finds
// out whether it has recovered.
const (
	failuresToOpen = 5
	openTime       = 30 * time.Second
)

// remembered is the number of calls of a kind from which figures are computed.
const remembered = 256

// Circuit records the health of one bank in this process. It opens after consecutive failures,
// so that callers do not wait for an unreachable bank. The zero value is ready. Any number of
// goroutines may use it.
type Circuit struct {
	mu    sync.Mutex
	calls map[string]*callHealth
	// inARow counts failures since the last success. until is when the next call may be made,
	// and probing means that a probe is under way.
	inARow  int
	until   time.Time
	probing bool
	// elsewhere means that another process does not call the bank for now.
	elsewhere bool
	success   time.Time
	failure   time.Time
}

// callHealth is a ring of the results of calls of one kind.
type callHealth struct {
	took [remembered]time.Duration
	good [remembered]bool
	many int
}

// Enter lets a call through unless the circuit is open. Each call that is let through has to
// Record, or to Leave.
func (c *Circuit) Enter(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inARow < failuresToOpen {
		return true
	}
	if c.probing || now.Before(c.until) {
		return false
	}
	c.probing = true
	return true
}

// Disturbed reports whether this process or another one does not call the bank for now.
func (c *Circuit) Disturbed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elsewhere || c.inARow >= failuresToOpen
}

func (c *Circuit) noteElsewhere(disturbed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elsewhere = disturbed
}

// Leave ends a call that says nothing about the bank.
func (c *Circuit) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probing = false
}

// Record records the result of a call of a kind.
func (c *Circuit) Record(call string, begun, ended time.Time, good bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[string]*callHealth{}
	}
	if c.calls[call] == nil {
		c.calls[call] = &callHealth{}
	}
	ring := c.calls[call]
	ring.took[ring.many%remembered], ring.good[ring.many%remembered] = ended.Sub(begun), good
	ring.many++
	c.probing = false
	if good {
		c.inARow, c.success = 0, ended
		return
	}
	c.inARow, c.failure, c.until = c.inARow+1, ended, ended.Add(openTime)
}

// Health returns the health from recent calls, without certificates.
func (c *Circuit) Health() BankHealth {
	c.mu.Lock()
	defer c.mu.Unlock()
	reported := BankHealth{LastSuccess: c.success, LastFailure: c.failure, Failures: c.inARow, Open: c.inARow >= failuresToOpen, Elsewhere: c.elsewhere, circuit: c}
	for _, call := range slices.Sorted(maps.Keys(c.calls)) {
		reported.Calls = append(reported.Calls, c.calls[call].figures(call))
	}
	return reported
}

func (c *callHealth) figures(call string) CallHealth {
	window := min(c.many, remembered)
	reported := CallHealth{Call: call, Calls: c.many, Window: window}
	for _, good := range c.good[:window] {
		if good {
			reported.Good++
		}
	}
	took := slices.SortedFunc(slices.Values(c.took[:window]), cmp.Compare[time.Duration])
	reported.P95 = took[(window*95+99)/100-1]
	return reported
}
