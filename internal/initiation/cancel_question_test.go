package initiation_test

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/initiation"
	"passerelle/payment"
)

// awaited is the report of a bank that waits for the payer on its page.
var awaited = payment.Report{Status: payment.Awaiting, Action: payment.Redirect, ValidateURI: "https://bank.test/still"}

// asksAbout returns the report of a bank that requests an action before it cancels the order.
func asksAbout(order payment.Status, action payment.Action, fields ...payment.Field) payment.Report {
	return payment.Report{Status: order, Cancellation: payment.CancellationAwaiting, Action: action, Fields: fields}
}

func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	var reported *passerelle.Error
	if !errors.As(err, &reported) || reported.Kind != passerelle.Unavailable {
		t.Errorf("the error is %v", err)
	}
}

// TestUnsentAnswerAboutACancellation: a bank requests a code before it cancels an order, and the
// first code does not reach the bank. The cancellation must stay requested by the client.
func TestUnsentAnswerAboutACancellation(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.onItsWay()
		sms := payment.Field{Name: "openapisms", Type: "text", Label: "Code", Required: true}
		w.line.interrupts(before(fails(connector.ErrNotSent)), answers(asksAbout(payment.Processing, payment.FillFields, sms)))
		_, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
		must(t, err)
		_, err = w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, code("1234"))
		wantUnavailable(t, err)
		if kept := w.stored(p.ID); kept.Detail != payment.Cancelling || kept.Action != payment.FillFields {
			t.Errorf("the payment is %s, %q with action %q", kept.State, kept.Detail, kept.Action)
		}
		w.line.interrupts(answers(payment.Report{Status: payment.Declined, Cancellation: payment.CancellationGranted}), nil)
		end, err := w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, code("1234"))
		must(t, err)
		if end.State != payment.Rejected || end.ErrorCode != payment.CancelledByClient {
			t.Errorf("the payment is %s with %q", end.State, end.ErrorCode)
		}
		w.wantNotes(t, p.ID, "cancelling client", "cancellationGranted client")
	})
}

// TestNoToACancellation: a payer or client answers "no" when the bank asks whether to cancel an
// order. The order must continue, and the payment must not count as abandoned.
func TestNoToACancellation(t *testing.T) {
	refused := awaited
	refused.Cancellation = payment.CancellationRefused
	for name, test := range map[string]struct {
		action payment.Action
		by     payment.Actor
		bank   fault
		notes  []string
	}{
		"psuValidation":                  {payment.PSUValidation, payment.ByPayer, answers(awaited), []string{"cancellationRefused payer"}},
		"confirm":                        {payment.Confirm, payment.ByClient, answers(awaited), []string{"cancellationRefused client"}},
		"the bank names the refusal":     {payment.PSUValidation, payment.ByPayer, answers(refused), []string{"cancellationRefused bank"}},
		"the bank's response was lost":   {payment.PSUValidation, payment.ByPayer, before(fails(errCut)), []string{"outcomeUnknown service", "cancellationRefused payer"}},
		"the bank got nothing at first":  {payment.PSUValidation, payment.ByPayer, before(fails(connector.ErrNotSent)), []string{"cancellationRefused payer"}},
		"the client's no reached nobody": {payment.Confirm, payment.ByClient, before(fails(connector.ErrNotSent)), []string{"cancellationRefused client"}},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				w.line.tune(func(p *connector.Profile) { p.ApprovalLife = 0 })
				p := w.steered("actn(redirect)/done")
				w.line.breaks(nil, answers(awaited))
				w.line.interrupts(test.bank, answers(asksAbout(payment.Awaiting, test.action)))
				_, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
				must(t, err)
				no := initiation.ActionAnswer{Action: test.action}
				if _, err = w.Answer(t.Context(), w.domain, p.ID, test.by, no); err != nil {
					wantUnavailable(t, err)
					w.line.interrupts(answers(awaited), nil)
					_, err = w.Answer(t.Context(), w.domain, p.ID, test.by, no)
					must(t, err)
				}
				w.leasesLapse()
				_, err = w.another().RunDue(t.Context(), w.domain)
				must(t, err)
				w.wantAttempt(t, p.ID, "answered")
				w.runDue(t, w.Initiation, w.later(time.Hour), one)
				if stands := w.stored(p.ID); stands.State != payment.Validating || stands.Detail != "" || stands.Action != payment.Redirect {
					t.Fatalf("the payment is %s with %q, %q with action %q", stands.State, stands.ErrorCode, stands.Detail, stands.Action)
				}
				w.wantNotes(t, p.ID, append([]string{"cancelling client"}, test.notes...)...)
				w.line.breaks(nil, nil)
				back, err := w.Return(t.Context(), w.domain, w.decide(p, "approve"), nil)
				must(t, err)
				if back.State != payment.Done {
					t.Errorf("approved at the bank, the payment is %s", back.State)
				}
			})
		})
	}
}

// TestYesToACancellation: a payer abandons a payment. Later the client cancels it, and the payer
// answers "yes" when the bank asks whether to cancel the order. This must not count as an agreement
// to the payment: if the bank refuses to cancel, the payment stays abandoned, and ends when the bank
// no longer accepts an approval. Without a decision of the bank, the cancellation must continue.
func TestYesToACancellation(t *testing.T) {
	refused, granted := awaited, payment.Report{Status: payment.Declined, Cancellation: payment.CancellationGranted}
	refused.Cancellation = payment.CancellationRefused
	psu, yes := asksAbout(payment.Awaiting, payment.PSUValidation), initiation.ActionAnswer{Action: payment.PSUValidation, Yes: true}
	sms := asksAbout(payment.Awaiting, payment.FillFields, payment.Field{Name: "openapisms", Type: "text", Label: "Code", Required: true})
	for name, test := range map[string]struct {
		asks   payment.Report
		answer initiation.ActionAnswer
		bank   fault
		detail payment.Detail
		then   payment.Report
		code   payment.ErrorCode
		notes  []string
	}{
		"refused":           {psu, yes, answers(refused), "", awaited, payment.CancelledByUser, []string{"cancellationRefused bank"}},
		"a code, refused":   {sms, code("1234"), answers(refused), "", awaited, payment.CancelledByUser, []string{"cancellationRefused bank"}},
		"granted later":     {psu, yes, answers(awaited), payment.Cancelling, granted, payment.CancelledByClient, []string{"cancellationGranted client"}},
		"the answer is cut": {psu, yes, before(fails(errCut)), payment.Cancelling, granted, payment.CancelledByClient, []string{"outcomeUnknown service", "cancellationGranted client"}},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				w.line.tune(func(p *connector.Profile) { p.ApprovalLife = day })
				p := w.steered("actn(redirect)/done")
				w.line.interrupts(nil, before(fails(&payment.Refusal{Code: payment.NoSpecifiedReason})))
				_, err := w.Cancel(t.Context(), w.domain, p.ID, initiation.CancelRequest{By: payment.ByPayer})
				must(t, err)
				w.line.interrupts(test.bank, answers(test.asks))
				_, err = w.Cancel(t.Context(), w.later(time.Hour), p.ID, withdrawal)
				must(t, err)
				w.line.breaks(nil, answers(awaited))
				_, err = w.Answer(t.Context(), w.later(time.Hour), p.ID, payment.ByPayer, test.answer)
				must(t, err)
				w.leasesLapse()
				_, err = w.another().RunDue(t.Context(), w.later(2*time.Hour))
				must(t, err)
				if stands := w.stored(p.ID); stands.State != payment.Validating || stands.Detail != test.detail {
					t.Fatalf("the payment is %s, %q with %q", stands.State, stands.Detail, stands.ErrorCode)
				}
				w.line.breaks(nil, answers(test.then))
				w.runDue(t, w.another(), w.later(day+time.Hour), one)
				if end := w.stored(p.ID); end.State != payment.Rejected || end.ErrorCode != test.code {
					t.Errorf("the payment is %s with %q", end.State, end.ErrorCode)
				}
				w.wantNotes(t, p.ID, append([]string{"cancellationRefused bank", "abandoned payer", "cancelling client"}, test.notes...)...)
			})
		})
	}
}

// TestReturnsFromCancellations checks that only the bank's pages about a cancellation lead the payer
// back to the address of the cancellation.
func TestReturnsFromCancellations(t *testing.T) {
	refused, asked := awaited, asksAbout(payment.Awaiting, payment.Decoupled)
	refused.Cancellation = payment.CancellationRefused
	onEach(t, func(t *testing.T, w *fixture) {
		var leads []bool
		says := func(report payment.Report) fault {
			return func(_ context.Context, o connector.Order, _ exchange) (payment.Report, error) {
				back, err := url.Parse(o.ReturnURL)
				leads = append(leads, err == nil && initiation.FromCancellation(back.Query().Get("state")))
				return report, nil
			}
		}
		p := w.steered("actn(redirect)/done")
		w.line.interrupts(says(asked), says(asked))
		checks := 0
		check := func(report payment.Report) {
			checks++
			w.line.breaks(nil, says(report))
			w.runDue(t, w.Initiation, w.later(time.Duration(checks)*time.Hour), one)
		}
		cancel := func() {
			_, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
			must(t, err)
		}
		check(awaited)
		cancel()
		check(asked)
		check(refused)
		check(awaited)
		cancel()
		_, err := w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, resume)
		must(t, err)
		check(refused)
		if diff := cmp.Diff([]bool{false, true, true, true, false, true, true, true}, leads); diff != "" {
			t.Errorf("the calls lead back from a cancellation (-want +got):\n%s", diff)
		}
	})
}

// TestOlderReportAboutACancellation: while a loop asks the bank, the payer refuses the cancellation
// and returns. The loop's older report, with another page, must not begin the cancellation again.
func TestOlderReportAboutACancellation(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p, other := w.onItsWay(), w.another()
		asked, paged := asksAbout(payment.Processing, payment.Decoupled), asksAbout(payment.Processing, payment.Redirect)
		paged.ValidateURI = "https://bank.test/cancel"
		w.line.interrupts(nil, answers(asked))
		_, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
		must(t, err)
		w.line.breaks(nil, func(ctx context.Context, o connector.Order, _ exchange) (payment.Report, error) {
			w.line.breaks(nil, answers(payment.Report{Status: payment.Processing, Cancellation: payment.CancellationRefused}))
			back, err := url.Parse(o.ReturnURL)
			if err == nil {
				_, err = other.Return(ctx, w.domain, back.Query().Get("state"), nil)
			}
			return paged, err
		})
		w.runDue(t, w.Initiation, w.later(time.Hour), one)
		if stands := w.stored(p.ID); stands.State != payment.Pending || stands.Detail != "" {
			t.Errorf("the payment is %s, %q", stands.State, stands.Detail)
		}
		w.wantNotes(t, p.ID, "cancelling client", "cancellationRefused bank")
	})
}

// TestRefusedAnswerAboutACancellation: a payer or client agrees to a cancellation, and the bank refuses.
// Only the cancellation is refused: the payment must continue, because the bank executes its order.
func TestRefusedAnswerAboutACancellation(t *testing.T) {
	sms := payment.Field{Name: "openapisms", Type: "text", Label: "Code", Required: true}
	for name, test := range map[string]struct {
		asks payment.Report
		by   payment.Actor
		said initiation.ActionAnswer
	}{
		"yes of the payer":  {asksAbout(payment.Processing, payment.PSUValidation), payment.ByPayer, initiation.ActionAnswer{Action: payment.PSUValidation, Yes: true}},
		"yes of the client": {asksAbout(payment.Processing, payment.Confirm), payment.ByClient, initiation.ActionAnswer{Action: payment.Confirm, Yes: true}},
		"a code":            {asksAbout(payment.Processing, payment.FillFields, sms), payment.ByPayer, code("1234")},
		"in an app":         {asksAbout(payment.Processing, payment.Decoupled), payment.ByPayer, resume},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				p := w.onItsWay()
				w.line.interrupts(before(fails(&payment.Refusal{Code: payment.InvalidDate})), answers(test.asks))
				_, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
				must(t, err)
				stands, err := w.Answer(t.Context(), w.domain, p.ID, test.by, test.said)
				must(t, err)
				if stands.State != payment.Pending || stands.Detail != "" || stands.ErrorCode != "" {
					t.Errorf("the payment is %s, %q with %q", stands.State, stands.Detail, stands.ErrorCode)
				}
				w.wantNotes(t, p.ID, "cancelling client", "cancellationRefused bank")
				w.runDue(t, w.another(), w.later(2*time.Hour), one)
				w.wantState(t, p.ID, payment.Done)
			})
		})
	}
}

// TestStatusAfterARefusedAnswer: a bank refuses the payer's "yes" to a cancellation, and its status then
// mentions the cancellation. If it was granted, the code must name the client. If the status still waits,
// its question must not become a question about the payment: "no" would reject a payment that the bank
// executes. If the bank declined the order, its text must stay.
func TestStatusAfterARefusedAnswer(t *testing.T) {
	psu := asksAbout(payment.Awaiting, payment.PSUValidation)
	declined := payment.Report{Status: payment.Declined, Cancellation: payment.CancellationAwaiting, Code: payment.InsufficientFunds, Description: "Too little money."}
	for name, test := range map[string]struct {
		status payment.Report
		want   payment.State
		code   payment.ErrorCode
		note   string
	}{
		"granted":       {payment.Report{Status: payment.Declined, Cancellation: payment.CancellationGranted}, payment.Rejected, payment.CancelledByClient, "cancellationGranted client"},
		"still waiting": {psu, payment.Validating, "", "cancellationRefused bank"},
		"declined":      {declined, payment.Rejected, payment.InsufficientFunds, "cancellationOvertaken bank"},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				p := w.steered("actn(redirect)/done")
				w.line.interrupts(before(fails(&payment.Refusal{Code: payment.InvalidDate})), answers(psu))
				_, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
				must(t, err)
				w.line.breaks(nil, answers(test.status))
				stands, err := w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, initiation.ActionAnswer{Action: payment.PSUValidation, Yes: true})
				must(t, err)
				if stands.State != test.want || stands.ErrorCode != test.code || stands.Detail != "" || stands.Action != "" {
					t.Errorf("the payment is %s, %q with %q and action %q", stands.State, stands.Detail, stands.ErrorCode, stands.Action)
				}
				if stands.ErrorDescription != test.status.Description {
					t.Errorf("the description is %q", stands.ErrorDescription)
				}
				w.wantNotes(t, p.ID, "cancelling client", test.note)
			})
		})
	}
}

// TestEndlessCancellation: a bank waits for the payer's approval of a cancellation without end. A week
// after the last act, the cancellation must end, and the client must be able to ask the bank again.
// Until then, the bank's question about the ended cancellation must not become a question about the
// payment. If the bank grants the ended cancellation all the same, the code must name the client.
func TestEndlessCancellation(t *testing.T) {
	const week, check = 7 * day, 7 * time.Hour
	for name, test := range map[string]struct {
		order  payment.Status
		action payment.Action
		again  bool
	}{
		"approved, asked again": {payment.Processing, payment.Decoupled, true},
		"approved, granted":     {payment.Processing, payment.Decoupled, false},
		"waiting, asked again":  {payment.Awaiting, payment.PSUValidation, true},
		"waiting, granted":      {payment.Awaiting, payment.PSUValidation, false},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				p := w.steered("actn(redirect)/pdng:1h/done")
				if test.order == payment.Processing {
					_, err := w.Return(t.Context(), w.domain, w.decide(p, "approve"), nil)
					must(t, err)
					p = w.stored(p.ID)
				}
				asked := answers(asksAbout(test.order, test.action))
				w.line.interrupts(nil, asked)
				w.line.breaks(nil, asked)
				want := func(after time.Duration, detail payment.Detail, action payment.Action) {
					t.Helper()
					w.runDue(t, w.another(), w.later(after), one)
					if stands := w.stored(p.ID); stands.State != p.State || stands.Detail != detail || stands.Action != action {
						t.Errorf("after %v, the payment is %s, %q with action %q", after, stands.State, stands.Detail, stands.Action)
					}
				}
				_, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
				must(t, err)
				want(week-check, payment.Cancelling, test.action)
				want(week, "", "")
				want(week+check, "", "")
				w.wantNotes(t, p.ID, "cancelling client", "cancellationRefused bank")
				if test.again {
					_, err = w.Cancel(t.Context(), w.later(week+check), p.ID, withdrawal)
					must(t, err)
					want(2*week, payment.Cancelling, test.action)
				}
				w.line.breaks(nil, answers(payment.Report{Status: payment.Declined, Cancellation: payment.CancellationGranted}))
				w.runDue(t, w.another(), w.later(2*week+check), one)
				if end := w.stored(p.ID); end.State != payment.Rejected || end.ErrorCode != payment.CancelledByClient {
					t.Errorf("the payment is %s with %q", end.State, end.ErrorCode)
				}
			})
		})
	}
}

// TestLateGrantAfterAnAnswer: during a cancellation by the client, the payer agrees to it or opens the
// page, which asks for the status. The cancellation counts as refused after a week, and the bank grants
// it later. The code must name the client. After the payer's "no", the payer cancelled at the bank.
func TestLateGrantAfterAnAnswer(t *testing.T) {
	psu := initiation.ActionAnswer{Action: payment.PSUValidation}
	agreed := psu
	agreed.Yes = true
	for name, test := range map[string]struct {
		answer initiation.ActionAnswer
		code   payment.ErrorCode
	}{
		"the page opened": {resume, payment.CancelledByClient},
		"agreed":          {agreed, payment.CancelledByClient},
		"refused":         {psu, payment.CancelledByUser},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				p, asked := w.onItsWay(), answers(asksAbout(payment.Processing, test.answer.Action))
				w.line.breaks(nil, asked)
				w.line.interrupts(asked, asked)
				_, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
				must(t, err)
				_, err = w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, test.answer)
				must(t, err)
				w.runDue(t, w.another(), w.later(7*day), one)
				if stands := w.stored(p.ID); stands.State != payment.Pending || stands.Detail != "" {
					t.Errorf("after a week, the payment is %s, %q", stands.State, stands.Detail)
				}
				w.line.breaks(nil, answers(payment.Report{Status: payment.Declined, Cancellation: payment.CancellationGranted}))
				w.runDue(t, w.another(), w.later(8*day), one)
				if end := w.stored(p.ID); end.State != payment.Rejected || end.ErrorCode != test.code {
					t.Errorf("the payment is %s with %q", end.State, end.ErrorCode)
				}
			})
		})
	}
}

// TestRefusedCancellationWithoutAStatus: a bank refuses to cancel an order that the payer has approved,
// and then does not report the order's status. The service must not forget the refusal.
func TestRefusedCancellationWithoutAStatus(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.onItsWay()
		w.line.interrupts(nil, before(fails(&payment.Refusal{Code: payment.NoSpecifiedReason})))
		w.line.breaks(nil, func(context.Context, connector.Order, exchange) (payment.Report, error) {
			return payment.Report{Status: payment.Settled, Memory: []byte("tried"), CheckAfter: time.Hour}, errCut
		})
		stands, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
		must(t, err)
		if stands.State != payment.Pending || stands.Detail != "" || stands.CancelCode != "" {
			t.Errorf("the payment is %s, %q with %q", stands.State, stands.Detail, stands.CancelCode)
		}
		w.wantAttempt(t, p.ID, "answered")
		w.wantNotes(t, p.ID, "cancellationRefused bank")
		stored, err := w.db.Attempt(t.Context(), w.domain.ID, p.ID)
		must(t, err)
		next := time.UnixMicro(column[int64](w, `SELECT next_check FROM payment`)[0])
		if string(stored.Memory) != "tried" || next.Sub(noon) < time.Hour {
			t.Errorf("the memory is %q, and the next check is in %v", stored.Memory, next.Sub(noon))
		}
	})
}

// TestCancellationWithoutARequest: an older process, during an upgrade, stores a bank's report about a
// cancellation that has ended. The next report must end it again, not only after a week.
func TestCancellationWithoutARequest(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.onItsWay()
		w.execute(`UPDATE payment SET state_detail = 'cancelling', action = 'decoupled'`)
		w.line.breaks(nil, answers(asksAbout(payment.Processing, payment.Decoupled)))
		w.runDue(t, w.Initiation, w.later(time.Hour), one)
		if stands := w.stored(p.ID); stands.State != payment.Pending || stands.Detail != "" || stands.Action != "" {
			t.Errorf("the payment is %s, %q with action %q", stands.State, stands.Detail, stands.Action)
		}
		w.wantNotes(t, p.ID, "cancellationRefused bank")
	})
}
