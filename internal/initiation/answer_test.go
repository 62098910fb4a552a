package initiation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/initiation"
	"passerelle/internal/settings"
	"passerelle/payment"
)

// steered returns a payment whose order was sent. The bank handles this order according to a
// script.
func (w *fixture) steered(script string, change ...func(*payment.Draft)) *payment.Payment {
	w.t.Helper()
	label := func(d *payment.Draft) { d.Instructions[0].Label = script }
	p, err := w.Create(w.t.Context(), w.domain, initiation.Creation{By: w.client.ID, Draft: draft(1, append(change, label)...)})
	must(w.t, err)
	p, err = w.Validate(w.t.Context(), w.domain, p.ID, validated())
	must(w.t, err)
	return p
}

func (w *fixture) set(key, value string) {
	w.t.Helper()
	must(w.t, settings.Set(w.t.Context(), w.db, w.domain.ID, map[string]string{key: value}, noon))
}

var (
	resume = initiation.ActionAnswer{Action: payment.Decoupled, Yes: true}
	code   = func(value string) initiation.ActionAnswer {
		return initiation.ActionAnswer{Action: payment.FillFields, Fields: map[string]string{"openapisms": value}}
	}
	confirmed = func(yes bool) initiation.ActionAnswer {
		return initiation.ActionAnswer{Action: payment.Confirm, Yes: yes}
	}
	approved = func(yes bool) initiation.ActionAnswer {
		return initiation.ActionAnswer{Action: payment.PSUValidation, Yes: yes}
	}
)

// statusOnly returns the event of a payment that begins to wait for an action.
func statusOnly(action payment.Action) eventSummary {
	return eventSummary{Version: 1, State: payment.Validating, Action: string(action), Lines: "pending"}
}

func ended(version int64, state payment.State, code payment.ErrorCode) eventSummary {
	line := string(state)
	return eventSummary{Version: version, State: state, ErrorCode: string(code), Lines: line}
}

func TestAnswers(t *testing.T) {
	underWay := eventSummary{Version: 2, State: payment.Pending, Lines: "pending"}
	for _, test := range []struct {
		name, script string
		manual       bool
		by           payment.Actor
		answers      []initiation.ActionAnswer
		want         []eventSummary
		cause        payment.Cause
	}{
		{
			name: "resume", script: "actn(decoupled)/done", by: payment.ByPayer, answers: []initiation.ActionAnswer{resume},
			want: []eventSummary{statusOnly(payment.Decoupled), underWay, ended(3, payment.Done, "")},
		},
		{
			name: "resume, not yet", script: "actn(decoupled,3)/done", by: payment.ByPayer, answers: []initiation.ActionAnswer{resume},
			want: []eventSummary{statusOnly(payment.Decoupled)},
		},
		{
			name: "resume, refused in the app", script: "actn(decoupled)/canc", by: payment.ByPayer, answers: []initiation.ActionAnswer{resume},
			want:  []eventSummary{statusOnly(payment.Decoupled), ended(2, payment.Rejected, payment.CancelledByUser)},
			cause: payment.Cause{Trigger: payment.Refused, Actor: payment.ByPayer, Bank: "refused"},
		},
		{
			name: "right code", script: "actn(otp)/done", by: payment.ByPayer, answers: []initiation.ActionAnswer{code("1234")},
			want: []eventSummary{statusOnly(payment.FillFields), underWay, ended(3, payment.Done, "")},
		},
		{
			name: "wrong code", script: "actn(otp)/done", by: payment.ByPayer, answers: []initiation.ActionAnswer{code("4321")},
			want:  []eventSummary{statusOnly(payment.FillFields), ended(2, payment.Rejected, payment.AuthenticationFailed)},
			cause: payment.Cause{Trigger: payment.Refused, Actor: payment.ByBank, Bank: "refused"},
		},
		{
			name: "code, then the app", script: "actn(otp)/actn(decoupled)/done", by: payment.ByPayer,
			answers: []initiation.ActionAnswer{code("1234"), resume},
			want:    []eventSummary{statusOnly(payment.FillFields), underWay, ended(3, payment.Done, "")},
		},
		{
			name: "validated", script: "actn(psu)/done", by: payment.ByPayer, answers: []initiation.ActionAnswer{approved(true)},
			want: []eventSummary{statusOnly(payment.PSUValidation), underWay, ended(3, payment.Done, "")},
		},
		{
			name: "not validated", script: "actn(psu)/done", by: payment.ByPayer, answers: []initiation.ActionAnswer{approved(false)},
			want:  []eventSummary{statusOnly(payment.PSUValidation), ended(2, payment.Rejected, payment.CancelledByUser)},
			cause: payment.Cause{Trigger: payment.Refused, Actor: payment.ByPayer, Bank: "refused"},
		},
		{
			name: "confirmed", script: "skip/done", manual: true, by: payment.ByClient, answers: []initiation.ActionAnswer{confirmed(true)},
			want: []eventSummary{statusOnly(payment.Confirm), underWay, ended(3, payment.Done, "")},
		},
		{
			name: "not confirmed", script: "skip/done", manual: true, by: payment.ByClient, answers: []initiation.ActionAnswer{confirmed(false)},
			want:  []eventSummary{statusOnly(payment.Confirm), ended(2, payment.Rejected, payment.ConfirmationRefused)},
			cause: payment.Cause{Trigger: payment.Refused, Actor: payment.ByClient, Bank: "refused"},
		},
		{
			name: "app, then confirmed", script: "actn(decoupled)/done", manual: true, by: payment.ByPayer,
			answers: []initiation.ActionAnswer{resume, confirmed(true)},
			want:    []eventSummary{statusOnly(payment.Decoupled), underWay, ended(3, payment.Done, "")},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				if test.manual {
					w.set(settings.AutoConfirmation, "0")
				}
				p := w.steered(test.script)
				for _, a := range test.answers {
					answered, err := w.Answer(t.Context(), w.domain, p.ID, test.by, a)
					must(t, err)
					if diff := unlike(w.stored(p.ID), answered); diff != "" {
						t.Errorf("what is answered is not what is stored (-stored +answered):\n%s", diff)
					}
					w.wantAttempt(t, p.ID, "answered")
				}
				w.wantEvents(t, p.ID, test.want...)
				w.wantBankCalls(t, len(test.answers), 0)
				w.wantSubmissions(t, p.ID, 1)
				if test.cause.Trigger != "" {
					w.wantCause(t, p.ID, test.cause)
				}
			})
		})
	}
}

func (w *fixture) wantBankCalls(t *testing.T, answers, cancels int) {
	t.Helper()
	if a, c := w.line.counts(); a != answers || c != cancels {
		t.Errorf("the bank got %d answers and %d cancellations, want %d and %d", a, c, answers, cancels)
	}
}

func (w *fixture) wantCause(t *testing.T, id passerelle.PaymentID, want payment.Cause) {
	t.Helper()
	history, err := w.db.Transitions(t.Context(), w.domain.ID, id)
	must(t, err)
	if diff := cmp.Diff(want, history[len(history)-1].Cause); diff != "" {
		t.Errorf("the cause of the end is (-want +got):\n%s", diff)
	}
}

// TestWrongAnswers gives each action the answers to the other actions. The service must refuse
// them.
func TestWrongAnswers(t *testing.T) {
	answers := map[payment.Action]initiation.ActionAnswer{
		payment.Decoupled: resume, payment.FillFields: code("1234"), payment.Confirm: confirmed(true), payment.PSUValidation: approved(true),
	}
	scripts := map[payment.Action]string{
		payment.Decoupled: "actn(decoupled)/done", payment.FillFields: "actn(otp)/done", payment.PSUValidation: "actn(psu)/done",
		payment.Redirect: "actn(redirect)/done", payment.Confirm: "actn(confirm)/done",
	}
	onEach(t, func(t *testing.T, w *fixture) {
		for action, script := range scripts {
			p := w.steered(script)
			for values, answer := range answers {
				if values == action {
					continue
				}
				rows := w.rows()
				_, err := w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, answer)
				w.wantRefusal(t, err, rows, passerelle.Conflict, "", string(action))
			}
		}
		id := w.create(1)
		for _, answer := range answers {
			rows := w.rows()
			_, err := w.Answer(t.Context(), w.domain, id, payment.ByPayer, answer)
			w.wantRefusal(t, err, rows, passerelle.Conflict, "", "validated")
			_, err = w.Answer(t.Context(), w.domain, 999, payment.ByPayer, answer)
			w.wantRefusal(t, err, rows, passerelle.NotFound, "")
		}
		w.wantBankCalls(t, 0, 0)
	})
}

func TestBadFields(t *testing.T) {
	fields := func(pairs ...string) initiation.ActionAnswer {
		a := initiation.ActionAnswer{Action: payment.FillFields, Fields: map[string]string{}}
		for n := 0; n < len(pairs); n += 2 {
			a.Fields[pairs[n]] = pairs[n+1]
		}
		return a
	}
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.steered("actn(fields)/done")
		for field, answer := range map[string]initiation.ActionAnswer{
			"fields.code":   fields("device", "phone"),
			"fields.device": fields("code", "1234", "device", "pigeon"),
			"fields.state":  fields("code", "1234", "device", "phone", "state", strings.Repeat("é", 1001)),
		} {
			rows := w.rows()
			_, err := w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, answer)
			w.wantRefusal(t, err, rows, passerelle.Invalid, field)
		}
		rows := w.rows()
		_, err := w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, fields("code", "12345", "device", "phone"))
		w.wantRefusal(t, err, rows, passerelle.Invalid, "fields.code", `(?=\d{4}$)`)
		q := w.steered("actn(decoupled)/done")
		rows = w.rows()
		_, err = w.Answer(t.Context(), w.domain, q.ID, payment.ByPayer, initiation.ActionAnswer{Action: payment.Decoupled})
		w.wantRefusal(t, err, rows, passerelle.Invalid, "resume")
		w.wantBankCalls(t, 0, 0)
		_, err = w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, fields("code", "1234", "device", "tablet", "more", "dropped"))
		must(t, err)
		w.wantState(t, p.ID, payment.Done)
	})
}

// TestNothingElseWhileOneIsUnderWay tries to answer, to cancel, and to simulate a change of state,
// while an answer is under way or its outcome is unknown.
func TestNothingElseWhileOneIsUnderWay(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.steered("actn(psu)/done")
		doomed := w.another()
		w.line.interrupts(before(dies), nil)
		survives(func() { _, _ = doomed.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, approved(true)) })
		w.line.breaks(nil, before(fails(errCut)))
		for _, state := range []string{"open", "unknown"} {
			w.wantAttempt(t, p.ID, state)
			rows := w.rows()
			for name, try := range map[string]func() error{
				"answer": func() error {
					_, err := w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, approved(false))
					return err
				},
				"cancel": func() error { _, err := w.Cancel(t.Context(), w.domain, p.ID, withdrawal); return err },
				"simulate": func() error {
					_, err := w.Simulate(t.Context(), w.domain, p.ID, initiation.SimulatedChange{State: payment.Pending})
					return err
				},
			} {
				err := try()
				var reported *passerelle.Error
				if !errors.As(err, &reported) || reported.Kind != passerelle.Conflict || reported.RetryAfter < 1 {
					t.Errorf("%s while an answer is %s: %v", name, state, err)
				}
				w.wantRows(t, rows)
			}
			w.leasesLapse()
			w.runDue(t, w.Initiation, w.later(time.Minute), recovered)
		}
	})
}

// answerOutcomes lists failures of an answer, and the payment's states once a loop has asked the
// bank.
var answerOutcomes = []struct {
	name    string
	broken  fault
	yes, no payment.State
	arrives bool
}{
	{"no answer, never arrived", before(hangs), payment.Validating, payment.Rejected, false},
	{"no answer, arrived", after(hangs), payment.Done, payment.Rejected, true},
	{"cut before", before(fails(errCut)), payment.Validating, payment.Rejected, false},
	{"cut after", after(fails(errCut)), payment.Done, payment.Rejected, true},
	{"panic before", before(panics), payment.Validating, payment.Rejected, false},
	{"panic after", after(panics), payment.Done, payment.Rejected, true},
	{"garbage", answers(payment.Report{Status: "%&§", Raw: "\x00"}), payment.Validating, payment.Rejected, false},
	{"unknown order", before(fails(connector.ErrUnknownOrder)), payment.Validating, payment.Rejected, false},
	{"no reply at all", before(ignoresDeadline), payment.Validating, payment.Rejected, false},
}

func ignoresDeadline(context.Context) error {
	select {}
}

func TestLostAnswers(t *testing.T) {
	for _, test := range answerOutcomes {
		for _, yes := range []bool{true, false} {
			want := test.no
			if yes {
				want = test.yes
			}
			t.Run(test.name+map[bool]string{true: ", yes", false: ", no"}[yes], func(t *testing.T) {
				onEach(t, func(t *testing.T, w *fixture) {
					p := w.steered("actn(psu)/done")
					w.AnswerTime = impatience
					w.line.interrupts(test.broken, nil)
					stands, err := w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, approved(yes))
					must(t, err)
					if stands.State != payment.Validating {
						t.Errorf("answered is %s", stands.State)
					}
					w.wantAttempt(t, p.ID, "unknown")
					w.line.interrupts(nil, nil)
					w.leasesLapse()
					w.runDue(t, w.another(), w.domain, recovered)
					w.wantState(t, p.ID, want)
					w.wantAttempt(t, p.ID, "answered")
					w.wantBankCalls(t, map[bool]int{true: 1}[test.arrives], 0)
					if want == payment.Rejected {
						w.wantEvents(t, p.ID, statusOnly(payment.PSUValidation), ended(2, payment.Rejected, payment.CancelledByUser))
					}
				})
			})
		}
	}
}

// TestAnswerNotSent checks that an unsent "no" rejects the payment, and that an unsent "yes" fails.
func TestAnswerNotSent(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		w.line.interrupts(before(fails(connector.ErrNotSent)), nil)
		p := w.steered("actn(psu)/done")
		_, err := w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, approved(true))
		var reported *passerelle.Error
		if !errors.As(err, &reported) || reported.Kind != passerelle.Unavailable {
			t.Errorf("the error is %v", err)
		}
		w.wantAttempt(t, p.ID, "answered")
		w.wantState(t, p.ID, payment.Validating)
		stands, err := w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, approved(false))
		must(t, err)
		if stands.State != payment.Rejected || stands.ErrorCode != payment.CancelledByUser {
			t.Errorf("the payment is %s with %s", stands.State, stands.ErrorCode)
		}
		w.wantBankCalls(t, 0, 0)
	})
}

// TestBankGoesOnAllTheSame answers "no" to a bank that has already executed the order.
func TestBankGoesOnAllTheSame(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		w.line.interrupts(answers(payment.Report{Status: payment.Settled, Raw: "executed"}), nil)
		p := w.steered("actn(psu)/done")
		stands, err := w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, approved(false))
		must(t, err)
		if stands.State != payment.Done {
			t.Errorf("the payment is %s", stands.State)
		}
	})
}

// TestConfirmationNeedsAnswers checks that a connector without Responder cannot carry payments that
// their client must confirm.
func TestConfirmationNeedsAnswers(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		w.set(settings.AutoConfirmation, "0")
		registry, err := connector.NewRegistry(struct{ connector.Initiator }{w.line})
		must(t, err)
		w.Connectors = registry
		id := w.create(1)
		rows := w.rows()
		_, err = w.Validate(t.Context(), w.domain, id, validated())
		w.wantRefusal(t, err, rows, passerelle.Invalid, "connector_uuid", "confirmation")
		w.set(settings.AutoConfirmation, "1")
		_, err = w.Validate(t.Context(), w.domain, id, validated())
		must(t, err)
	})
}
