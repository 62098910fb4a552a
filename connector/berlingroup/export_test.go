package berlingroup

import "time"

// SetClock makes a bank use another clock than the machine's.
func (b *Bank) SetClock(now func() time.Time) { b.now = now }

// SetLimit sets how long one exchange may take.
func (b *Bank) SetLimit(most time.Duration) { b.limit = most }
