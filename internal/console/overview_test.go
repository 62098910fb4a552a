package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/initiation"
	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/payment"
)

// quiet runs a test with a service that has its own clock and works only on request.
func quiet(t *testing.T, run func(t *testing.T, d *fixture, c *clock)) {
	now := newClock()
	servicetest.Each(t, servicetest.Options{Now: now.now, Quiet: true}, func(t *testing.T, s *servicetest.Instance) {
		now.seconds.Store(newClock().seconds.Load())
		run(t, newFixture(t, s), now)
	})
}

func (d *fixture) amounted(amount string) int64 {
	d.t.Helper()
	draft := servicetest.Draft()
	line(draft)["amount"] = json.Number(amount)
	return d.Create(d.Token("payments:admin"), draft)
}

func (d *fixture) executed(c *clock, amount string, after int64) {
	d.t.Helper()
	id := passerelle.PaymentID(d.amounted(amount))
	_, err := d.Initiation.Validate(d.t.Context(), d.Domain, id, initiation.Choice{
		Connector: sandbox.TestConnector, Fields: map[string]string{"use_case_pay": "decoupled"}, Validated: true, WebviewURL: d.Origin + "/before",
	})
	must(d.t, err)
	c.seconds.Add(after)
	_, err = d.Initiation.Answer(d.t.Context(), d.Domain, id, payment.ByClient, initiation.ActionAnswer{Action: payment.Decoupled, Yes: true})
	must(d.t, err)
	if state := d.state(int64(id)); state != "done" {
		d.t.Fatalf("the payment is %s", state)
	}
}

// many creates payments without the API, because the API would take longer.
func (d *fixture) many(n int) {
	d.t.Helper()
	var client passerelle.ClientID
	_, err := fmt.Sscan(d.ClientID, &client)
	must(d.t, err)
	for range n {
		_, err := d.Initiation.Create(d.t.Context(), d.Domain, initiation.Creation{By: client, Draft: payment.Draft{
			ClientRedirectURI: "https://shop.example/back",
			Instructions: []payment.Instruction{{
				Amount: passerelle.Money{Minor: 100, Currency: "EUR"}, Label: "One of many", DateType: payment.FirstOpenDay,
				Beneficiary: passerelle.Account{Scheme: passerelle.IBAN, Identification: "DE89370400440532013000", Label: "Shop"},
			}},
		}})
		must(d.t, err)
	}
}

func (d *fixture) rejected(amount string) {
	d.t.Helper()
	id := d.amounted(amount)
	d.OK(d.Call("POST", fmt.Sprintf("/sandbox/payments/%d/simulate", id), d.ConfigToken, map[string]any{"state": "rejected", "error_code": "bankMessage"}))
}

// wantTexts checks the texts of a page, and the number of parts in the page's chart.
func (d *fixture) wantTexts(path string, parts int, texts ...string) {
	d.t.Helper()
	body := d.shows(path, nil).body
	shown := words(body)
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			d.t.Errorf("%s lacks %q: %s", path, text, shown)
		}
	}
	if n := strings.Count(body, "<g><title>"); n != parts {
		d.t.Errorf("%s has %d parts, want %d", path, n, parts)
	}
}

// TestFiguresOfADomain checks the figures of a period and of the previous period, by hour and by
// day.
func TestFiguresOfADomain(t *testing.T) {
	quiet(t, func(t *testing.T, d *fixture, c *clock) {
		// It is 9 o'clock on Saturday, in the 24 hours before the shown period.
		d.executed(c, "10.00", 60)
		d.rejected("5.00")
		c.seconds.Store(time.Date(2026, 11, 22, 9, 15, 0, 0, time.UTC).Unix())
		d.executed(c, "20.00", 10)
		d.executed(c, "1000.00", 40)
		d.rejected("7.00")
		c.seconds.Store(time.Date(2026, 11, 22, 10, 30, 0, 0, time.UTC).Unix())
		d.amounted("2.50")
		d.enter(operators.Viewer)
		d.wantTexts(d.domainPath(""), 24,
			"Payments, 24 hours 4 2 in the 24 hours before", "Amount 1,029.50 EUR 15.00 EUR before", "Executed or accepted 66.6 % of payments that were executed (also in part), accepted or rejected; 50.0 % before",
			"Time until executed or accepted 25 s on average, 1 min before", "executed or accepted open or expired rejected",
			"11:00: 0 registered, 0 executed or accepted, 0 rejected; 0 in the period before", "09:00: 3 registered, 2 executed or accepted, 1 rejected; 2 in the period before",
			"10:00: 1 registered, 0 executed or accepted, 0 rejected; 0 in the period before", "Banque Exemple 2 100.0 % 100.0 % 0.0 % 25 s", "No bank chosen 2 0.0 % 0.0 % 50.0 % –", // together, the rows have the 4 payments of the period
		)
		d.wantTexts(d.domainPath("?by=days"), 14,
			"Payments, 14 days 6 0 in the 14 days before", "Amount 1,044.50 EUR none before", "Executed or accepted 60.0 % of payments that were executed (also in part), accepted or rejected", "Time until executed or accepted 36 s on average",
			"Sat 21 Nov: 2 registered, 1 executed or accepted, 1 rejected; 0 in the period before", "Sun 22 Nov: 4 registered, 2 executed or accepted, 1 rejected; 0 in the period before",
			"Mon 9 Nov: 0 registered",
		)
		// A day later, the shown period has become the previous period.
		c.seconds.Add(24 * 3600)
		again := newFixture(t, d.Instance)
		again.enter(operators.Developer)
		again.wantTexts(d.domainPath(""), 24,
			"Payments, 24 hours 0 4 in the 24 hours before", "Amount none 1,029.50 EUR before", "Executed or accepted none of payments that were executed (also in part), accepted or rejected; 66.6 % before",
			"Time until executed or accepted none 25 s before",
		)
	})
}

// TestManyPaymentsAreCountedNowAndThen checks that a count of few payments is always up to date.
// The service must cache a count of a thousand for 30 seconds, or until the next hour begins.
func TestManyPaymentsAreCountedNowAndThen(t *testing.T) {
	quiet(t, func(t *testing.T, d *fixture, c *clock) {
		c.seconds.Add(3600 - 75) // the test ends when the next hour begins
		d.enter(operators.Viewer)
		counted := func(n int64) {
			t.Helper()
			d.wantTexts(d.domainPath(""), 24, fmt.Sprintf("Payments, 24 hours %d 0 in", n))
		}
		d.amounted("1.00")
		counted(1)
		d.amounted("1.00")
		counted(2)
		d.many(997)
		counted(999)
		d.amounted("1.00")
		counted(1000)
		d.amounted("1.00")
		counted(1000)
		c.seconds.Add(29)
		counted(1000)
		c.seconds.Add(1)
		counted(1001)
		d.amounted("1.00")
		counted(1001)
		d.wantTexts(d.domainPath("?by=days"), 14, "Payments, 14 days 1002 0 in") // each period has its own count
		c.seconds.Add(30)
		counted(1002)
		d.amounted("1.00")
		c.seconds.Add(14)
		counted(1002)
		c.seconds.Add(1)
		counted(1003)
	})
}

func TestOlderPayments(t *testing.T) {
	quiet(t, func(t *testing.T, d *fixture, c *clock) {
		d.amounted("3.00")
		c.seconds.Add(40 * 24 * 3600)
		d.enter(operators.Viewer)
		for _, page := range []struct{ address, span string }{{"", "24 hours"}, {"?by=days", "14 days"}} {
			d.shows(d.domainPath(page.address), []string{"No payments in the last " + page.span, "See older payments"}, "No payments yet")
		}
	})
}
