package connector

import (
	"slices"
	"time"
)

// Monitored connectors report how recent calls to their bank went.
type Monitored interface {
	Connector
	Health() BankHealth
}

// BankHealth is the result of recent calls to a bank, as observed by this process.
type BankHealth struct {
	// LastSuccess and LastFailure are zero when there was none.
	LastSuccess, LastFailure time.Time
	// Failures are the consecutive failures up to now. Open means that the bank gets only
	// occasional probes.
	Failures int
	Open     bool
	// Elsewhere means that another process does not call the bank for now. This process continues
	// to call it.
	Elsewhere bool
	Calls     []CallHealth
	// Certificates are the operator's certificates at the bank.
	Certificates []Expiry

	circuit *Circuit
}

// Disturbed reports whether users are told that the bank has problems.
func (h BankHealth) Disturbed() bool { return h.Open || h.Elsewhere }

// CallHealth is about one kind of call.
type CallHealth struct {
	Call string
	// Calls counts all calls and Good the answered ones in the last Window. P95 is the 95th
	// percentile of their duration.
	Calls, Window, Good int
	P95                 time.Duration
}

// Expiry is the end of a certificate that a field of the bank's file names.
type Expiry struct {
	Field string
	Until time.Time
}

// ExpiryNotice is how long before the end of a certificate the operator is warned.
const ExpiryNotice = 30 * 24 * time.Hour

// Expires returns the first certificate that ends within ExpiryNotice or has ended, and false
// when there is none.
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

// LeftAlone lists the UUIDs of the connectors whose banks this process does not call for now.
func (r *Registry) LeftAlone() []string {
	var all []string
	for _, c := range r.All() {
		if m, able := c.(Monitored); able && m.Health().Open {
			all = append(all, c.Profile().UUID)
		}
	}
	return all
}

// NoteElsewhere records the connectors, by UUID, whose banks other processes do not call for now.
// It replaces the earlier record.
func (r *Registry) NoteElsewhere(uuids []string) {
	for _, c := range r.All() {
		if m, able := c.(Monitored); able && m.Health().circuit != nil {
			m.Health().circuit.noteElsewhere(slices.Contains(uuids, c.Profile().UUID))
		}
	}
}

// Health returns the health of the connector with a UUID, if it is Monitored.
func (r *Registry) Health(uuid string) (BankHealth, bool) {
	monitored, able := r.set.Load().byID[uuid].(Monitored)
	if !able {
		return BankHealth{}, false
	}
	return monitored.Health(), true
}
