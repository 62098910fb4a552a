package initiation_test

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/initiation"
	"passerelle/payment"
)

var (
	none      = initiation.Done{}
	one       = initiation.Done{Checked: 1}
	recovered = initiation.Done{Recovered: 1}
)

// A lease of this duration has lapsed when it begins. A loop therefore finds the work of a crashed
// process immediately.
const lapsed = -time.Hour

// impatience is an AnswerTime that a working bank does not reach, even on a busy machine.
const impatience = 500 * time.Millisecond

// crashes contains the places of a crash during a validation, with the state after each crash.
var crashes = []struct {
	name    string
	dies    func(w *fixture, i *initiation.Initiation)
	left    payment.State
	attempt string
	sent    int64
}{
	{"before the first write", func(_ *fixture, i *initiation.Initiation) { i.Random = deadly{} }, payment.Created, "", 0},
	{"before the bank", func(w *fixture, _ *initiation.Initiation) { w.line.breaks(before(dies), nil) }, payment.Created, "open", 0},
	{"after the bank", func(w *fixture, _ *initiation.Initiation) { w.line.breaks(after(dies), nil) }, payment.Created, "open", 1},
	{"after the second write", func(_ *fixture, i *initiation.Initiation) { i.Wake = runtime.Goexit }, payment.Validating, "answered", 1},
}

func TestCrashInAValidation(t *testing.T) {
	for _, crash := range crashes {
		t.Run(crash.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				id := w.create(1)
				doomed := w.another()
				doomed.Lease = lapsed
				crash.dies(w, doomed)
				if survives(func() { _, _ = doomed.Validate(t.Context(), w.domain, id, validated()) }) {
					t.Fatal("the process lives")
				}
				w.wantState(t, id, crash.left)
				w.wantAttempt(t, id, crash.attempt)
				w.wantSubmissions(t, id, crash.sent)
				w.line.breaks(nil, nil)
				w.rescue(t, id, crash.attempt)
			})
		})
	}
}

func (w *fixture) rescue(t *testing.T, id passerelle.PaymentID, attempt string) {
	t.Helper()
	next := w.another()
	switch attempt {
	case "open":
		w.runDue(t, next, w.domain, recovered)
	case "":
		w.runDue(t, next, w.domain, none)
		_, err := next.Validate(t.Context(), w.domain, id, validated())
		must(t, err)
	}
	w.wantState(t, id, payment.Validating)
	w.wantAttempt(t, id, "answered")
	w.runDue(t, next, w.domain, none)
	w.decide(w.stored(id), "approve")
	w.runDue(t, next, w.later(time.Minute), one)
	w.wantState(t, id, payment.Done)
	w.wantSubmissions(t, id, 1)
}

// TestCrashInALoop kills the process that recovers an attempt or follows a payment, and then its
// successor.
func TestCrashInALoop(t *testing.T) {
	points := map[string]fault{"before the bank": before(dies), "after the bank": after(dies)}
	for name, point := range points {
		t.Run("recovering "+name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				id := w.create(1)
				w.line.breaks(after(fails(errCut)), point)
				w.Lease = lapsed
				_, err := w.Validate(t.Context(), w.domain, id, validated())
				must(t, err)
				for range 2 {
					w.runDue(t, w.Initiation, w.domain, recovered)
					w.wantAttempt(t, id, "unknown")
				}
				w.line.breaks(nil, nil)
				w.rescue(t, id, "open")
			})
		})
		t.Run("following "+name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				p := w.sent(1)
				w.decide(p, "approve")
				w.Lease = lapsed
				w.line.breaks(nil, point)
				for range 2 {
					w.runDue(t, w.Initiation, w.later(time.Minute), one)
					w.wantState(t, p.ID, payment.Validating)
				}
				w.line.breaks(nil, nil)
				w.runDue(t, w.another(), w.later(time.Minute), one)
				w.wantState(t, p.ID, payment.Done)
			})
		})
	}
}

// TestCrashAfterTheResend crashes a process immediately after it has sent an order again.
func TestCrashAfterTheResend(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		id := w.create(1)
		w.line.breaks(before(fails(errCut)), nil)
		w.Lease = lapsed
		_, err := w.Validate(t.Context(), w.domain, id, validated())
		must(t, err)
		w.line.breaks(after(dies), nil)
		w.runDue(t, w.Initiation, w.domain, recovered)
		w.wantSubmissions(t, id, 1)
		w.line.breaks(nil, nil)
		w.rescue(t, id, "open")
	})
}

// TestRepeatedOrder checks that a repeated order is marked as such. It must contain the stored
// device of the payer, because no payer is present.
func TestRepeatedOrder(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		payer := connector.Device{Address: netip.MustParseAddr("192.0.2.7"), UserAgent: "Browser", AcceptLanguage: "de"}
		var devices []connector.Device
		var repeated []bool
		w.line.breaks(func(ctx context.Context, o connector.Order, next exchange) (payment.Report, error) {
			devices, repeated = append(devices, o.Device), append(repeated, o.Repeated)
			if len(devices) == 1 {
				return payment.Report{}, errCut
			}
			return next(ctx, o)
		}, func(ctx context.Context, o connector.Order, next exchange) (payment.Report, error) {
			devices, repeated = append(devices, o.Device), append(repeated, o.Repeated)
			return next(ctx, o)
		})
		_, err := w.Validate(connector.WithDevice(t.Context(), payer), w.domain, w.create(1), validated())
		must(t, err)
		w.runDue(t, w.another(), w.domain, recovered)
		if want := []connector.Device{payer, {}, payer}; !slices.Equal(want, devices) {
			t.Errorf("the devices of sending, asking and sending again are %v, want %v", devices, want)
		}
		if want := []bool{false, false, true}; !slices.Equal(want, repeated) {
			t.Errorf("the marks of a repeated order are %v, want %v", repeated, want)
		}
	})
}

// TestRequestsOfUnknownOutcomes checks that the timeline names each request with an unknown outcome
// only once.
func TestRequestsOfUnknownOutcomes(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		const sent = "initiate 0b9f6a30-7a63-4d3c-9f5c-2a1f4c0f6d11"
		cut := func(context.Context, connector.Order, exchange) (payment.Report, error) {
			return payment.Report{Requests: sent}, errCut
		}
		w.line.breaks(cut, cut)
		p, err := w.Validate(t.Context(), w.domain, w.create(1), validated())
		must(t, err)
		w.runDue(t, w.another(), w.domain, recovered)
		w.leasesLapse()
		w.runDue(t, w.another(), w.domain, recovered)
		w.wantNotes(t, p.ID, "outcomeUnknown service")
		if got := column[string](w, `SELECT bank_requests FROM payment_note`); !slices.Equal(got, []string{sent}) {
			t.Errorf("the timeline names the requests %q, want %q", got, sent)
		}
	})
}

// TestNeverSentAgain uses a bank that does not recognise keys. The service must ask about an order
// with an unknown outcome at growing intervals, and never send it again.
func TestNeverSentAgain(t *testing.T) {
	for _, test := range []struct {
		name  string
		cut   fault
		sent  int64
		knows bool
	}{
		{"it never arrived", before(fails(errCut)), 0, false},
		{"it arrived", after(fails(errCut)), 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				w.line.tune(func(p *connector.Profile) { p.Idempotent = false })
				id := w.create(1)
				w.line.breaks(test.cut, before(fails(errCut)))
				_, err := w.Validate(t.Context(), w.domain, id, validated())
				must(t, err)
				w.wantBackOff(t, id, 8)
				w.line.breaks(nil, nil)
				w.leasesLapse()
				w.runDue(t, w.Initiation, w.domain, recovered)
				w.wantSubmissions(t, id, test.sent)
				if test.knows {
					w.wantState(t, id, payment.Validating)
					return
				}
				w.wantState(t, id, payment.Created)
				w.wantAttempt(t, id, "unknown")
			})
		})
	}
}

// TestOldOrdersAreNotSentAgain uses a bank that recognises a key for a limited time, which does not
// depend on the domain's clock. The service must not resend an order that would arrive after this
// time.
func TestOldOrdersAreNotSentAgain(t *testing.T) {
	for _, test := range []struct {
		name, sent string
		life       time.Duration
		repeated   bool
	}{
		{"young", "sent - 600000000", 0, true},
		{"older than the default", "sent - 3600000000", 0, false},
		{"younger than the connector's own time", "sent - 3600000000", 2 * time.Hour, true},
		{"older than the connector's own time", "sent - 600000000", 10 * time.Minute, false},
		{"would arrive too late", "sent - 595000000", 10 * time.Minute, false},
		{"of an earlier version", "NULL", 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				w.line.tune(func(p *connector.Profile) { p.KeyLife = test.life })
				id := w.create(1)
				w.line.breaks(before(fails(errCut)), nil)
				_, err := w.Validate(t.Context(), w.domain, id, validated())
				must(t, err)
				w.line.breaks(nil, nil)
				w.execute(`UPDATE attempt SET sent = ` + test.sent)
				w.leasesLapse()
				w.runDue(t, w.another(), w.later(48*time.Hour), recovered)
				if test.repeated {
					w.wantState(t, id, payment.Validating)
					w.wantSubmissions(t, id, 1)
					return
				}
				w.wantState(t, id, payment.Created)
				w.wantAttempt(t, id, "unknown")
				w.wantSubmissions(t, id, 0)
				w.wantLogged(t, "knows no such order")
			})
		})
	}
}

// TestOldOrdersThatArrived checks that the service still asks about an order that is too old to be
// sent again.
func TestOldOrdersThatArrived(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		id := w.create(1)
		w.line.breaks(after(fails(errCut)), nil)
		_, err := w.Validate(t.Context(), w.domain, id, validated())
		must(t, err)
		w.line.breaks(nil, nil)
		w.execute(`UPDATE attempt SET sent = NULL`)
		w.leasesLapse()
		w.runDue(t, w.another(), w.domain, recovered)
		w.wantState(t, id, payment.Validating)
		w.wantSubmissions(t, id, 1)
	})
}

// wantBackOff checks that each wait is twice as long as the previous one, up to an hour.
func (w *fixture) wantBackOff(t *testing.T, id passerelle.PaymentID, times int) {
	t.Helper()
	wait := 30 * time.Second
	for range times {
		w.leasesLapse()
		w.runDue(t, w.Initiation, w.domain, recovered)
		w.runDue(t, w.Initiation, w.domain, none)
		w.wantAttempt(t, id, "unknown")
		w.wantState(t, id, payment.Created)
		until := column[int64](w, `SELECT lease_until FROM attempt WHERE payment_id = $1`, int64(id))[0]
		got := time.Until(time.UnixMicro(until))
		if got > wait+time.Second || got < wait-20*time.Second {
			t.Errorf("the next question comes in %v, want %v", got, wait)
		}
		wait = min(2*wait, time.Hour)
	}
}

// TestWaitIsBounded checks the longest waits between two questions to the bank.
func TestWaitIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		status         fault
		repeatable     bool
		shortest, most time.Duration
	}{
		"no answer":             {before(fails(errCut)), false, 59 * time.Minute, time.Hour},
		"no answer, repeatable": {before(fails(errCut)), true, 4 * time.Minute, 5 * time.Minute},
		"not sent":              {before(fails(errors.Join(errCut, connector.ErrNotSent))), false, 40 * time.Second, time.Minute},
		"not sent, repeatable":  {before(fails(errors.Join(errCut, connector.ErrNotSent))), true, 40 * time.Second, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				w.line.tune(func(p *connector.Profile) { p.Idempotent = test.repeatable })
				w.line.breaks(before(fails(errCut)), test.status)
				id := w.create(1)
				_, err := w.Validate(t.Context(), w.domain, id, validated())
				must(t, err)
				w.execute(`UPDATE attempt SET asked = 1000, lease_until = 0`)
				w.runDue(t, w.Initiation, w.domain, recovered)
				until := column[int64](w, `SELECT lease_until FROM attempt`)[0]
				if wait := time.Until(time.UnixMicro(until)); wait > test.most || wait < test.shortest {
					t.Errorf("the next question comes in %v", wait)
				}
			})
		})
	}
}

// TestRequestedWaits: a bank requests a wait when it refuses a call about an order with an unknown
// outcome. The service must not ask the bank earlier, within limits. An order that may be sent again
// has a low limit, because the bank forgets the order's key, and a lower limit if the bank soon does.
func TestRequestedWaits(t *testing.T) {
	for name, test := range map[string]struct {
		requested  time.Duration
		repeatable bool
		keyLife    time.Duration
		want       time.Duration
	}{
		"two hours":               {2 * time.Hour, false, 0, 2 * time.Hour},
		"a year":                  {365 * day, false, 0, day},
		"two minutes, repeatable": {2 * time.Minute, true, 0, 2 * time.Minute},
		"two hours, repeatable":   {2 * time.Hour, true, 0, 5 * time.Minute},
		"a key for four minutes":  {2 * time.Hour, true, 4 * time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				w.line.tune(func(p *connector.Profile) { p.Idempotent, p.KeyLife = test.repeatable, test.keyLife })
				busy := func(context.Context, connector.Order, exchange) (payment.Report, error) {
					return payment.Report{CheckAfter: test.requested}, errCut
				}
				wantWait := func(call string) {
					t.Helper()
					w.runDue(t, w.another(), w.domain, none)
					until := column[int64](w, `SELECT lease_until FROM attempt`)[0]
					if wait := time.Until(time.UnixMicro(until)); wait > test.want || wait < test.want-20*time.Second {
						t.Errorf("after %s, the next question comes in %v, want %v", call, wait, test.want)
					}
				}
				w.line.breaks(busy, busy)
				_, err := w.Validate(t.Context(), w.domain, w.create(1), validated())
				must(t, err)
				wantWait("the order")
				w.leasesLapse()
				w.runDue(t, w.another(), w.domain, recovered)
				wantWait("a question")
			})
		})
	}
}

// TestWaitOfAnInvalidReport: a bank takes an order, requests a wait until the next check, and names no
// page for the action redirect. Nobody has refused a call, so the service must soon ask the bank again.
func TestWaitOfAnInvalidReport(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		invalid := answers(payment.Report{Status: payment.Awaiting, Action: payment.Redirect, CheckAfter: time.Hour})
		w.line.breaks(invalid, invalid)
		_, err := w.Validate(t.Context(), w.domain, w.create(1), validated())
		must(t, err)
		w.runDue(t, w.another(), w.domain, recovered)
		w.wantAttempt(t, 1, "unknown")
		until := column[int64](w, `SELECT lease_until FROM attempt`)[0]
		if wait := time.Until(time.UnixMicro(until)); wait > time.Minute {
			t.Errorf("the second question comes in %v", wait)
		}
	})
}

// TestOutcomes makes the first call fail. If the outcome is unknown, a loop must later bring the
// payment to its end.
func TestOutcomes(t *testing.T) {
	refusal := &payment.Refusal{Code: payment.InsufficientFunds, Description: "not enough"}
	for _, test := range []struct {
		name    string
		broken  fault
		state   payment.State
		code    payment.ErrorCode
		attempt string
		sent    int64
		cause   payment.Cause
	}{
		{name: "no answer, never arrived", broken: before(hangs), state: payment.Created, attempt: "unknown"},
		{name: "no answer, arrived", broken: after(hangs), state: payment.Created, attempt: "unknown", sent: 1},
		{name: "cut before", broken: before(fails(errCut)), state: payment.Created, attempt: "unknown"},
		{name: "cut after", broken: after(fails(errCut)), state: payment.Created, attempt: "unknown", sent: 1},
		{name: "panic before", broken: before(panics), state: payment.Created, attempt: "unknown"},
		{name: "panic after", broken: after(panics), state: payment.Created, attempt: "unknown", sent: 1},
		{name: "no report at all", broken: after(fails(nil)), state: payment.Created, attempt: "unknown", sent: 1},
		{name: "garbage", broken: answers(payment.Report{Status: "%&§", Raw: "\x00"}), state: payment.Created, attempt: "unknown"},
		{name: "unknown order", broken: before(fails(connector.ErrUnknownOrder)), state: payment.Created, attempt: "unknown"},
		{
			name: "refused", broken: before(fails(errors.Join(errors.New("bank"), refusal))),
			state: payment.Rejected, code: payment.InsufficientFunds, attempt: "answered",
			cause: payment.Cause{Trigger: payment.Refused, Actor: payment.ByBank, Bank: "refused"},
		},
		{
			name: "not sent", broken: before(fails(errors.Join(connector.ErrNotSent, errCut))),
			state: payment.Rejected, code: payment.WebsiteUnavailable, attempt: "answered",
			cause: payment.Cause{Trigger: payment.Refused, Actor: payment.ByService, Bank: "not sent"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				id, slow := w.create(1), w.AnswerTime
				w.AnswerTime, w.Lease = impatience, lapsed
				w.line.breaks(test.broken, nil)
				p, err := w.Validate(t.Context(), w.domain, id, validated())
				must(t, err)
				if p.State != test.state || p.ErrorCode != test.code {
					t.Errorf("answered is %s with code %q", p.State, p.ErrorCode)
				}
				w.wantState(t, id, test.state)
				w.wantAttempt(t, id, test.attempt)
				w.wantSubmissions(t, id, test.sent)
				if test.state == payment.Rejected {
					w.wantEvents(t, id, eventSummary{Version: 1, State: payment.Rejected, ErrorCode: string(test.code), Lines: "rejected"})
					w.wantHistory(t, id, registered, payment.Transition{Seq: 1, From: payment.Created, To: payment.Rejected, Cause: test.cause, At: noon})
					w.runDue(t, w.another(), w.later(time.Hour), none)
					return
				}
				w.wantEvents(t, id)
				w.AnswerTime = slow
				w.line.breaks(nil, nil)
				w.rescue(t, id, "open")
			})
		})
	}
}

// TestRecoveryRejectsOnRefusalAlone checks that only a refusal rejects the payment. A resend or a
// status request that was not sent proves nothing about the first order.
func TestRecoveryRejectsOnRefusalAlone(t *testing.T) {
	refusal := &payment.Refusal{Code: payment.RegulatoryReason}
	for _, test := range []struct {
		name             string
		initiate, status fault
		state            payment.State
	}{
		{"question not sent", nil, before(fails(connector.ErrNotSent)), payment.Created},
		{"resend not sent", before(fails(connector.ErrNotSent)), nil, payment.Created},
		{"resend panics", before(panics), nil, payment.Created},
		{"question is answered with garbage", nil, answers(payment.Report{}), payment.Created},
		{"question hangs", nil, before(hangs), payment.Created},
		{"resend is refused", before(fails(refusal)), nil, payment.Rejected},
		{"resend is refused for an expired certificate", before(fails(&connector.Fault{Says: "expired", Err: refusal})), nil, payment.Created},
		{"question is answered with a refusal", nil, before(fails(refusal)), payment.Rejected},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				w.AnswerTime = impatience
				id := w.create(1)
				w.line.breaks(before(fails(errCut)), nil)
				_, err := w.Validate(t.Context(), w.domain, id, validated())
				must(t, err)
				w.line.breaks(test.initiate, test.status)
				w.leasesLapse()
				w.runDue(t, w.Initiation, w.domain, recovered)
				w.runDue(t, w.Initiation, w.domain, none)
				w.wantState(t, id, test.state)
				w.wantSubmissions(t, id, 0)
			})
		})
	}
}

// TestClientGoesAway ends the request during the call to the bank. The response must still be
// stored before Validate returns.
func TestClientGoesAway(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		id := w.create(1)
		ctx, leave := context.WithCancel(t.Context())
		w.line.breaks(meanwhile(leave), nil)
		p, err := w.Validate(ctx, w.domain, id, validated())
		must(t, err)
		if p.State != payment.Validating || ctx.Err() == nil {
			t.Errorf("answered is %s", p.State)
		}
		w.wantState(t, id, payment.Validating)
		w.wantAttempt(t, id, "answered")
	})
}

// TestStopInALoop cancels a pass. The next pass must do the remaining work.
func TestStopInALoop(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.sent(1)
		w.decide(p, "approve")
		ctx, stop := context.WithCancel(t.Context())
		w.line.breaks(nil, before(func(ctx context.Context) error { stop(); return ctx.Err() }))
		w.Lease = lapsed
		if _, err := w.RunDue(ctx, w.later(time.Minute)); !errors.Is(err, context.Canceled) {
			t.Errorf("the pass ended with %v", err)
		}
		w.wantState(t, p.ID, payment.Validating)
		w.line.breaks(nil, nil)
		w.runDue(t, w.another(), w.later(time.Minute), one)
		w.wantState(t, p.ID, payment.Done)
	})
}
