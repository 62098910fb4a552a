package sandbox

import (
	"time"

	"passerelle"
	"passerelle/payment"
)

// schedule returns the order's periodic schedule.
func (o *order) schedule() payment.Instruction {
	in := payment.Instruction{DateType: o.DateType, Frequency: o.Frequency}
	in.StartDate, _ = passerelle.ParseDate("start_date", o.Day) // the day was checked before it was stored
	in.EndDate, _ = passerelle.ParseDate("end_date", o.LastDay) // zero when LastDay is empty
	return in
}

// occurrences returns the executions of a series up to an instant, and the time at which the next
// one is due. The time is zero if no execution follows.
func (o *order) occurrences(now time.Time) ([]payment.Occurrence, time.Time) {
	var past []payment.Occurrence
	today := passerelle.DateOf(now, time.UTC)
	for day := range payment.Occurrences(o.schedule()) {
		if day.Compare(today) > 0 {
			return past, day.In(time.UTC)
		}
		past = append(past, payment.Occurrence{Day: day, Code: o.Plan.miss(len(past) + 1)})
	}
	return past, time.Time{}
}

// miss returns the reason why an occurrence fails, or "" if it does not fail.
func (p plan) miss(number int) payment.ErrorCode {
	for _, m := range p.Misses {
		if m.Number == number {
			return m.Code
		}
	}
	return ""
}

// completed reports whether the last occurrence of a periodic order has passed, and when.
func (o *order) completed(now time.Time) (bool, time.Time) {
	past, next := o.occurrences(now)
	if len(past) == 0 || !next.IsZero() {
		return len(past) == 0 && next.IsZero(), now
	}
	return true, past[len(past)-1].Day.In(time.UTC)
}

// running reports a series with further executions. The caller adds the executions so far.
func (s scene) running(step) payment.Report {
	r := payment.Report{Status: payment.Processing, Raw: "running"}
	if _, next := s.occurrences(s.now); !next.IsZero() {
		r.CheckAfter = next.Sub(s.now)
	}
	return r
}
