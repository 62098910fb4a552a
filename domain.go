package passerelle

import "time"

// Domain is one isolated tenant of the API, with its own base URL, clients, users and settings.
// Every stored row belongs to one.
type Domain struct {
	ID   DomainID
	Name string
	Kind DomainKind
	// BaseURL is the address root clients use, scheme and host and the
	// version segment: "https://bank.example/2.0", without a trailing slash.
	BaseURL string
	// Created decides which behaviour applies where the interface
	// specification changed over time.
	Created time.Time
	Clock   Clock
}

// Clock turns real time into a domain's time. The zero value is real time. Only sandbox domains
// have another clock.
type Clock struct {
	// Offset is added to real time while the clock runs.
	Offset time.Duration
	// Frozen, when set, is the instant at which the clock stands still.
	Frozen *time.Time
}

// Now returns the domain's present instant in UTC for a real instant.
func (c Clock) Now(real time.Time) time.Time {
	if c.Frozen != nil {
		return c.Frozen.UTC()
	}
	return real.Add(c.Offset).UTC()
}
