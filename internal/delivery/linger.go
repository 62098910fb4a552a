package delivery

import (
	"sync"

	"passerelle"
)

// lingering are the turns of this process that keep their leases although
// nothing is left to send.
type lingering struct {
	mu    sync.Mutex
	turns map[passerelle.WebhookID]chan struct{}
}

// begin notes a turn that lingers; hurry tells it to end, and done that it has.
func (l *lingering) begin(id passerelle.WebhookID) (hurry <-chan struct{}, done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turns == nil {
		l.turns = map[passerelle.WebhookID]chan struct{}{}
	}
	told := make(chan struct{}, 1)
	l.turns[id] = told
	return told, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.turns, id)
	}
}

// hurry ends the lingering of a webhook's turn, if there is one.
func (l *lingering) hurry(id passerelle.WebhookID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.turns[id] <- struct{}{}:
	default: // nobody lingers, or is told already
	}
}
