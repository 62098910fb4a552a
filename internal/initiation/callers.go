package initiation

import (
	"fmt"
	"sync"

	"passerelle"
	"passerelle/payment"
)

// MaxCallers limits the callers that wait for one bank at the same time.
const MaxCallers = 128

// maxReturning limits the calls of Return for one payment that wait for the bank at the same time.
const maxReturning = 2

// Callers counts the callers that wait for banks. The limits are far below the service's own limit
// of requests. A bank that does not respond therefore does not affect clients of other banks. The
// zero value is ready to use.
type Callers struct {
	mu   sync.Mutex
	many map[any]int // counts by connector, and by payment
}

// enter counts a caller until the returned function is called. It returns false when the limit
// is reached.
func (c *Callers) enter(of any, most int) (func(), bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.many[of] >= most {
		return nil, false
	}
	if c.many == nil {
		c.many = map[any]int{}
	}
	c.many[of]++
	return func() { c.leave(of) }, true
}

func (c *Callers) leave(of any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.many[of]--; c.many[of] == 0 {
		delete(c.many, of)
	}
}

// takeCallSlot counts a caller of a bank until the returned function is called. It fails with
// Unavailable when MaxCallers callers already wait for this bank. Call it before you store
// anything.
func (i *Initiation) takeCallSlot(connector string) (func(), error) {
	leave, entered := i.Callers.enter(connector, MaxCallers)
	if !entered {
		return nil, &passerelle.Error{
			Kind: passerelle.Unavailable, Code: string(payment.WebsiteUnavailable), RetryAfter: 5,
			Message: fmt.Sprintf("%d calls already wait for this bank; try again when one of them has its response.", MaxCallers),
		}
	}
	return leave, nil
}
