package initiation_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/initiation"
	"passerelle/internal/settings"
	"passerelle/payment"
)

// PASSERELLE_TEST_RACES overrides the usual number of repetitions.
func repetitions(t *testing.T, usually int) int {
	t.Helper()
	text, long := os.LookupEnv("PASSERELLE_TEST_RACES")
	if !long {
		return usually
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("PASSERELLE_TEST_RACES is %q, not a number", text)
	}
	return n
}

// contest is a set of acts on one payment that two processes begin at the same moment.
type contest struct {
	name    string
	setting [2]string
	bank    string
	begin   func(w *fixture) passerelle.PaymentID
	// parties begin at the same moment. Each of two processes runs every second party.
	parties []func(w *fixture, i *initiation.Initiation, id passerelle.PaymentID) error
	// A loop runs once more after this time, because a report of the bank may have lost the race.
	// Zero means never.
	later time.Duration
	ends  map[payment.State]contestEnd
}

type contestEnd struct {
	code             payment.ErrorCode
	answers, cancels []int
}

func answering(d func(w *fixture) passerelle.Domain, by payment.Actor, a initiation.ActionAnswer) func(*fixture, *initiation.Initiation, passerelle.PaymentID) error {
	return func(w *fixture, i *initiation.Initiation, id passerelle.PaymentID) error {
		_, err := i.Answer(context.Background(), d(w), id, by, a)
		return err
	}
}

func cancelling(w *fixture, i *initiation.Initiation, id passerelle.PaymentID) error {
	_, err := i.Cancel(context.Background(), w.domain, id, withdrawal)
	return err
}

func validating(w *fixture, i *initiation.Initiation, id passerelle.PaymentID) error {
	_, err := i.Validate(context.Background(), w.domain, id, validated())
	return err
}

func passing(after time.Duration) func(*fixture, *initiation.Initiation, passerelle.PaymentID) error {
	return func(w *fixture, i *initiation.Initiation, _ passerelle.PaymentID) error {
		_, err := i.RunDue(context.Background(), w.later(after))
		return err
	}
}

func today(w *fixture) passerelle.Domain    { return w.domain }
func inAMonth(w *fixture) passerelle.Domain { return w.later(31 * day) }
func byScript(script string) func(w *fixture) passerelle.PaymentID {
	return func(w *fixture) passerelle.PaymentID { return w.steered(script).ID }
}

var (
	never, once, maybe = []int{0}, []int{1}, []int{0, 1}

	contests = []contest{
		{
			name: "cancelled and executed", bank: "Sandbox Quick Cancellation",
			begin:   func(w *fixture) passerelle.PaymentID { return w.onItsWay().ID },
			parties: []func(*fixture, *initiation.Initiation, passerelle.PaymentID) error{cancelling, passing(2 * time.Hour), passing(2 * time.Hour)},
			later:   day,
			ends: map[payment.State]contestEnd{
				payment.Done: {"", never, maybe}, payment.Rejected: {payment.CancelledByClient, never, once},
			},
		},
		{
			name: "confirmed and not", setting: [2]string{settings.AutoConfirmation, "0"}, begin: byScript("skip/done"),
			parties: []func(*fixture, *initiation.Initiation, passerelle.PaymentID) error{
				answering(today, payment.ByClient, confirmed(true)), answering(today, payment.ByClient, confirmed(false)),
			},
			ends: map[payment.State]contestEnd{
				payment.Done: {"", once, never}, payment.Rejected: {payment.ConfirmationRefused, once, never},
			},
		},
		{
			name: "resumed and expired",
			begin: func(w *fixture) passerelle.PaymentID {
				id := w.steered("actn(decoupled)/done").ID
				w.quiet()
				return id
			},
			parties: []func(*fixture, *initiation.Initiation, passerelle.PaymentID) error{
				answering(inAMonth, payment.ByPayer, resume), passing(31 * day),
			},
			ends: map[payment.State]contestEnd{payment.Done: {"", once, never}, payment.Expired: {"", never, never}},
		},
		{
			name: "two validations", begin: func(w *fixture) passerelle.PaymentID { return w.create(1) },
			parties: []func(*fixture, *initiation.Initiation, passerelle.PaymentID) error{validating, validating},
			ends:    map[payment.State]contestEnd{payment.Validating: {"", never, never}},
		},
		{
			name: "fields and cancelled", bank: "Sandbox Quick Cancellation", begin: byScript("actn(otp)/done"),
			parties: []func(*fixture, *initiation.Initiation, passerelle.PaymentID) error{answering(today, payment.ByPayer, code("1234")), cancelling},
			ends: map[payment.State]contestEnd{
				payment.Done: {"", once, maybe}, payment.Rejected: {payment.CancelledByClient, maybe, once},
			},
		},
		{
			name: "validated and withdrawn", begin: func(w *fixture) passerelle.PaymentID { return w.create(1) },
			parties: []func(*fixture, *initiation.Initiation, passerelle.PaymentID) error{validating, cancelling},
			ends: map[payment.State]contestEnd{
				payment.Validating: {"", never, maybe}, payment.Rejected: {payment.CancelledByClient, never, never},
			},
		},
		{
			name: "the same answer three times", begin: byScript("actn(psu)/done"),
			parties: []func(*fixture, *initiation.Initiation, passerelle.PaymentID) error{
				answering(today, payment.ByPayer, approved(true)), answering(today, payment.ByPayer, approved(true)), answering(today, payment.ByPayer, approved(true)),
			},
			ends: map[payment.State]contestEnd{payment.Done: {"", once, never}},
		},
		{
			name: "two cancellations", begin: func(w *fixture) passerelle.PaymentID { return w.onItsWay().ID },
			parties: []func(*fixture, *initiation.Initiation, passerelle.PaymentID) error{cancelling, cancelling},
			ends:    map[payment.State]contestEnd{payment.Pending: {"", never, once}},
		},
	}
)

// TestContests checks that each party succeeds or gets a conflict.
func TestContests(t *testing.T) {
	for _, c := range contests {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				if c.bank != "" {
					w.through(c.bank)
				}
				if c.setting[0] != "" {
					w.set(c.setting[0], c.setting[1])
				}
				both := []*initiation.Initiation{w.Initiation, w.another()}
				for range repetitions(t, 15) {
					w.hold(t, c, both)
				}
				if w.log.String() != "" {
					t.Errorf("the log says\n%s", w.log)
				}
			})
		})
	}
}

func (w *fixture) hold(t *testing.T, c contest, processes []*initiation.Initiation) {
	t.Helper()
	id := c.begin(w)
	answers, cancels := w.line.counts()
	var outcomes count
	calls := make([]func(), len(c.parties))
	for n, party := range c.parties {
		calls[n] = func() { outcomes.add(party(w, processes[n%len(processes)], id)) }
	}
	together(calls...)
	if outcomes.of["done"]+outcomes.of["conflict"] != len(calls) || outcomes.of["done"] == 0 {
		t.Fatalf("the calls ended as %v", outcomes.of)
	}
	if c.later > 0 {
		must(t, passing(c.later)(w, w.Initiation, id))
	}
	p := w.stored(id)
	end, expected := c.ends[p.State]
	if !expected || p.ErrorCode != end.code {
		t.Fatalf("the payment is %s with %q", p.State, p.ErrorCode)
	}
	sentAnswers, sentCancels := w.line.counts()
	if !has(end.answers, sentAnswers-answers) || !has(end.cancels, sentCancels-cancels) {
		t.Errorf("of a payment that is %s the bank got %d answers and %d cancellations", p.State, sentAnswers-answers, sentCancels-cancels)
	}
	w.wantBankToAgree(t, p)
}

func has(list []int, n int) bool {
	for _, one := range list {
		if one == n {
			return true
		}
	}
	return false
}

func (w *fixture) wantBankToAgree(t *testing.T, p *payment.Payment) {
	t.Helper()
	bodies := column[[]byte](w, `SELECT o.body FROM sandbox_order o JOIN attempt a ON a.key = o.key WHERE a.payment_id = $1`, int64(p.ID))
	if len(bodies) == 0 {
		if p.State != payment.Rejected {
			t.Errorf("the bank has no order of a payment that is %s", p.State)
		}
		return
	}
	granted := strings.Contains(string(bodies[0]), `"state":"granted"`)
	if granted != (p.ErrorCode == payment.CancelledByClient) {
		t.Errorf("the payment is %s with %q and the bank has\n%s", p.State, p.ErrorCode, bodies[0])
	}
}
