package connector

import (
	"slices"
	"sync"
	"time"
)

// Monitored connectors report the results of recent calls to their bank.
type Monitored interface {
	Connector
	Health() BankHealth
}

// BankHealth summarises recent calls from this process to a bank.
type BankHealth struct {
	// LastSuccess is the end of the last Answered call, and LastFailure is the end of the last
	// other call. Each is zero before the first such call.
	LastSuccess, LastFailure time.Time
	// Failures is the number of consecutive failures up to now. Open means that the bank gets only
	// occasional probes, for all calls or for some kind of call.
	Failures int
	Open     bool
	// Refused means that the last call of some kind was Refused or Suspected. It does not depend on
	// Open, because the operator can act after the first such call.
	Refused bool
	// Elsewhere means that another process has stopped calling the bank for now. It does not stop
	// the calls of this process.
	Elsewhere bool
	Calls     []CallHealth
	// Certificates are the operator's certificates at the bank.
	Certificates []Expiry

	circuit *Circuit
}

// Disturbed reports whether users should be told that the bank has problems.
func (h BankHealth) Disturbed() bool { return h.Open || h.Elsewhere }

// fails reports whether the operator should examine the bank.
func (h BankHealth) fails() bool { return h.Disturbed() || h.Refused }

// CallHealth summarises the calls of one kind.
type CallHealth struct {
	Call string
	// Calls is the number of all calls. The other figures cover only the most recent calls. Window
	// is the number of these calls, Good is how many of them were Answered, and P95 is the 95th
	// percentile of their durations.
	Calls, Window, Good int
	P95                 time.Duration
}

// Expiry says when a certificate expires. Field is the field of the bank file that names the
// certificate.
type Expiry struct {
	Field string
	Until time.Time
}

// ExpiryNotice is how early the operator is warned of the expiry of a certificate.
const ExpiryNotice = 30 * 24 * time.Hour

// Expires returns the certificate that expires first, if it has expired or expires within
// ExpiryNotice. Otherwise it returns false.
func (h BankHealth) Expires(now time.Time) (Expiry, bool) {
	var (
		first Expiry
		soon  bool
	)
	for _, one := range h.Certificates {
		if one.Until.Before(now.Add(ExpiryNotice)) && (!soon || one.Until.Before(first.Until)) {
			first, soon = one, true
		}
	}
	return first, soon
}

// LeftAlone lists the UUIDs of the connectors whose banks this process has stopped calling for now,
// completely or for some kind of call.
func (r *Registry) LeftAlone() []string {
	var all []string
	for _, c := range r.All() {
		if m, able := c.(Monitored); able && m.Health().Open {
			all = append(all, c.Profile().UUID)
		}
	}
	return all
}

// NoteElsewhere records the UUIDs of the connectors whose banks other processes have stopped
// calling for now. It replaces the earlier record.
func (r *Registry) NoteElsewhere(uuids []string) {
	for _, c := range r.All() {
		if m, able := c.(Monitored); able && m.Health().circuit != nil {
			m.Health().circuit.noteElsewhere(slices.Contains(uuids, c.Profile().UUID))
		}
	}
}

// Health returns the health of the connector with a UUID, if it is Monitored.
func (r *Registry) Health(uuid string) (BankHealth, bool) {
	monitored, able := r.set.Load().named(uuid).(Monitored)
	if !able {
		return BankHealth{}, false
	}
	return monitored.Health(), true
}

// Record adds the result of a call to the health of the connector with a UUID. It is for calls that
// did not use the connector, such as a check by an operator.
func (r *Registry) Record(uuid, call string, begun, ended time.Time, result CallResult) {
	if h, monitored := r.Health(uuid); monitored && h.circuit != nil {
		h.circuit.Record(call, begun, ended, result)
	}
}

// unhealthyHolds is how long Unhealthy returns the results of one check of all banks.
const unhealthyHolds = 5 * time.Second

// UnhealthyBank is a connector whose bank needs the operator: its calls fail, or a certificate
// expires soon.
type UnhealthyBank struct {
	Profile Profile
	Health  BankHealth
}

// unhealthy holds the results of a check of all banks, and the time of the check.
type unhealthy struct {
	mu   sync.Mutex
	seen time.Time
	all  []UnhealthyBank
}

// Unhealthy lists the connectors whose banks need the operator. Banks with failing calls come
// first. Then the expiry of a certificate determines the order. Unhealthy keeps the result for five
// seconds, so that frequent callers cost little. Callers must not change the list.
func (r *Registry) Unhealthy(now time.Time) []UnhealthyBank {
	s := r.set.Load()
	s.unhealthy.mu.Lock()
	defer s.unhealthy.mu.Unlock()
	if age := now.Sub(s.unhealthy.seen); age < 0 || age >= unhealthyHolds {
		s.unhealthy.seen, s.unhealthy.all = now, unhealthyOf(s.list, now)
	}
	return s.unhealthy.all
}

func unhealthyOf(list []Connector, now time.Time) []UnhealthyBank {
	var all []UnhealthyBank
	for _, c := range list {
		m, able := c.(Monitored)
		if !able {
			continue
		}
		health := m.Health()
		if _, soon := health.Expires(now); soon || health.fails() {
			all = append(all, UnhealthyBank{c.Profile(), health})
		}
	}
	slices.SortStableFunc(all, func(a, b UnhealthyBank) int {
		if a.Health.fails() != b.Health.fails() {
			if a.Health.fails() {
				return -1
			}
			return 1
		}
		first, _ := a.Health.Expires(now)
		second, _ := b.Health.Expires(now)
		return first.Until.Compare(second.Until)
	})
	return all
}
