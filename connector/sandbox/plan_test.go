package sandbox_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/payment"
)

func able(t *testing.T, b *sandbox.Bank) connector.Canceller {
	t.Helper()
	c, ok := initiator(t, b, testConnector).(connector.Canceller)
	if !ok {
		t.Fatal("the test connector does not cancel")
	}
	return c
}

func responder(t *testing.T, b *sandbox.Bank) connector.Responder {
	t.Helper()
	c, ok := initiator(t, b, testConnector).(connector.Responder)
	if !ok {
		t.Fatal("the test connector takes no answers")
	}
	return c
}

func respond(t *testing.T, b *sandbox.Bank, o connector.Order, a connector.Answer, now time.Time) payment.Report {
	t.Helper()
	o.Now = now
	r, err := responder(t, b).Answer(t.Context(), o, a)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func labelled(label string) payment.Instruction {
	return instruction(func(in *payment.Instruction) { in.Label = label })
}

func using(t *testing.T, b *sandbox.Bank, useCase string) (connector.Order, payment.Report) {
	t.Helper()
	o := newOrder(t, instruction())
	o.Fields = map[string]string{"use_case_pay": useCase, "openapiwebsite": "par"}
	return o, send(t, initiator(t, b, testConnector), o)
}

// A payer takes some time to decide in the app. TestDecoupled checks that the bank reports the
// decision after that time, and not earlier.
func TestDecoupled(t *testing.T) {
	resume := connector.Answer{Action: payment.Decoupled, Yes: true}
	for useCase, want := range map[string]struct {
		delay  time.Duration
		status payment.Status
		code   payment.ErrorCode
		text   string
	}{
		"decoupled":           {10 * time.Second, payment.Settled, "", ""},
		"decoupled_cancelled": {10 * time.Second, payment.Declined, payment.CancelledByUser, "The transaction has been cancelled by the PSU."},
		"decoupled_expired":   {20 * time.Second, payment.Declined, payment.AuthenticationFailed, "The decoupled validation has expired."},
	} {
		t.Run(useCase, func(t *testing.T) {
			bank := newBank(sandbox.NewMemoryLedger(), sandbox.Faithful)
			o, asked := using(t, bank, useCase)
			if asked.Action != payment.Decoupled || asked.ValidateURI != "" || asked.Description != "Please confirm the transaction in the phone app." {
				t.Errorf("Initiate = %+v", asked)
			}
			for _, early := range []time.Duration{0, want.delay - time.Second} {
				if r := respond(t, bank, o, resume, noon.Add(early)); r.Status != payment.Awaiting {
					t.Errorf("resumed after %s: %+v", early, r)
				}
			}
			r := respond(t, bank, o, resume, noon.Add(want.delay))
			if r.Status != want.status || r.Code != want.code || r.Description != want.text {
				t.Errorf("resumed in time: %+v", r)
			}
		})
	}
}

// TestPhasesInTurn checks that two pending steps pass one after the other on the domain's clock.
func TestPhasesInTurn(t *testing.T) {
	bank := newBank(sandbox.NewMemoryLedger(), sandbox.Faithful)
	c, o := initiator(t, bank, testConnector), newOrder(t, labelled("pdng/pdng/rjct(invalidDate) - x"))
	mustPress(t, bank, send(t, c, o).ValidateURI, "approve")
	for _, at := range []struct {
		passed time.Duration
		want   payment.Status
		next   time.Duration
	}{
		{0, payment.Processing, 15 * time.Second},
		{20 * time.Second, payment.Processing, 10 * time.Second},
		{30 * time.Second, payment.Settled, 0},
	} {
		if r := ask(t, c, o, noon.Add(at.passed)); r.Status != at.want || r.CheckAfter != at.next {
			t.Errorf("after %s: %+v", at.passed, r)
		}
	}
}

// TestWhatIsIgnoredIsSaid checks that the bank's status word names ignored steps.
func TestWhatIsIgnoredIsSaid(t *testing.T) {
	bank := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
	r := send(t, initiator(t, bank, testConnector), newOrder(t, labelled("pdng/what/actn(redirect)/done - x")))
	if r.Raw != "awaiting (ignored: what, actn)" {
		t.Errorf("the bank says %q", r.Raw)
	}
}

func TestMegabyte(t *testing.T) {
	bank := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
	c, o := initiator(t, bank, testConnector), newOrder(t, labelled("mega - x"))
	mustPress(t, bank, send(t, c, o).ValidateURI, "approve")
	if r := ask(t, c, o, noon); len(r.Description) < 1_000_000 || r.Code != payment.BankMessage {
		t.Errorf("%d bytes with code %s", len(r.Description), r.Code)
	}
}

// TestSlowBank checks that a call to a bank with the timing Faithful waits until the bank responds,
// but no longer than the call's deadline. With the timing CI, the call fails immediately.
func TestSlowBank(t *testing.T) {
	slow := func(in *payment.Instruction) { in.Amount.Minor = 7126_00 }
	for _, test := range []struct {
		name     string
		timing   sandbox.Timing
		wait     time.Duration
		waits    time.Duration
		answered bool
	}{
		{"long deadline", sandbox.Faithful, time.Minute, 30 * time.Second, true},
		{"short deadline", sandbox.Faithful, 20 * time.Second, 20 * time.Second, false},
		{"at once", sandbox.CI, time.Minute, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := newOrder(t, instruction(slow))
			synctest.Test(t, func(t *testing.T) {
				bank := newBank(sandbox.NewMemoryLedger(), test.timing)
				ctx, cancel := context.WithTimeout(t.Context(), test.wait)
				defer cancel()
				begun := time.Now()
				r, err := initiator(t, bank, testConnector).Initiate(ctx, o)
				if (err == nil) != test.answered || time.Since(begun) != test.waits {
					t.Errorf("after %s: %+v, %v", time.Since(begun), r, err)
				}
				wantUnknown(t, err)
				if r := ask(t, initiator(t, bank, testConnector), o, noon); r.Status != payment.Awaiting {
					t.Errorf("asked again: %+v", r)
				}
			})
		})
	}
}

// wantUnknown fails the test if an error determines the outcome of an order.
func wantUnknown(t *testing.T, err error) {
	t.Helper()
	var refusal *payment.Refusal
	if errors.As(err, &refusal) || errors.Is(err, connector.ErrNotSent) || errors.Is(err, connector.ErrUnknownOrder) {
		t.Errorf("the outcome is not left open: %v", err)
	}
}

func TestLostAnswer(t *testing.T) {
	ledger := sandbox.NewMemoryLedger()
	c := initiator(t, newBank(ledger, sandbox.CI), testConnector)
	o := newOrder(t, instruction(func(in *payment.Instruction) { in.Amount.Minor = 7128_00 }))
	_, err := c.Initiate(t.Context(), o)
	if err == nil {
		t.Error("the answer was not lost")
	}
	wantUnknown(t, err)
	if r := ask(t, c, o, noon); r.Status != payment.Settled || ledger.Orders() != 1 {
		t.Errorf("asked again: %+v, with %d orders", r, ledger.Orders())
	}
}

// TestCancelledMeanwhile checks that an order whose payer has agreed to cancel stays cancelled as
// time passes.
func TestCancelledMeanwhile(t *testing.T) {
	bank := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
	c, o := able(t, bank), newOrder(t, instruction(dated(payment.FirstOpenDay), func(in *payment.Instruction) { in.Label = "pdng:1h/done - x" }))
	page := send(t, c, o).ValidateURI
	mustPress(t, bank, page, "approve")
	ask(t, c, o, noon)
	o.ReturnURL = "https://service.test/cancelled"
	r, err := c.Cancel(t.Context(), o)
	if err != nil || r.Cancellation != payment.CancellationAwaiting || r.Status != payment.Processing || r.ValidateURI != page {
		t.Fatalf("Cancel = %+v, %v", r, err)
	}
	expectText(t, get(t, bank, page), "Cancel this payment?", "Cancel the payment</button>", "Keep the payment</button>")
	if w := press(t.Context(), bank, page, "refuse"); w.Code != 409 {
		t.Errorf("refusing was answered with %d", w.Code)
	}
	if w := press(t.Context(), bank, page, "cancel"); w.Header().Get("Location") != o.ReturnURL {
		t.Errorf("the payer is sent to %q", w.Header().Get("Location"))
	}
	expectText(t, get(t, bank, page), "You cancelled this payment")
	if r := ask(t, c, o, noon.Add(48*time.Hour)); r.Cancellation != payment.CancellationGranted || r.Status != payment.Declined {
		t.Errorf("two days later: %+v", r)
	}
}

// TestBulkIsCancelledUntilItsLastLine checks that the bank accepts a request to cancel a bulk
// payment until its last line has ended.
func TestBulkIsCancelledUntilItsLastLine(t *testing.T) {
	for _, test := range []struct {
		after time.Duration
		want  payment.Cancellation
	}{{30 * time.Minute, payment.CancellationAwaiting}, {2 * time.Hour, ""}} {
		bank := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
		line := func(label string) payment.Instruction {
			return instruction(dated(payment.FirstOpenDay), func(in *payment.Instruction) { in.Label, in.ReferenceID = label, "" })
		}
		c, o := able(t, bank), newOrder(t, line("Order 1"), line("pdng:1h/done - x"))
		mustPress(t, bank, send(t, c, o).ValidateURI, "approve")
		ask(t, c, o, noon)
		o.Now = noon.Add(test.after)
		if r, err := c.Cancel(t.Context(), o); err != nil || r.Cancellation != test.want {
			t.Errorf("after %s: Cancel = %+v, %v, want %q", test.after, r, err, test.want)
		}
	}
}

func TestInstantIsNotCancelled(t *testing.T) {
	bank := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
	c, o := able(t, bank), newOrder(t, labelled("pdng:1h/done - x"))
	send(t, c, o)
	if r, err := c.Cancel(t.Context(), o); err != nil || r.Cancellation != payment.CancellationRefused || r.Status != payment.Awaiting {
		t.Errorf("Cancel = %+v, %v", r, err)
	}
}

// TestSeries checks that reports about a series contain the executions so far, including a failed
// one.
func TestSeries(t *testing.T) {
	bank := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
	c, o := initiator(t, bank, testConnector), newOrder(t, instruction(dated(payment.Periodic), func(in *payment.Instruction) {
		in.Label = "fail(2) - x"
	}))
	mustPress(t, bank, send(t, c, o).ValidateURI, "approve")
	start := passerelle.DateOf(noon, time.UTC).AddDays(3)
	for months, want := range []struct {
		status payment.Status
		codes  string
	}{
		{payment.Processing, "-"}, {payment.Processing, "- noSpecifiedReason"}, {payment.Settled, "- noSpecifiedReason -"},
	} {
		r := ask(t, c, o, start.AddMonths(months).In(time.UTC))
		var codes []string
		for i, one := range r.Occurrences {
			if one.Day != start.AddMonths(i) {
				t.Errorf("occurrence %d is on %s", i, one.Day)
			}
			codes = append(codes, cmp.Or(string(one.Code), "-"))
		}
		got := strings.Join(codes, " ")
		if r.Status != want.status || got != want.codes {
			t.Errorf("in month %d: %s with %q, want %s with %q", months, r.Status, got, want.status, want.codes)
		}
	}
}

func stored(t *testing.T, o connector.Order, body string) *sandbox.MemoryLedger {
	t.Helper()
	ledger := sandbox.NewMemoryLedger()
	if _, _, _, err := ledger.Submit(t.Context(), o.Domain, o.Key, []byte(body)); err != nil {
		t.Fatal(err)
	}
	return ledger
}

func TestOrdersOfEarlierVersions(t *testing.T) {
	const body = `{"connector":"` + testConnector + `","use_case":"redirect","mechanism":"webauth","submitted":"2026-11-21T12:00:00Z",
		"return_url":"https://service.test/2.0/webauth/callback?state=abc","currency":"GBP","total":1250,
		"lines":[{"name":"The Shop","scheme":"sort_code_account_number","number":"00000055779911","label":"Order 1","minor":1250}],`
	for rest, want := range map[string]payment.Report{
		`"date_type":"instant","status":"awaiting"}`:                              {Status: payment.Awaiting, Raw: "awaiting"},
		`"date_type":"instant","status":"approved"}`:                              {Status: payment.Settled, Raw: "executed"},
		`"date_type":"instant","status":"approved","due":"2026-11-21T12:00:15Z"}`: {Status: payment.Processing, Raw: "approved"},
		`"date_type":"instant","status":"approved","due":"2026-11-21T11:00:00Z"}`: {Status: payment.Settled, Raw: "executed"},
		`"date_type":"periodic","status":"approved","day":"2026-12-01"}`:          {Status: payment.Settled, Raw: "accepted"},
		`"date_type":"instant","status":"refused"}`:                               {Status: payment.Declined, Raw: "refused"},
	} {
		o := newOrder(t, instruction())
		bank := newBank(stored(t, o, body+rest), sandbox.Faithful)
		if r := ask(t, initiator(t, bank, testConnector), o, noon); r.Status != want.Status || r.Raw != want.Raw {
			t.Errorf("%s\nis reported as %+v", rest, r)
		}
		if w := get(t, bank, bank.Page(o.Domain, o.Key)); w.Code != 200 {
			t.Errorf("%s\nhas a page that answers %d", rest, w.Code)
		}
	}
}

func TestUnreadableOrders(t *testing.T) {
	for _, body := range []string{`{}`, `[]`, `{"lines":[{}],"plan":{"steps":[{"do":"end"}]},"at":1}`, `{"lines":[{}],"plan":{"steps":[{"do":"end"}]},"at":-1}`} {
		o := newOrder(t, instruction())
		_, err := initiator(t, newBank(stored(t, o, body), sandbox.CI), testConnector).Status(t.Context(), o)
		if err == nil {
			t.Errorf("%s is read", body)
		}
		wantUnknown(t, err)
	}
}
