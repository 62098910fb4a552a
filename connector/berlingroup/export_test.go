package berlingroup

import "time"

// SetClock makes a bank use another clock than the machine's.
func (b *Bank) SetClock(now func() time.Time) { b.now = now }
