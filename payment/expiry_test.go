package payment_test

import (
	"testing"
	"time"

	"passerelle"
	"passerelle/payment"
)

func TestExpiresFrom(t *testing.T) {
	const created, validated = "2026-11-21T15:04:05Z", "2026-12-18T16:00:00Z"
	friday, err := time.Parse(time.RFC3339, validated)
	if err != nil {
		t.Fatal(err)
	}
	with := func(dates payment.DateType, execution, start, end string, frequency payment.Frequency) payment.Instruction {
		in := line()
		in.DateType, in.Frequency = dates, frequency
		for text, target := range map[string]*passerelle.Date{execution: &in.ExecutionDate, start: &in.StartDate, end: &in.EndDate} {
			if text != "" {
				*target = day(t, text)
			}
		}
		return in
	}
	instant := with(payment.Instant, "", "", "", "")
	next := with(payment.FirstOpenDay, "", "", "", "")
	sterling := next
	sterling.Beneficiary.Scheme = passerelle.SortCode
	deferred := with(payment.Deferred, "2027-03-01", "", "", "")
	past := with(payment.Deferred, "2026-12-01", "", "", "")
	ending := with(payment.Periodic, "", "2027-01-31", "2027-04-15", "monthly")
	millennia := with(payment.Periodic, "", "2027-01-31", "9999-12-31", "daily")
	endless := with(payment.Periodic, "", "2027-01-31", "", "monthly")
	easter := time.Date(2026, time.April, 2, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		state payment.State
		lines []payment.Instruction
		at    time.Time
		want  string
	}{
		"created":                           {payment.Created, []payment.Instruction{deferred}, friday, created},
		"created, without an end":           {payment.Created, []payment.Instruction{endless}, friday, created},
		"instant":                           {payment.Validating, []payment.Instruction{instant}, friday, validated},
		"instant, pending":                  {payment.Pending, []payment.Instruction{instant}, friday, validated},
		"next open day":                     {payment.Pending, []payment.Instruction{next}, friday, "2026-12-21T00:00:00Z"},
		"next open day, over Easter":        {payment.Pending, []payment.Instruction{next}, easter, "2026-04-07T00:00:00Z"},
		"before Labour Day":                 {payment.Pending, []payment.Instruction{next}, easter.AddDate(0, 0, 28), "2026-05-04T00:00:00Z"},
		"before Labour Day, British":        {payment.Pending, []payment.Instruction{sterling}, easter.AddDate(0, 0, 28), "2026-05-01T00:00:00Z"},
		"the latest line of a bulk":         {payment.Pending, []payment.Instruction{sterling, next, sterling}, easter.AddDate(0, 0, 28), "2026-05-04T00:00:00Z"},
		"deferred":                          {payment.Validating, []payment.Instruction{deferred}, friday, "2027-03-01T00:00:00Z"},
		"deferred and validated too late":   {payment.Pending, []payment.Instruction{past}, friday, validated},
		"series":                            {payment.Pending, []payment.Instruction{ending}, friday, "2027-03-31T00:00:00Z"},
		"series for millennia":              {payment.Pending, []payment.Instruction{millennia}, friday, "9999-12-31T00:00:00Z"},
		"series without an end, validating": {payment.Validating, []payment.Instruction{endless}, friday, validated},
		"series without an end, active":     {payment.Pending, []payment.Instruction{endless}, friday, ""},
		"done":                              {payment.Done, []payment.Instruction{instant}, friday, ""},
		"rejected":                          {payment.Rejected, []payment.Instruction{instant}, friday, ""},
		"expired":                           {payment.Expired, []payment.Instruction{ending}, friday, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := payment.Payment{State: test.state, Created: now, Instructions: test.lines}
			if test.state != payment.Created {
				p.Validated = &test.at
			}
			got := ""
			if from := p.ExpiresFrom(); from != nil {
				got = from.Format(time.RFC3339)
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
