package initiation_test

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/initiation"
	"passerelle/payment"
)

var withdrawal = initiation.CancelRequest{By: payment.ByClient, RedirectURI: "https://shop.test/cancelled", State: "basket 8"}

// through sends all calls to the simulated bank with this name.
func (w *fixture) through(name string) {
	w.t.Helper()
	for _, c := range w.bank.Connectors() {
		if able, ok := c.(connector.Initiator); ok && c.Profile().Name == name {
			w.line.replace(able)
			return
		}
	}
	w.t.Fatalf("there is no bank %q", name)
}

// onItsWay returns a payment in state pending. The bank executes its order after an hour.
func (w *fixture) onItsWay(change ...func(*payment.Draft)) *payment.Payment {
	w.t.Helper()
	p := w.steered("actn(redirect)/pdng:1h/done", change...)
	_, err := w.Return(w.t.Context(), w.domain, w.decide(p, "approve"), nil)
	must(w.t, err)
	w.wantState(w.t, p.ID, payment.Pending)
	return w.stored(p.ID)
}

func (w *fixture) wantNotes(t *testing.T, id passerelle.PaymentID, want ...string) {
	t.Helper()
	timeline, err := w.db.Timeline(t.Context(), w.domain.ID, []passerelle.PaymentID{id}, 0)
	must(t, err)
	var got []string
	for _, row := range timeline[id] {
		if row.Note != nil {
			got = append(got, row.Note.Kind+" "+string(row.Note.Actor))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the notes are (-want +got):\n%s", diff)
	}
}

func TestWithdrawal(t *testing.T) {
	for by, code := range map[payment.Actor]payment.ErrorCode{payment.ByClient: payment.CancelledByClient, payment.ByPayer: payment.CancelledByUser} {
		t.Run(string(by), func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				id := w.create(2)
				c := withdrawal
				if c.By = by; by == payment.ByPayer {
					c.RedirectURI = ""
				}
				p, err := w.Cancel(t.Context(), w.domain, id, c)
				must(t, err)
				if diff := unlike(w.stored(id), p); diff != "" || p.State != payment.Rejected || p.ErrorCode != code {
					t.Errorf("the payment is %s with %s\n%s", p.State, p.ErrorCode, diff)
				}
				w.wantEvents(t, id, eventSummary{Version: 1, State: payment.Rejected, ErrorCode: string(code), Lines: "rejected rejected"})
				w.wantCause(t, id, payment.Cause{Trigger: payment.Refused, Actor: by})
				w.wantAttempt(t, id, "")
				rows := w.rows()
				_, err = w.Cancel(t.Context(), w.domain, id, c)
				w.wantRefusal(t, err, rows, passerelle.Conflict, "", "rejected")
			})
		})
	}
}

func TestCancellationApproved(t *testing.T) {
	for decision, want := range map[string]struct {
		events []eventSummary
		notes  []string
	}{
		"cancel": {[]eventSummary{ended(3, payment.Rejected, payment.CancelledByClient)}, []string{"cancelling client", "cancellationGranted client"}},
		"keep":   {nil, []string{"cancelling client", "cancellationRefused bank"}},
	} {
		t.Run(decision, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				p := w.onItsWay()
				before := w.eventSummaries(p.ID)
				cancelling, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
				must(t, err)
				if diff := unlike(w.stored(p.ID), cancelling); diff != "" {
					t.Errorf("what is answered is not what is stored (-stored +answered):\n%s", diff)
				}
				if cancelling.Detail != payment.Cancelling || cancelling.Action != payment.Redirect || cancelling.State != payment.Pending {
					t.Errorf("the payment is %s, %s with action %q", cancelling.State, cancelling.Detail, cancelling.Action)
				}
				w.wantEvents(t, p.ID, before...)
				rows := w.rows()
				_, err = w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
				w.wantRefusal(t, err, rows, passerelle.Conflict, "", "in progress")
				state := w.decide(cancelling, decision)
				if !initiation.FromCancellation(state) {
					t.Error("the payer does not come back from a cancellation")
				}
				back, err := w.Return(t.Context(), w.domain, state, nil)
				must(t, err)
				if back.Detail != "" || back.CancelRedirectURI != withdrawal.RedirectURI || back.CancelState != withdrawal.State {
					t.Errorf("the payment is %s, %q and leads back to %q", back.State, back.Detail, back.CancelRedirectURI)
				}
				w.wantEvents(t, p.ID, append(before, want.events...)...)
				w.wantNotes(t, p.ID, want.notes...)
				w.wantBankCalls(t, 0, 1)
				w.runDue(t, w.Initiation, w.later(2*time.Hour), map[bool]initiation.Done{true: none, false: one}[decision == "cancel"])
				w.wantState(t, p.ID, map[string]payment.State{"cancel": payment.Rejected, "keep": payment.Done}[decision])
			})
		})
	}
}

// TestExecutedMeanwhile executes a payment before its payer decides about the cancellation.
func TestExecutedMeanwhile(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.onItsWay()
		_, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
		must(t, err)
		w.runDue(t, w.Initiation, w.later(2*time.Hour), one)
		if p := w.stored(p.ID); p.State != payment.Done || p.Detail != "" || p.ErrorCode != "" {
			t.Errorf("the payment is %s, %q with %q", p.State, p.Detail, p.ErrorCode)
		}
		w.wantNotes(t, p.ID, "cancelling client", "cancellationOvertaken bank")
	})
}

func TestCancellationAnswers(t *testing.T) {
	refusal := &payment.Refusal{Code: payment.NoSpecifiedReason}
	for _, test := range []struct {
		name, bank string
		broken     fault
		state      payment.State
		code       payment.ErrorCode
		notes      []string
	}{
		{name: "granted", bank: "Sandbox Quick Cancellation", state: payment.Rejected, code: payment.CancelledByClient},
		{name: "refused", broken: before(fails(refusal)), state: payment.Pending, notes: []string{"cancellationRefused bank"}},
		{
			name: "nothing of it", broken: answers(payment.Report{Status: payment.Processing, Raw: "approved"}),
			state: payment.Pending, notes: []string{"cancellationRefused bank"},
		},
		{name: "executed", broken: answers(payment.Report{Status: payment.Settled, Raw: "executed"}), state: payment.Done},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				if test.bank != "" {
					w.through(test.bank)
				}
				p := w.onItsWay()
				w.line.interrupts(nil, test.broken)
				stands, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
				must(t, err)
				if stands.State != test.state || stands.ErrorCode != test.code || stands.Detail != "" || stands.Action != "" {
					t.Errorf("the payment is %s, %q with %q and %q", stands.State, stands.Detail, stands.ErrorCode, stands.Action)
				}
				w.wantAttempt(t, p.ID, "answered")
				if test.notes != nil {
					w.wantNotes(t, p.ID, test.notes...)
				}
			})
		})
	}
}

// TestMemoryOfARefusedCancellation: a connector returns a memory with the bank's refusal to cancel.
// The next call must get this memory, and the service must store it.
func TestMemoryOfARefusedCancellation(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p, memory := w.onItsWay(), ""
		w.line.interrupts(nil, func(context.Context, connector.Order, exchange) (payment.Report, error) {
			return payment.Report{Memory: []byte("refused once")}, &payment.Refusal{Code: payment.NoSpecifiedReason}
		})
		w.line.breaks(nil, func(_ context.Context, o connector.Order, _ exchange) (payment.Report, error) {
			memory = string(o.Memory)
			return payment.Report{Status: payment.Processing}, nil
		})
		_, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
		must(t, err)
		stored, err := w.db.Attempt(t.Context(), w.domain.ID, p.ID)
		must(t, err)
		if memory != "refused once" || string(stored.Memory) != memory {
			t.Errorf("the next call has the memory %q, and %q is stored", memory, stored.Memory)
		}
	})
}

func TestCancellationRefusals(t *testing.T) {
	with := func(change func(*initiation.CancelRequest)) initiation.CancelRequest {
		c := withdrawal
		change(&c)
		return c
	}
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.onItsWay()
		for _, test := range []struct {
			wish  initiation.CancelRequest
			field string
		}{
			{with(func(c *initiation.CancelRequest) { c.RedirectURI = "" }), "client_redirect_uri"},
			{with(func(c *initiation.CancelRequest) { c.RedirectURI = "https://shop.test/?a=b" }), "client_redirect_uri"},
			{with(func(c *initiation.CancelRequest) { c.RedirectURI = "javascript:alert(1)" }), "client_redirect_uri"},
			{with(func(c *initiation.CancelRequest) { c.State = strings.Repeat("s", 2001) }), "client_state"},
		} {
			rows := w.rows()
			_, err := w.Cancel(t.Context(), w.domain, p.ID, test.wish)
			w.wantRefusal(t, err, rows, passerelle.Invalid, test.field)
		}
		rows := w.rows()
		_, err := w.Cancel(t.Context(), w.domain, 999, withdrawal)
		w.wantRefusal(t, err, rows, passerelle.NotFound, "")
		w.line.tune(func(p *connector.Profile) { p.Payments.Cancellable = false })
		_, err = w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
		w.wantRefusal(t, err, rows, passerelle.Invalid, "")
		var reported *passerelle.Error
		if errors.As(err, &reported) && reported.Code != "notSupported" {
			t.Errorf("the code is %s", reported.Code)
		}
		w.line.tune(func(p *connector.Profile) { p.Payments.Cancellable = true })
		instant := w.steered("pdng:1h/done", func(d *payment.Draft) { d.Instructions[0].DateType = payment.Instant })
		rows = w.rows()
		_, err = w.Cancel(t.Context(), w.domain, instant.ID, withdrawal)
		w.wantRefusal(t, err, rows, passerelle.Conflict, "", "instant")
		w.wantBankCalls(t, 0, 0)
	})
}

// TestLostCancellations checks that a loop finds out whether the bank received a cancellation.
func TestLostCancellations(t *testing.T) {
	cancelling, forgotten := []string{"outcomeUnknown service", "cancelling client"}, []string{"outcomeUnknown service", "cancellationRefused bank"}
	for _, test := range []struct {
		name   string
		broken fault
		notes  []string
		calls  int
	}{
		{"no answer, never arrived", before(hangs), forgotten, 0},
		{"no answer, arrived", after(hangs), cancelling, 1},
		{"cut before", before(fails(errCut)), forgotten, 0},
		{"cut after", after(fails(errCut)), cancelling, 1},
		{"panic after", after(panics), cancelling, 1},
		{"no reply at all", before(ignoresDeadline), forgotten, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				p, slow := w.onItsWay(), w.AnswerTime
				w.AnswerTime = impatience
				w.line.interrupts(nil, test.broken)
				stands, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
				must(t, err)
				if stands.State != payment.Pending || stands.Detail != "" {
					t.Errorf("the payment is %s, %s", stands.State, stands.Detail)
				}
				w.line.interrupts(nil, nil)
				w.leasesLapse()
				w.runDue(t, w.another(), w.domain, recovered)
				w.wantNotes(t, p.ID, test.notes...)
				w.wantBankCalls(t, 0, test.calls)
				w.wantAttempt(t, p.ID, "answered")
				w.AnswerTime = slow
				w.runDue(t, w.Initiation, w.later(2*time.Hour), one)
				w.wantState(t, p.ID, payment.Done)
			})
		})
	}
}

// TestCancellationNotSent checks that a cancellation that was not sent may be tried again.
func TestCancellationNotSent(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.onItsWay()
		w.line.interrupts(nil, before(fails(connector.ErrNotSent)))
		_, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
		var reported *passerelle.Error
		if !errors.As(err, &reported) || reported.Kind != passerelle.Unavailable {
			t.Errorf("the error is %v", err)
		}
		if p := w.stored(p.ID); p.CancelCode != "" || p.Detail != "" {
			t.Errorf("the payment is %q", p.Detail)
		}
		w.line.interrupts(nil, nil)
		stands, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
		must(t, err)
		if stands.Detail != payment.Cancelling {
			t.Errorf("the payment is %q", stands.Detail)
		}
	})
}

// abandonedAt abandons a payment at a bank that cancels no orders. Approvals are possible for a
// day.
func (w *fixture) abandonedAt(script string) *payment.Payment {
	w.t.Helper()
	w.line.tune(func(p *connector.Profile) { p.Payments.Cancellable, p.ApprovalLife = false, 24*time.Hour })
	p := w.steered(script)
	_, err := w.Cancel(w.t.Context(), w.domain, p.ID, initiation.CancelRequest{By: payment.ByPayer})
	must(w.t, err)
	return w.stored(p.ID)
}

// TestAbandoned checks that an abandoned payment gets no final state while the payer can still
// approve it at the bank, or may have approved it.
func TestAbandoned(t *testing.T) {
	byPayer := ended(2, payment.Rejected, payment.CancelledByUser)
	waits := answers(payment.Report{Status: payment.Awaiting, Action: payment.Redirect, ValidateURI: "https://bank.test/still", Description: "Approve."})
	refused := answers(payment.Report{Status: payment.Declined, Code: payment.NoAnswerFromCustomer, Raw: "RJCT"})
	pending := eventSummary{Version: 2, State: payment.Pending, Lines: "pending"}
	unproved := answers(payment.Report{Status: payment.Awaiting, Action: payment.Redirect, ValidateURI: "https://bank.test/still", Unproved: true})
	for _, test := range []struct {
		name   string
		status fault
		after  time.Duration
		want   []eventSummary
	}{
		{"the payer may have approved", unproved, 29 * 24 * time.Hour, nil},
		{"the payer can still approve", waits, 24*time.Hour - time.Second, nil},
		{"the payer can no longer approve", waits, 24 * time.Hour, []eventSummary{byPayer}},
		{"the bank refuses", refused, time.Hour, []eventSummary{byPayer}},
		{"the payer approves all the same", answers(payment.Report{Status: payment.Processing}), time.Hour, []eventSummary{pending}},
		{"the bank executes", answers(payment.Report{Status: payment.Settled}), 25 * time.Hour, []eventSummary{pending, ended(3, payment.Done, "")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				p := w.abandonedAt("actn(redirect)/done")
				if p.State != payment.Validating || p.ErrorCode != "" || p.Detail != "" {
					t.Errorf("the payment is %s, %q with %q", p.State, p.Detail, p.ErrorCode)
				}
				w.wantAttempt(t, p.ID, "answered")
				w.wantNotes(t, p.ID, "abandoned payer")
				before := w.eventSummaries(p.ID)
				w.line.breaks(nil, test.status)
				w.runDue(t, w.another(), w.later(test.after), one)
				w.wantEvents(t, p.ID, append(before, test.want...)...)
				w.wantBankCalls(t, 0, 0)
			})
		})
	}
}

// TestAbandonedAndApproved: a payer abandons a payment, approves it at the bank and returns. The
// payment must be done.
func TestAbandonedAndApproved(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.abandonedAt("actn(redirect)/done")
		back, err := w.Return(t.Context(), w.domain, w.decide(p, "approve"), nil)
		must(t, err)
		if back.State != payment.Done {
			t.Errorf("the payment is %s", back.State)
		}
	})
}

// TestAbandonedAndResumed: after a payer has abandoned a payment, the payer's page asks for the
// status. The payment must stay abandoned, and end when the bank no longer accepts an approval.
func TestAbandonedAndResumed(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.abandonedAt("actn(decoupled)/done")
		informed := false
		waits := func(_ context.Context, o connector.Order, _ exchange) (payment.Report, error) {
			informed = o.Abandoned
			return payment.Report{Status: payment.Awaiting, Action: payment.Decoupled}, nil
		}
		w.line.interrupts(waits, nil)
		stands, err := w.Answer(t.Context(), w.later(time.Hour), p.ID, payment.ByPayer, resume)
		must(t, err)
		if stands.State != payment.Validating || !informed {
			t.Errorf("the payment is %s, and the connector was informed: %t", stands.State, informed)
		}
		w.line.breaks(nil, waits)
		w.runDue(t, w.another(), w.later(24*time.Hour), one)
		if end := w.stored(p.ID); end.State != payment.Rejected || end.ErrorCode != payment.CancelledByUser || !informed {
			t.Errorf("the payment is %s with %q, and the connector was informed: %t", end.State, end.ErrorCode, informed)
		}
	})
}

// TestAbandonedAndNotAgreed: a payer who has abandoned a payment answers the bank's question, but the
// bank receives nothing, and the payer learns this. The payment must stay abandoned, and end when the
// bank no longer accepts an approval.
func TestAbandonedAndNotAgreed(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.abandonedAt("actn(otp)/done")
		if p.Action != payment.FillFields {
			t.Fatalf("the payment waits for %s", p.Action)
		}
		w.line.interrupts(before(fails(connector.ErrNotSent)), nil)
		_, err := w.Answer(t.Context(), w.later(time.Hour), p.ID, payment.ByPayer, initiation.ActionAnswer{Action: payment.FillFields, Fields: map[string]string{"openapisms": "1234"}})
		var reported *passerelle.Error
		if !errors.As(err, &reported) || reported.Kind != passerelle.Unavailable {
			t.Errorf("the error is %v", err)
		}
		w.wantAttempt(t, p.ID, "answered")
		informed := false
		w.line.breaks(nil, func(ctx context.Context, o connector.Order, next exchange) (payment.Report, error) {
			informed = o.Abandoned
			return next(ctx, o)
		})
		w.runDue(t, w.another(), w.later(24*time.Hour), one)
		if end := w.stored(p.ID); end.State != payment.Rejected || end.ErrorCode != payment.CancelledByUser || !informed {
			t.Errorf("the payment is %s with %q, and the connector was informed: %t", end.State, end.ErrorCode, informed)
		}
	})
}

// TestAbandonedUnanswered checks that a payment is abandoned even if the bank could not be asked at
// first. The connector must be informed, so that it offers the payer no new way to approve.
func TestAbandonedUnanswered(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		w.line.breaks(nil, before(fails(errCut)))
		p := w.abandonedAt("actn(redirect)/done")
		w.wantAttempt(t, p.ID, "unknown")
		w.wantNotes(t, p.ID, "outcomeUnknown service")
		informed := false
		w.line.breaks(nil, func(ctx context.Context, o connector.Order, next exchange) (payment.Report, error) {
			informed = o.Abandoned
			return next(ctx, o)
		})
		w.leasesLapse()
		w.runDue(t, w.another(), w.domain, recovered)
		w.wantState(t, p.ID, payment.Validating)
		w.wantNotes(t, p.ID, "outcomeUnknown service", "abandoned payer")
		if !informed {
			t.Error("the connector is not told that the payer has abandoned the order")
		}
	})
}

// TestAbandonedAndCancelled checks that a failed cancellation neither revokes nor prolongs an
// abandonment.
func TestAbandonedAndCancelled(t *testing.T) {
	byPayer := initiation.CancelRequest{By: payment.ByPayer}
	refused := before(fails(&payment.Refusal{Code: payment.NoSpecifiedReason}))
	page := payment.Report{Status: payment.Awaiting, Action: payment.Redirect, ValidateURI: "https://bank.test/still"}
	asked := page
	asked.Cancellation = payment.CancellationAwaiting
	for _, test := range []struct {
		name   string
		by     initiation.CancelRequest
		cancel fault
		notes  []string
	}{
		{"by the client", withdrawal, refused, []string{"cancellationRefused bank"}},
		{"by the client, with an approval that the payer refuses", withdrawal, answers(asked), []string{"cancelling client", "cancellationOvertaken payer"}},
		{"by the client, with a question that the payer ignores", withdrawal, answers(asksAbout(payment.Awaiting, payment.PSUValidation)), []string{"cancelling client", "cancellationOvertaken payer"}},
		{"by the client, who ignores a question to confirm it", withdrawal, answers(asksAbout(payment.Awaiting, payment.Confirm)), []string{"cancelling client", "cancellationOvertaken payer"}},
		{"by the payer again", byPayer, refused, []string{"cancellationRefused bank", "abandoned payer"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				w.line.tune(func(p *connector.Profile) { p.ApprovalLife = 24 * time.Hour })
				p := w.steered("actn(redirect)/done")
				w.line.interrupts(nil, refused)
				stands, err := w.Cancel(t.Context(), w.domain, p.ID, byPayer)
				must(t, err)
				if stands.State != payment.Validating {
					t.Fatalf("abandoned, the payment is %s", stands.State)
				}
				w.line.interrupts(nil, test.cancel)
				_, err = w.Cancel(t.Context(), w.later(23*time.Hour), p.ID, test.by)
				must(t, err)
				informed := false
				w.line.breaks(nil, func(_ context.Context, o connector.Order, _ exchange) (payment.Report, error) {
					informed = o.Abandoned
					report := page
					if o.Payment.Detail == payment.Cancelling {
						report.Cancellation = payment.CancellationRefused
					}
					return report, nil
				})
				w.runDue(t, w.another(), w.later(29*time.Hour), one)
				if end := w.stored(p.ID); end.State != payment.Rejected || end.ErrorCode != payment.CancelledByUser || !informed {
					t.Errorf("the payment is %s with %q, and the connector was informed: %t", end.State, end.ErrorCode, informed)
				}
				w.wantNotes(t, p.ID, append([]string{"cancellationRefused bank", "abandoned payer"}, test.notes...)...)
			})
		})
	}
}

// TestAbandonedAndConfirmed checks that an approval at the bank ends an abandonment.
func TestAbandonedAndConfirmed(t *testing.T) {
	for agreed, want := range map[bool]payment.ErrorCode{true: "", false: payment.ConfirmationRefused} {
		t.Run(strconv.FormatBool(agreed), func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				p := w.abandonedAt("actn(redirect)/done")
				confirm := answers(payment.Report{Status: payment.Awaiting, Action: payment.Confirm})
				w.line.breaks(nil, confirm)
				w.line.interrupts(confirm, nil)
				later := w.later(29 * time.Hour)
				w.runDue(t, w.another(), later, one)
				w.wantState(t, p.ID, payment.Validating)
				if agreed {
					w.line.interrupts(answers(payment.Report{Status: payment.Processing}), nil)
				}
				stands, err := w.Answer(t.Context(), later, p.ID, payment.ByClient, confirmed(agreed))
				must(t, err)
				if stands.ErrorCode != want || agreed != (stands.State == payment.Pending) {
					t.Errorf("the payment is %s with %q", stands.State, stands.ErrorCode)
				}
			})
		})
	}
}

// TestUnapprovedInstantOrders checks that an unapproved instant order is cancelled at a bank where
// the payer could otherwise still approve it.
func TestUnapprovedInstantOrders(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		w.line.tune(func(p *connector.Profile) { p.ApprovalLife = 24 * time.Hour })
		w.line.interrupts(nil, answers(payment.Report{Status: payment.Declined, Cancellation: payment.CancellationGranted, Raw: "CANC"}))
		p := w.steered("actn(redirect)/done", func(d *payment.Draft) { d.Instructions[0].DateType = payment.Instant })
		stands, err := w.Cancel(t.Context(), w.domain, p.ID, initiation.CancelRequest{By: payment.ByPayer})
		must(t, err)
		if stands.State != payment.Rejected || stands.ErrorCode != payment.CancelledByUser {
			t.Errorf("the payment is %s with %q", stands.State, stands.ErrorCode)
		}
	})
}

// TestStatesOfCancellation checks that altered return links of a cancellation are refused.
func TestStatesOfCancellation(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.onItsWay()
		cancelling, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal)
		must(t, err)
		state := w.decide(cancelling, "keep")
		otherMAC := "A"
		if strings.HasSuffix(state[:len(state)-2], otherMAC) {
			otherMAC = "B"
		}
		for name, altered := range map[string]string{"longer": state + "AA", "other payment": "B" + state[1:], "other MAC": state[:len(state)-3] + otherMAC + state[len(state)-2:]} {
			if _, err := w.Return(t.Context(), w.domain, altered, nil); !errors.Is(err, passerelle.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if initiation.FromCancellation(url.QueryEscape("")) {
			t.Error("nothing is a cancellation")
		}
	})
}
