package testbank_test

import (
	"slices"
	"testing"
	"time"

	"passerelle/testbank/bank"
)

func TestABulkIsRefusedInPart(t *testing.T) {
	w := newFixture(t, "redirect")
	p, _ := bank.ProfileNamed("redirect")
	good, bad := order(nil), order(map[string]any{"creditorName": "Fault AC04", "endToEndIdentification": "E2E-2"})
	for _, c := range []struct {
		lines  []any
		status string
		booked float64
	}{{[]any{good, bad, good}, "PART", 2}, {[]any{good, good}, "ACSC", 2}, {[]any{bad, bad}, "RJCT", 0}} {
		first := w.call(201, "POST", w.address("redirect", "v1/bulk-payments/sepa-credit-transfers"), map[string]any{"payments": c.lines}, present(nil))
		w.authorise(p, first, approves)
		w.pass("redirect", "2h")
		status := w.call(200, "GET", first.link("status"), nil, nil)
		if got := status.text("transactionStatus"); got != c.status {
			t.Errorf("the bulk is %s, want %s", got, c.status)
		}
		if c.status == "PART" && (status.text("tppMessages", 0, "path") != "payments[1]" || status.text("tppMessages", 0, "text")[:4] != "AC04") {
			t.Errorf("the refused line is not named: %s", status.raw)
		}
		if got := w.orderOf("redirect", first.text("paymentId"))["booked"]; got != c.booked {
			t.Errorf("%v lines are booked, want %v", got, c.booked)
		}
	}
	w.right("redirect")
}

func TestOrdersWithoutFundsAreRefused(t *testing.T) {
	w := newFixture(t, "redirect")
	first := w.call(201, "POST", w.address("redirect", single), order(map[string]any{"instructedAmount": map[string]any{"currency": "EUR", "amount": "50.01"}}), present(headers{"PSU-ID": "bert"}))
	w.browse(first.link("scaRedirect"), map[string][]string{"decision": {"approve"}, "account": {"bert-current"}})
	status := w.call(200, "GET", first.link("status"), nil, nil)
	if status.text("transactionStatus") != "RJCT" || status.text("tppMessages", 0, "text")[:4] != "AM04" || status.at("fundsAvailable") != false {
		t.Errorf("the order is %s", status.raw)
	}
	w.right("redirect")
}

func TestPeriodicOrdersAreExecuted(t *testing.T) {
	// 30 January 2027 is a Saturday.
	for _, c := range []struct {
		frequency string
		more      map[string]any
		end       string
		want      []string
	}{
		{"Daily", nil, "2027-02-01", []string{"2027-01-30", "2027-01-31", "2027-02-01"}},
		{"Weekly", nil, "2027-02-20", []string{"2027-01-30", "2027-02-06", "2027-02-13", "2027-02-20"}},
		{"EveryTwoWeeks", nil, "2027-02-28", []string{"2027-01-30", "2027-02-13", "2027-02-27"}},
		{"Monthly", nil, "2027-04-30", []string{"2027-01-30", "2027-02-28", "2027-03-30", "2027-04-30"}},
		{"Monthly", map[string]any{"dayOfExecution": "31"}, "2027-04-30", []string{"2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30"}},
		{"Monthly", map[string]any{"executionRule": "following"}, "2027-03-30", []string{"2027-02-01", "2027-03-01", "2027-03-30"}},
		{"Monthly", map[string]any{"executionRule": "preceding"}, "2027-03-30", []string{"2027-01-29", "2027-02-26", "2027-03-30"}},
		{"EveryTwoMonths", nil, "2027-06-01", []string{"2027-01-30", "2027-03-30", "2027-05-30"}},
		{"Quarterly", nil, "2027-08-01", []string{"2027-01-30", "2027-04-30", "2027-07-30"}},
		{"SemiAnnual", nil, "2028-02-01", []string{"2027-01-30", "2027-07-30", "2028-01-30"}},
		{"Annual", nil, "2029-02-01", []string{"2027-01-30", "2028-01-30", "2029-01-30"}},
		{"MonthlyVariable", map[string]any{"monthsOfExecution": []string{"1", "5", "9"}}, "2028-02-01", []string{"2027-01-30", "2027-05-30", "2027-09-30", "2028-01-30"}},
	} {
		t.Run(c.frequency, func(t *testing.T) {
			w := newFixture(t, "redirect")
			p, _ := bank.ProfileNamed("redirect")
			now, err := time.Parse(time.RFC3339, w.steer("GET", "redirect/clock", nil).text("now"))
			if err != nil {
				t.Fatal(err)
			}
			w.pass("redirect", time.Date(2027, 1, 20, 12, 0, 0, 0, time.UTC).Sub(now).String())
			body := order(map[string]any{"startDate": "2027-01-30", "endDate": c.end, "frequency": c.frequency})
			for name, value := range c.more {
				body[name] = value
			}
			first := w.call(201, "POST", w.address("redirect", "v1/periodic-payments/sepa-credit-transfers"), body, present(nil))
			w.authorise(p, first, approves)
			w.pass("redirect", "760d")
			if got := w.call(200, "GET", first.link("status"), nil, nil).text("transactionStatus"); got != "ACSC" {
				t.Errorf("after the last occurrence the order is %s", got)
			}
			if got := debits(w); !slices.Equal(got, c.want) {
				t.Errorf("executed on %v, want %v", got, c.want)
			}
			w.right("redirect")
		})
	}
}

func debits(w *fixture) []string {
	w.t.Helper()
	use := w.consent("redirect", wish(nil))
	r := w.call(200, "GET", w.address("redirect", "v1/accounts/anna-current/transactions?bookingStatus=booked&deltaList=true"), nil, use)
	list, _ := r.at("transactions", "booked").([]any)
	var days []string
	for i := range list {
		if r.text("transactions", "booked", i, "transactionAmount", "amount")[0] == '-' {
			days = append(days, r.text("transactions", "booked", i, "bookingDate"))
		}
	}
	slices.Reverse(days)
	return days
}
