package bankcall

import (
	"fmt"
	"sync"

	"passerelle"
)

// MaxCallers limits the callers that wait for one bank at the same time.
const MaxCallers = 128

// Callers counts the callers that wait for banks. The limits are far below the service's own limit
// of requests. A bank that does not respond therefore does not affect clients of other banks. The
// zero value is ready to use.
type Callers struct {
	mu   sync.Mutex
	many map[any]int // counts by connector, and by payment
}

// EnterBank counts a caller of a bank until the returned function is called. It fails with
// Unavailable when MaxCallers callers already wait for this bank. Call it before you store
// anything.
func (c *Callers) EnterBank(connector string) (func(), error) {
	leave, entered := c.Enter(connector, MaxCallers)
	if !entered {
		return nil, &passerelle.Error{
			Kind: passerelle.Unavailable, Code: "unavailable", RetryAfter: 5,
			Message: fmt.Sprintf("%d calls already wait for this bank; try again when one of them has its response.", MaxCallers),
		}
	}
	return leave, nil
}

// Enter counts a caller of a bank or a payment until the returned function is called. It returns
// false when the limit is reached.
func (c *Callers) Enter(of any, most int) (func(), bool) {
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
