package passerelle

import "time"

// Domain is one isolated tenant of the API, with its own base URL, clients, users and settings.
type Domain struct {
	ID   DomainID
	Name string
	Kind DomainKind
	// BaseURL is the root of the API's addresses: scheme, host and version segment,
	// "https://bank.example/2.0", without a trailing slash.
	BaseURL string
	// Created is the time at which the domain was created. Where the interface specification has
	// changed, Created decides which version applies.
	Created time.Time
	Clock   Clock
}

// Clock converts real time to a domain's time. The zero value leaves real time unchanged. Only a
// sandbox domain can have another value.
type Clock struct {
	// Offset is added to real time while the clock runs.
	Offset time.Duration
	// Frozen, when set, is the instant at which the clock is stopped.
	Frozen *time.Time
}

// Now returns the domain's present instant in UTC for a real instant.
func (c Clock) Now(real time.Time) time.Time {
	if c.Frozen != nil {
		return c.Frozen.UTC()
	}
	return real.Add(c.Offset).UTC()
}
