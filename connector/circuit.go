package connector

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// After failuresToOpen consecutive failures, a bank gets no calls for openTime. A single call then
// checks whether the bank has recovered. A Circuit also counts the failures of each kind of call
// separately, because other calls may succeed in between. After failuresOfAKind consecutive
// failures of one kind, the bank gets no calls of that kind for openTime.
const (
	failuresToOpen  = 5
	failuresOfAKind = 20
	openTime        = 30 * time.Second
)

// remembered is the maximum number of recent calls of each kind that the circuit keeps.
const remembered = 256

// breaker counts consecutive failures, and opens when there are too many. An open breaker refuses
// calls until the time in the field until. It then allows one call, and refuses others until this
// call or an older one ends. A call may take long although the bank has recovered, or never end. The
// breaker therefore allows the next call after openTime.
type breaker struct {
	inARow int
	until  time.Time
	// probed is the beginning of the allowed call, zero when no such call is running.
	probed time.Time
	// refused means that the last call was Refused or Suspected.
	refused bool
}

// CallResult is the result of a call to a bank.
type CallResult int

// These are the results of calls. Refused means that the bank does not accept the service itself:
// its certificate, signature, role or clock. Every customer's call of this kind would then fail.
// Refused counts only as a failure of this kind of call. Suspected means that the bank possibly
// does not accept the service, but does not say so. Health reports Suspected like Refused.
// Suspected does not count as a failure, because it may affect only this customer's call.
const (
	Answered CallResult = iota
	Failed
	Refused
	Suspected
)

func (b *breaker) open(after int) bool { return b.inARow >= after }

func (b *breaker) allows(now time.Time, after int) bool {
	return !b.open(after) || !now.Before(b.until) && !now.Before(b.probed.Add(openTime))
}

// enter records the beginning of an allowed call.
func (b *breaker) enter(now time.Time, after int) {
	if b.open(after) {
		b.probed = now
	}
}

func (b *breaker) record(ended time.Time, result CallResult) {
	b.probed, b.refused = time.Time{}, result == Refused || result == Suspected
	if result == Answered || result == Suspected {
		b.inARow = 0
		return
	}
	b.inARow, b.until = b.inARow+1, ended.Add(openTime)
}

// Circuit records the health of one bank in this process. It opens after consecutive failures,
// so that callers do not wait for an unreachable bank. When only one kind of call keeps
// failing, it opens for that kind only. The zero value is ready. Any number of goroutines may use
// it.
type Circuit struct {
	mu    sync.Mutex
	calls map[string]*callHealth
	all   breaker
	// elsewhere means that another process has stopped calling the bank for now.
	elsewhere bool
	success   time.Time
	failure   time.Time
}

// callHealth is a ring buffer with the results of calls of one kind.
type callHealth struct {
	breaker breaker
	took    [remembered]time.Duration
	good    [remembered]bool
	many    int
}

// Enter reports whether a call of a kind may start. An open circuit allows one call per openTime.
// Each allowed call must end with Record or Leave.
func (c *Circuit) Enter(call string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := &c.kind(call).breaker
	if !c.all.allows(now, failuresToOpen) || !kind.allows(now, failuresOfAKind) {
		return false
	}
	c.all.enter(now, failuresToOpen)
	kind.enter(now, failuresOfAKind)
	return true
}

// kind returns the record of one kind of call and creates it on the first use.
func (c *Circuit) kind(call string) *callHealth {
	if c.calls == nil {
		c.calls = map[string]*callHealth{}
	}
	if c.calls[call] == nil {
		c.calls[call] = &callHealth{}
	}
	return c.calls[call]
}

// Disturbed reports whether this process or another one has stopped calling the bank for now,
// completely or for some kind of call.
func (c *Circuit) Disturbed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, open := c.failures()
	return c.elsewhere || open
}

// failures returns the number of consecutive failed calls, and whether the circuit is open for all
// calls or for some kind. The number may be that of a kind for which the circuit is open.
func (c *Circuit) failures() (int, bool) {
	inARow, open := c.all.inARow, c.all.open(failuresToOpen)
	for _, kind := range c.calls {
		if kind.breaker.open(failuresOfAKind) {
			inARow, open = max(inARow, kind.breaker.inARow), true
		}
	}
	return inARow, open
}

func (c *Circuit) noteElsewhere(disturbed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elsewhere = disturbed
}

// Leave ends a call whose result says nothing about the bank.
func (c *Circuit) Leave(call string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all.probed, c.kind(call).breaker.probed = time.Time{}, time.Time{}
}

// Record ends a call and records its result.
func (c *Circuit) Record(call string, begun, ended time.Time, result CallResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := c.kind(call)
	kind.took[kind.many%remembered], kind.good[kind.many%remembered] = ended.Sub(begun), result == Answered
	kind.many++
	kind.breaker.record(ended, result)
	if result == Refused { // calls of other kinds may use a role that the bank accepts
		c.all.probed = time.Time{}
	} else {
		c.all.record(ended, result)
	}
	if result == Answered {
		c.success = ended
		return
	}
	c.failure = ended
}

// Health returns the health according to recent calls, without certificates.
func (c *Circuit) Health() BankHealth {
	c.mu.Lock()
	defer c.mu.Unlock()
	failures, open := c.failures()
	reported := BankHealth{LastSuccess: c.success, LastFailure: c.failure, Failures: failures, Open: open, Elsewhere: c.elsewhere, circuit: c}
	for _, call := range slices.Sorted(maps.Keys(c.calls)) {
		if kind := c.calls[call]; kind.many > 0 {
			reported.Refused = reported.Refused || kind.breaker.refused
			reported.Calls = append(reported.Calls, kind.figures(call))
		}
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
