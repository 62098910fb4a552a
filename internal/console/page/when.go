package page

import (
	"cmp"
	"fmt"
	"time"

	"passerelle"
)

// When is an instant in the form that lists show: its age, and the exact time.
type When struct {
	// Age is how long ago the instant was, or how far ahead it is. For an instant at least seven
	// days away, it is the day. It is empty when there is no instant.
	Age string
	// Exact is the instant with its zone. Stamp is the same instant in a form for programs. Clock
	// names the clock of the instant. Clock is empty in a live domain.
	Exact, Stamp, Clock string

	// real is set for an instant in real time, in a sandbox. clocks has the clocks of the page.
	real   bool
	clocks *clocks
}

// clocks has the clocks by which a page of a sandbox shows times.
type clocks struct{ sandbox, real bool }

// Mark is "real time" for an instant in real time, on a page that also shows times of the sandbox's
// clock. It is empty for all other instants, and while the sandbox's clock shows the real time.
func (w When) Mark() string {
	if w.clocks == nil || !w.real || !w.clocks.sandbox {
		return ""
	}
	return "real time"
}

// longAgo is the smallest age for which lists show the day instead of the age.
const longAgo = 7 * 24 * time.Hour

// soon is the smallest distance at which lists show a future instant as future. The clocks of
// machines differ by less.
const soon = 5 * time.Second

// When converts an instant on the domain's clock.
func (pc *Context) When(at time.Time) When {
	w := pc.newWhen(at, pc.Now())
	if pc.Domain.Kind == passerelle.Sandbox {
		w.Clock = ", by the clock of the sandbox"
		pc.clocks.sandbox = true
	}
	return w
}

// RealWhen converts an instant in real time. The domain's clock does not affect Age.
func (pc *Context) RealWhen(at time.Time) When {
	w := pc.newWhen(at, pc.handler.Now())
	if pc.Domain.Kind == passerelle.Sandbox {
		w.Clock, w.real = ", in real time", true
		pc.clocks.real = true
		if pc.readClock() != nil {
			w.clocks = &pc.clocks
		}
	}
	return w
}

func (pc *Context) newWhen(at, now time.Time) When {
	age, zone := now.Sub(at), cmp.Or(pc.Zone, time.UTC)
	w := When{Age: Age(age) + " ago", Exact: passerelle.FormatDateTime(at, zone) + " " + zone.String(), Stamp: at.UTC().Format(time.RFC3339)}
	switch {
	case age >= longAgo || age <= -longAgo:
		w.Age = at.In(zone).Format(time.DateOnly)
	case age <= -time.Minute:
		w.Age = "in " + Age(-age)
	case age <= -soon:
		w.Age = "in under 1 min"
	case age < time.Minute:
		w.Age = "just now"
	}
	return w
}

// WhenEver converts an instant like When. It accepts nil.
func (pc *Context) WhenEver(at *time.Time) When {
	if at == nil {
		return When{}
	}
	return pc.When(*at)
}

// RealWhenEver is like RealWhen, for an instant that may be nil.
func (pc *Context) RealWhenEver(at *time.Time) When {
	if at == nil {
		return When{}
	}
	return pc.RealWhen(*at)
}

// Age formats a duration in its largest unit, or in its two largest units.
func Age(d time.Duration) string {
	minutes := int64(max(d, 0) / time.Minute)
	switch {
	case minutes < 60:
		return fmt.Sprintf("%d min", minutes)
	case minutes < 48*60:
		return fmt.Sprintf("%d h", minutes/60) + remainder(minutes%60, "min")
	}
	return fmt.Sprintf("%d days", minutes/(24*60)) + remainder(minutes/60%24, "h")
}

func remainder(n int64, unit string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" %d %s", n, unit)
}

// clockReading is the time on a sandbox's clock, with the text before it. Times says which clock
// the times on the page have.
type clockReading struct {
	Text  string
	Now   When
	Times string
}

// timesText says which clock the times on a page have. It is empty for a page without times.
func (c clocks) timesText() string {
	switch {
	case c.sandbox && c.real:
		return "Times on this page are by this clock, unless they are marked as real time."
	case c.sandbox:
		return "Times on this page are by this clock."
	case c.real:
		return "Times on this page are real, not by this clock."
	}
	return ""
}

// readClock returns the time on a sandbox's clock. It returns nil in a live domain, and when the
// clock shows the real time.
func (pc *Context) readClock() *clockReading {
	if pc.Domain.Kind != passerelle.Sandbox {
		return nil
	}
	now, times := pc.Now(), pc.clocks.timesText()
	at := pc.newWhen(now, now)
	ahead := now.Sub(pc.handler.Now()).Round(time.Minute)
	switch {
	case pc.Domain.Clock.Frozen != nil:
		return &clockReading{"Its clock is stopped at", at, times}
	case ahead >= time.Minute:
		return &clockReading{"Its clock is " + Age(ahead) + " ahead:", at, times}
	}
	return nil
}
