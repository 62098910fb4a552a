package operators

import (
	"sync"
	"time"

	"passerelle/internal/store"
)

// A process records at most maxUnknown refusals with unknown names in the time unknownSpan. It only
// counts further refusals.
const (
	maxUnknown  = 100
	unknownSpan = time.Hour
)

// furtherAttempts is the subject of the audit entry that has the number of counted refusals as its
// subject id.
const furtherAttempts = "further attempts"

// unknownNames limits the acts in the audit log about attempts to sign in with unknown names. The
// log keeps all acts, so strangers could otherwise fill the disk. The zero value is ready. The
// count of the current hour is lost when the process ends.
type unknownNames struct {
	mu                sync.Mutex
	since             time.Time
	recorded, counted int64
}

// refused returns the acts to record for a refusal.
func (n *unknownNames) refused(entry store.Audit) []store.Audit {
	acts := n.ended(entry.At)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.recorded == maxUnknown {
		n.counted++
		return acts
	}
	n.recorded++
	return append(acts, entry)
}

// ended begins a new hour when the last hour is over. It then returns the act that sums up the
// counted refusals, if any.
func (n *unknownNames) ended(now time.Time) []store.Audit {
	n.mu.Lock()
	defer n.mu.Unlock()
	if passed := now.Sub(n.since); passed >= 0 && passed < unknownSpan { // a negative time means that the clock was set back
		return nil
	}
	counted := n.counted
	n.since, n.recorded, n.counted = now, 0, 0
	if counted == 0 {
		return nil
	}
	return []store.Audit{{At: now, Act: actSignIn, Subject: furtherAttempts, SubjectID: counted, Refused: true}}
}
