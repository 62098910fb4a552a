package connector

import "time"

// Monitored is the ability to say how the calls to the connector's bank went lately.
type Monitored interface {
	Connector
	Health() BankHealth
}

// BankHealth is how the calls to a bank went lately, as this process has seen it.
type BankHealth struct {
	// LastSuccess and LastFailure are zero where there was none.
	LastSuccess, LastFailure time.Time
	// Failures are those in a row, up to now. Open means that the bank is left alone, but
	// for a call now and then that finds out whether it is back.
	Failures int
	Open     bool
	Calls    []CallHealth
	// Certificates are the operator's own.
	Certificates []Expiry
}

// CallHealth is about one kind of call.
type CallHealth struct {
	Call string
	// Calls counts all, Good those of the last Window that the bank answered, and
	// P95 is how long 95 of 100 of them took at most.
	Calls, Window, Good int
	P95                 time.Duration
}

// Expiry is the end of a certificate, which a field of the bank's file names.
type Expiry struct {
	Field string
	Until time.Time
}

// ExpiryNotice is how long before the end of a certificate the operator is told.
const ExpiryNotice = 30 * 24 * time.Hour

// Expires is the first certificate that ends within ExpiryNotice, or has ended; false where
// there is none.
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

// Health is that of the connector of a UUID, if it is Monitored.
func (r *Registry) Health(uuid string) (BankHealth, bool) {
	monitored, able := r.set.Load().byID[uuid].(Monitored)
	if !able {
		return BankHealth{}, false
	}
	return monitored.Health(), true
}
