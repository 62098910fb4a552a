package httpapi

import (
	"reflect"
	"time"

	"passerelle"
)

// DateRange contains the parameters that limit a list in time. The inputs of lists embed it. The
// limits are days, months or years in the domain's time zone. By default both limits are inclusive,
// and the range contains the whole period of the upper limit. With the tag `max:"exclusive"`, the
// range ends at the first instant of the upper limit's period.
type DateRange struct {
	MinDate string `query:"min_date" doc:"lower bound: a day YYYY-MM-DD, a month YYYY-MM or a year YYYY"`
	MaxDate string `query:"max_date" doc:"upper bound: a day YYYY-MM-DD, a month YYYY-MM or a year YYYY"`

	from, until time.Time
}

// From returns the first instant in the range, or the zero time for a range without a lower limit.
func (d DateRange) From() time.Time { return d.from }

// Until returns the first instant after the range, or the zero time for a range without an upper
// limit.
func (d DateRange) Until() time.Time { return d.until }

func (d *DateRange) settle(x *exchange, tag reflect.StructTag) error {
	zone := x.caller.Location
	low, err := period("min_date", d.MinDate)
	if err != nil {
		return err
	}
	high, err := period("max_date", d.MaxDate)
	if err != nil {
		return err
	}
	if !low.IsZero() {
		d.from = low.Start(zone)
	}
	if high.IsZero() {
		return nil
	}
	d.until = high.End(zone)
	if tag.Get("max") == "exclusive" {
		d.until = high.Start(zone)
	}
	if d.until.IsZero() { // the zero time would mean no limit
		d.until = d.until.Add(time.Microsecond)
	}
	return nil
}

func period(name, value string) (passerelle.Period, error) {
	if value == "" {
		return passerelle.Period{}, nil
	}
	return passerelle.ParsePeriod(name, value)
}
