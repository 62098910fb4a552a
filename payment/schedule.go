package payment

import (
	"iter"
	"sort"
	"time"

	"passerelle"
)

// Frequency is how often a periodic payment repeats.
type Frequency string

// Frequencies lists every frequency of the API.
func Frequencies() []Frequency {
	return []Frequency{"daily", "weekly", "two-weekly", "monthly", "two-monthly", "quarterly", "four-monthly", "semiannually", "yearly"}
}

// interval is the distance between two occurrences.
type interval struct{ days, months int }

var intervals = map[Frequency]interval{
	"daily":        {days: 1},
	"weekly":       {days: 7},
	"two-weekly":   {days: 14},
	"monthly":      {months: 1},
	"two-monthly":  {months: 2},
	"quarterly":    {months: 3},
	"four-monthly": {months: 4},
	"semiannually": {months: 6},
	"yearly":       {months: 12},
}

// endOfCalendar is the last day that a client can send.
var endOfCalendar = passerelle.DateOf(time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC), time.UTC)

// mostOccurrences is an upper limit for the occurrences of an order. No order has more than one
// occurrence on a day of the calendar.
const mostOccurrences = 9999 * 366

// Occurrences yields the scheduled days of a periodic instruction, oldest first: from its start, at
// its frequency, until its end date or the end of the year 9999. Monthly intervals keep the day of
// the start, or use the last day of a shorter month. A scheduled day may be a closed day. Only
// periodic instructions have scheduled days.
func Occurrences(in Instruction) iter.Seq[passerelle.Date] {
	return func(yield func(passerelle.Date) bool) {
		for n := 0; in.scheduled(n) && yield(in.occurrence(n)); n++ {
			continue
		}
	}
}

// lastOccurrence returns the last scheduled day, or the zero date when nothing is scheduled. It
// uses a binary search, because a daily order may run for millennia.
func (in Instruction) lastOccurrence() passerelle.Date {
	n := sort.Search(mostOccurrences, func(n int) bool { return !in.scheduled(n) })
	if n == 0 {
		return passerelle.Date{}
	}
	return in.occurrence(n - 1)
}

// scheduled reports whether there is an occurrence n, counted from 0.
func (in Instruction) scheduled(n int) bool {
	if _, repeats := intervals[in.Frequency]; !repeats || in.DateType != Periodic || in.StartDate.IsZero() {
		return false
	}
	end := in.EndDate
	if end.IsZero() {
		end = endOfCalendar
	}
	return in.occurrence(n).Compare(end) <= 0
}

// occurrence returns the day of occurrence n. It counts from the start rather than from the
// previous occurrence, which may be the last day of a short month.
func (in Instruction) occurrence(n int) passerelle.Date {
	every := intervals[in.Frequency]
	return in.StartDate.AddMonths(n * every.months).AddDays(n * every.days)
}
