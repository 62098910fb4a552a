package payment

import (
	"time"

	"github.com/rickar/cal/v2"
	"github.com/rickar/cal/v2/ecb"
	"github.com/rickar/cal/v2/gb"

	"passerelle"
)

// The calendars have no cache, because the library's cache is not safe for concurrent use. Without
// a cache, lookups only read a calendar.
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

// OpenDay reports whether banks execute payments to accounts of the scheme on a day. For sort
// codes, open days are the working days of England and Wales. For all other schemes, open days are
// the days on which TARGET is open. The zero date is not an open day.
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

// NextOpenDay returns the first open day after an instant's day in UTC. A first_open_day payment
// that is ordered at this instant is due on that open day. It is never due on the day of the order,
// because most banks execute the payment on the next open day at the earliest.
func NextOpenDay(now time.Time, scheme passerelle.AccountScheme) passerelle.Date {
	return openDayFrom(passerelle.DateOf(now, time.UTC).AddDays(1), scheme)
}

// openDayFrom returns the day itself when it is open, and otherwise the next open day.
func openDayFrom(day passerelle.Date, scheme passerelle.AccountScheme) passerelle.Date {
	for !OpenDay(day, scheme) {
		day = day.AddDays(1)
	}
	return day
}
