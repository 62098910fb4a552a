package bank

import (
	"slices"
	"strconv"
	"time"
)

// monthsBetween maps frequencies to the number of months between possible execution days.
// Frequencies in days are absent.
var monthsBetween = map[string]int{"Monthly": 1, "EveryTwoMonths": 2, "Quarterly": 3, "SemiAnnual": 6, "Annual": 12, "MonthlyVariable": 1}

var daysBetween = map[string]int{"Daily": 1, "Weekly": 7, "EveryTwoWeeks": 14}

// next returns the day of an execution. The first execution has number zero.
func (s *Schedule) next(number int) time.Time {
	start, err := time.Parse(dayLayout, s.Start)
	if err != nil {
		return time.Time{} // the day was parsed when the order was accepted
	}
	return s.workingDay(s.plain(start, number))
}

func (s *Schedule) plain(start time.Time, number int) time.Time {
	if days := daysBetween[s.Frequency]; days > 0 {
		return start.AddDate(0, 0, days*number)
	}
	for months := 0; ; months += monthsBetween[s.Frequency] {
		at := s.inMonth(start, months)
		if at.Before(start) || len(s.Months) > 0 && !slices.Contains(s.Months, strconv.Itoa(int(at.Month()))) {
			continue
		}
		if number == 0 {
			return at
		}
		number--
	}
}

// inMonth returns the execution day in the month that is a number of months after start's month. In
// a month that is too short, it returns the last day.
func (s *Schedule) inMonth(start time.Time, months int) time.Time {
	wanted := s.Day
	if wanted == 0 {
		wanted = start.Day()
	}
	first := time.Date(start.Year(), start.Month()+time.Month(months), 1, 0, 0, 0, 0, time.UTC)
	return first.AddDate(0, 0, min(wanted, first.AddDate(0, 1, -1).Day())-1)
}

// workingDay moves a day on a weekend to a working day, as the execution rule of the order says.
// Without a rule the day does not change. This bank also works on holidays.
func (s *Schedule) workingDay(at time.Time) time.Time {
	step := map[string]int{"following": 1, "preceding": -1}[s.Rule]
	for step != 0 && (at.Weekday() == time.Saturday || at.Weekday() == time.Sunday) {
		at = at.AddDate(0, 0, step)
	}
	return at
}

// over reports whether a day is after the end of the schedule.
func (s *Schedule) over(at time.Time) bool { return s.End != "" && at.Format(dayLayout) > s.End }
