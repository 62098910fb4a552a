package access

import (
	"net/netip"
	"sync"
	"time"

	"passerelle"
)

// maxThrottled limits the number of callers with wrong secrets that the throttle keeps in memory.
// Beyond the limit, each new caller replaces an expired or a random caller. An attacker therefore
// usually needs thousands of failed attempts to make the throttle forget an earlier failure.
const maxThrottled = 10_000

// throttle counts wrong secrets in this process, by application and address. It blocks the guessing
// address, and not the application.
type throttle struct {
	mu     sync.Mutex
	failed map[guesser]spell
}

type guesser struct {
	domain  passerelle.DomainID
	client  passerelle.ClientID
	network netip.Prefix
}

// spell is a number of failures. The throttle forgets the failures when the spell ends.
type spell struct {
	failures int64
	ends     time.Time
}

// newGuesser returns the identity of a caller. The identity of an IPv6 caller is the network that a
// provider assigns to one customer. All texts that are not addresses count as the same address.
func newGuesser(domain passerelle.DomainID, client passerelle.ClientID, address string) guesser {
	g := guesser{domain: domain, client: client}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return g
	}
	bits := 64
	if ip = ip.Unmap(); ip.Is4() {
		bits = 32
	}
	g.network, _ = ip.Prefix(bits)
	return g
}

// wait returns how long a caller must wait. It returns zero until the number of failures reaches
// the limit, and always if the limit is zero.
func (t *throttle) wait(g guesser, limit int64, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, known := t.failed[g]
	if !known || limit == 0 || s.failures < limit || !now.Before(s.ends) {
		return 0
	}
	return s.ends.Sub(now)
}

// fail counts a failure. The throttle forgets a caller's failures after a time without a new
// failure.
func (t *throttle) fail(g guesser, now time.Time, while time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.failed[g]
	if !now.Before(s.ends) {
		s.failures = 0
	}
	t.makeRoom(g, now)
	t.failed[g] = spell{s.failures + 1, now.Add(while)}
}

// forgive removes the failures of a caller who has sent the right secret.
func (t *throttle) forgive(g guesser) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.failed, g)
}

func (t *throttle) makeRoom(g guesser, now time.Time) {
	if t.failed == nil {
		t.failed = map[guesser]spell{}
	}
	if _, known := t.failed[g]; known || len(t.failed) < maxThrottled {
		return
	}
	for other, s := range t.failed {
		if !now.Before(s.ends) {
			delete(t.failed, other)
		}
	}
	for other := range t.failed {
		if len(t.failed) < maxThrottled {
			return
		}
		delete(t.failed, other)
	}
}
