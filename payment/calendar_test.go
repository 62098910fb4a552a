package payment_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/payment"
)

// TestClosedDays checks complete years against lists of all closed days that are not on a weekend.
// The British days come from the government's announcements.
func TestClosedDays(t *testing.T) {
	tests := []struct {
		scheme passerelle.AccountScheme
		year   string
		closed string
	}{
		{passerelle.IBAN, "2026", "01-01 04-03 04-06 05-01 12-25"},
		{passerelle.IBAN, "2027", "01-01 03-26 03-29"},
		{passerelle.IBAN, "2028", "04-14 04-17 05-01 12-25 12-26"},
		{passerelle.SortCode, "2026", "01-01 04-03 04-06 05-04 05-25 08-31 12-25 12-28"},
		{passerelle.SortCode, "2027", "01-01 03-26 03-29 05-03 05-31 08-30 12-27 12-28"},
		{passerelle.SortCode, "2028", "01-03 04-14 04-17 05-01 05-29 08-28 12-25 12-26"},
		{passerelle.SortCode, "2022", "01-03 04-15 04-18 05-02 06-02 06-03 08-29 12-26 12-27"},
	}
	for _, test := range tests {
		t.Run(string(test.scheme)+" "+test.year, func(t *testing.T) {
			var closed []string
			for d := day(t, test.year+"-01-01"); strings.HasPrefix(d.String(), test.year); d = d.AddDays(1) {
				open := payment.OpenDay(d, test.scheme)
				if weekend(d) && open {
					t.Errorf("%s is a %s and open", d, d.Weekday())
				}
				if !weekend(d) && !open {
					closed = append(closed, strings.TrimPrefix(d.String(), test.year+"-"))
				}
			}
			if diff := cmp.Diff(strings.Fields(test.closed), closed); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func weekend(d passerelle.Date) bool {
	return d.Weekday() == time.Saturday || d.Weekday() == time.Sunday
}

func TestNoDateIsNoOpenDay(t *testing.T) {
	if payment.OpenDay(passerelle.Date{}, passerelle.IBAN) {
		t.Error("banks are open on no date")
	}
}

// TestNextOpenDay: the result is never the day of the order in UTC.
func TestNextOpenDay(t *testing.T) {
	tests := []struct {
		name     string
		now      string
		iban     string
		sortCode string
	}{
		{"a Monday", "2026-11-23T09:00:00Z", "2026-11-24", "2026-11-24"},
		{"the last second of a Monday", "2026-11-23T23:59:59Z", "2026-11-24", "2026-11-24"},
		{"Tuesday in Paris, Monday in UTC", "2026-11-24T00:30:00+01:00", "2026-11-24", "2026-11-24"},
		{"a Friday evening", "2026-11-20T19:00:00Z", "2026-11-23", "2026-11-23"},
		{"a Saturday", "2026-11-21T15:04:05Z", "2026-11-23", "2026-11-23"},
		{"before Easter", "2026-04-02T12:00:00Z", "2026-04-07", "2026-04-07"},
		{"before Labour Day, which is British on a Monday", "2026-04-30T12:00:00Z", "2026-05-04", "2026-05-01"},
		{"before the Early May Bank Holiday", "2026-05-01T12:00:00Z", "2026-05-04", "2026-05-05"},
		{"before a Christmas with a substitute day", "2026-12-24T12:00:00Z", "2026-12-28", "2026-12-29"},
		{"New Year's Eve before a week-end", "2027-12-31T12:00:00Z", "2028-01-03", "2028-01-04"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, test.now)
			if err != nil {
				t.Fatal(err)
			}
			iban, sortCode := payment.NextOpenDay(now, passerelle.IBAN), payment.NextOpenDay(now, passerelle.SortCode)
			if iban.String() != test.iban || sortCode.String() != test.sortCode {
				t.Errorf("%s and %s, want %s and %s", iban, sortCode, test.iban, test.sortCode)
			}
		})
	}
}
