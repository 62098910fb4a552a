package delivery

import (
	"sync"

	"passerelle"
)

// keptLeases are the turns of this process that keep their leases although
// nothing is left to send.
type keptLeases struct {
	mu        sync.Mutex
	bySession map[passerelle.WebhookID]chan struct{}
}

// keep notes a turn that lingers; hurry tells it to end, and done that it has.
func (l *keptLeases) keep(id passerelle.WebhookID) (hurry <-chan struct{}, done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bySession == nil {
		l.bySession = map[passerelle.WebhookID]chan struct{}{}
	}
	notice := make(chan struct{}, 1)
	l.bySession[id] = notice
	return notice, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.bySession, id)
	}
}

// giveUp ends the lingering of a webhook's turn, if there is one.
func (l *keptLeases) giveUp(id passerelle.WebhookID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.bySession[id] <- struct{}{}:
	default: // nobody lingers, or is told already
	}
}
