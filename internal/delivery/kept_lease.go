package delivery

import (
	"sync"

	"passerelle"
)

// keptLeases contains the sessions of this process that keep their leases although they have
// nothing to send.
type keptLeases struct {
	mu      sync.Mutex
	giveUps map[passerelle.WebhookID]chan struct{}
}

// keep registers a session until the session calls the returned function. The channel signals that
// another session needs the lease.
func (l *keptLeases) keep(id passerelle.WebhookID) (<-chan struct{}, func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.giveUps == nil {
		l.giveUps = map[passerelle.WebhookID]chan struct{}{}
	}
	notice := make(chan struct{}, 1)
	l.giveUps[id] = notice
	return notice, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.giveUps, id)
	}
}

// giveUp asks the session that keeps the lease of a webhook to release the lease. It does nothing
// without such a session.
func (l *keptLeases) giveUp(id passerelle.WebhookID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.giveUps[id] <- struct{}{}:
	default: // no session keeps the lease, or the session was already asked
	}
}
