package remote

import "time"

// SetNow sets the clock of a program.
func (p *Program) SetNow(now func() time.Time) { p.now = now }
