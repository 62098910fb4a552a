package payment

import (
	"time"

	"github.com/rickar/cal/v2"
	"github.com/rickar/cal/v2/ecb"
	"github.com/rickar/cal/v2/gb"

	"passerelle"
)

// Neither calendar is cacheable: the cache of the library is not safe for
// concurrent use, and without it a calendar is only read.
var (
	// target is the calendar of TARGET, the settlement system of the euro.
	target = calendar(ecb.Holidays)
	// british is the calendar of the bank holidays of England and Wales.
	british = calendar(gb.Holidays)
)

func calendar(holidays []*cal.Holiday) *cal.BusinessCalendar {
	c := cal.NewBusinessCalendar()
	c.AddHoliday(holidays...)
	return c
}

// OpenDay reports whether banks execute payments to accounts of the scheme on
// that day: for sort codes on the working days of England and Wales, for
// everything else on the days on which TARGET is open. No date is no open day.
func OpenDay(day passerelle.Date, scheme passerelle.AccountScheme) bool {
	if day.IsZero() {
		return false
	}
	calendar := target
	if scheme == passerelle.SortCode {
		calendar = british
	}
	return calendar.IsWorkday(day.In(time.UTC))
}

// NextOpenDay is the first open day after the day of now in UTC: the day on
// which a first_open_day payment that is ordered now is to be executed. The day
// itself is not counted, as most banks do not count it.
func NextOpenDay(now time.Time, scheme passerelle.AccountScheme) passerelle.Date {
	return openDayFrom(passerelle.DateOf(now, time.UTC).AddDays(1), scheme)
}

// openDayFrom is the day itself or the first open one after it.
func openDayFrom(day passerelle.Date, scheme passerelle.AccountScheme) passerelle.Date {
	for !OpenDay(day, scheme) {
		day = day.AddDays(1)
	}
	return day
}
