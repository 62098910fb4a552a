package berlingroup

import "time"

// SetClock gives a bank another time than the machine's.
func (b *Bank) SetClock(now func() time.Time) { b.now = now }
