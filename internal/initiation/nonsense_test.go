package initiation_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/database"
	"passerelle/internal/initiation"
	"passerelle/payment"
)

func (w *fixture) wantRows(t *testing.T, want map[string]int64) {
	t.Helper()
	if diff := cmp.Diff(want, w.rows()); diff != "" {
		t.Errorf("something was written (-before +after):\n%s", diff)
	}
}

func (w *fixture) wantLogged(t *testing.T, words string) {
	t.Helper()
	if !strings.Contains(w.log.String(), words) {
		t.Errorf("the log lacks %q:\n%s", words, w.log)
	}
}

// TestNonsense: a bank fails, or sends reports that change nothing. The next pass must not
// immediately ask again.
func TestNonsense(t *testing.T) {
	lines := func(lines ...payment.Line) payment.Report {
		return payment.Report{Status: payment.Settled, Lines: lines}
	}
	for _, test := range []struct {
		name   string
		broken fault
		logged string
	}{
		{"the same again", nil, ""},
		{"less than is known", answers(payment.Report{Status: payment.Awaiting, Action: payment.Redirect, ValidateURI: "https://bank.test/again"}), ""},
		{"no status", answers(payment.Report{}), "makes no sense"},
		{"unknown status", answers(payment.Report{Status: "<b>ok</b>"}), "makes no sense"},
		{"unknown line", answers(lines(payment.Line{Position: 1, State: payment.InstructionDone})), "makes no sense"},
		{"negative line", answers(lines(payment.Line{Position: -1, State: payment.InstructionDone})), "makes no sense"},
		{"unknown state of a line", answers(lines(payment.Line{State: "paid"})), "makes no sense"},
		{"unknown actor", answers(payment.Report{Status: payment.Declined, By: "somebody"}), "makes no sense"},
		{"unknown order", before(fails(connector.ErrUnknownOrder)), "knows no such order"},
		{"cut", before(fails(errCut)), "reset by peer"},
		{"not sent", before(fails(connector.ErrNotSent)), "nothing was sent"},
		{"panic", before(panics), "the connector panicked"},
		{"silence", before(hangs), "deadline exceeded"},
		{"deafness", before(ignoresDeadline), "does not heed its deadline"},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				w.AnswerTime = impatience
				w.bank.Timing = sandbox.Faithful
				p := w.sent(1)
				_, err := w.Return(t.Context(), w.domain, w.decide(p, "approve"), nil)
				must(t, err)
				before, rows := w.stored(p.ID), w.rows()
				w.line.breaks(nil, test.broken)
				w.execute(`UPDATE payment SET next_check = 0`)
				w.line.used()
				w.runDue(t, w.Initiation, w.later(time.Minute), one)
				w.leasesLapse()
				w.runDue(t, w.Initiation, w.later(time.Minute), none)
				if diff := unlike(before, w.stored(p.ID)); diff != "" {
					t.Errorf("the payment is changed (-before +after):\n%s", diff)
				}
				if strings.HasPrefix(test.logged, "makes no sense") || test.name == "less than is known" {
					rows["payment_note"]++
				}
				w.wantRows(t, rows)
				next := time.UnixMicro(column[int64](w, `SELECT next_check FROM payment`)[0])
				if wait := next.Sub(noon.Add(time.Minute)); wait < 15*time.Second || w.line.used() != 1 {
					t.Errorf("the next question comes in %v", wait)
				}
				if test.logged != "" || w.log.String() != "" {
					w.wantLogged(t, test.logged)
				}
			})
		})
	}
}

// TestWaitsWithinReason checks that the wait that a bank requests is limited. Without such a
// request, the wait must be a quarter of the payment's age, between 15 seconds and 6 hours.
func TestWaitsWithinReason(t *testing.T) {
	for _, test := range []struct{ asked, age, want time.Duration }{
		{-time.Hour, 15 * time.Second, 15 * time.Second},
		{0, time.Minute, 15 * time.Second},
		{0, 2 * time.Hour, 30 * time.Minute},
		{0, 30 * 24 * time.Hour, 6 * time.Hour},
		{1, time.Minute, time.Second},
		{15 * time.Minute, time.Minute, 15 * time.Minute},
		{1 << 62, time.Minute, 24 * time.Hour},
	} {
		t.Run(test.asked.String()+" at "+test.age.String(), func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				p := w.sent(1)
				w.line.breaks(nil, answers(payment.Report{Status: payment.Processing, CheckAfter: test.asked}))
				w.runDue(t, w.Initiation, w.later(test.age), one)
				w.wantState(t, p.ID, payment.Pending)
				next := time.UnixMicro(column[int64](w, `SELECT next_check FROM payment`)[0])
				if wait := next.Sub(noon.Add(test.age)); wait != test.want {
					t.Errorf("the bank is asked after %v, want %v", wait, test.want)
				}
			})
		})
	}
}

// TestLargeReport checks that a refusal with very long texts is stored for the largest possible
// bulk payment.
func TestLargeReport(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		id := w.create(payment.MaxInstructions)
		novel := strings.Repeat("\x00\"é<", 1<<20)
		w.line.breaks(before(fails(&payment.Refusal{Code: payment.ErrorCode(novel), Description: novel})), nil)
		p, err := w.Validate(t.Context(), w.domain, id, validated())
		must(t, err)
		if p.State != payment.Rejected || p.ErrorCode != payment.NoSpecifiedReason {
			t.Errorf("the payment is %s with code %.20q", p.State, p.ErrorCode)
		}
		if size := column[int64](w, `SELECT parted FROM event`)[0]; size == 0 || size > 16<<20 {
			t.Errorf("the event has %d bytes in parts", size)
		}
	})
}

// TestLargeEvents checks that the events of a large bulk payment are stored in parts.
func TestLargeEvents(t *testing.T) {
	const lines = 300
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.sent(lines)
		_, err := w.Simulate(t.Context(), w.domain, p.ID, initiation.SimulatedChange{State: payment.Pending})
		must(t, err)
		if whole := column[int64](w, `SELECT length(body) FROM event WHERE length(body) > 0`); len(whole) > 0 {
			t.Errorf("events have bodies of %d bytes in one piece", whole)
		}
		if parts := column[int64](w, `SELECT length(body) FROM event_part WHERE length(body) > 262144`); len(parts) > 0 {
			t.Errorf("parts have %d bytes", parts)
		}
		events := w.events(p.ID)
		for _, e := range events {
			if len(e.Body.Instructions) != lines || e.Body.Instructions[lines-1].ReferenceID != p.Instructions[lines-1].ReferenceID {
				t.Errorf("event %d has %d instructions", e.Version, len(e.Body.Instructions))
			}
		}
		if len(events) != 2 {
			t.Errorf("there are %d events, want 2", len(events))
		}
	})
}

// TestFailedPartOfALargeEvent checks that an order is neither lost nor sent again when the service
// cannot store a part of the event after the bank has responded.
func TestFailedPartOfALargeEvent(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		id, broken := w.create(300), true
		w.DB.Database.Observe(func(_ context.Context, statements []database.Statement) error {
			if broken && slices.ContainsFunc(statements, func(s database.Statement) bool { return strings.Contains(s.SQL, "INTO event_part") }) {
				return errCut
			}
			return nil
		})
		_, err := w.Validate(t.Context(), w.domain, id, validated())
		must(t, err)
		w.wantAttempt(t, id, "unknown")
		w.wantSubmissions(t, id, 1)
		if events := w.events(id); len(events) != 0 {
			t.Errorf("there are %d events before the outcome is stored", len(events))
		}
		broken = false
		w.leasesLapse()
		w.recoverAttempt(t, w.stored(id), "open")
		w.wantState(t, id, payment.Validating)
		w.wantSubmissions(t, id, 1)
		if events := w.events(id); len(events) != 1 || len(events[0].Body.Instructions) != 300 {
			t.Errorf("there are %d events, want 1 with all instructions", len(events))
		}
	})
}

func (w *fixture) wantMemory(t *testing.T, id passerelle.PaymentID, want string) {
	t.Helper()
	a, err := w.db.Attempt(t.Context(), w.domain.ID, id)
	must(t, err)
	if string(a.Memory) != want {
		t.Errorf("the memory of the order is %q, want %q", a.Memory, want)
	}
}

// TestMemoryStoredDuringACall checks which memory is stored after failed, crashed and simultaneous
// calls.
func TestMemoryStoredDuringACall(t *testing.T) {
	saving := func(memory string, then fault) fault {
		return func(ctx context.Context, o connector.Order, next exchange) (payment.Report, error) {
			o.Save(ctx, []byte(memory))
			return then(ctx, o, next)
		}
	}
	remembering := func(memory string) fault {
		return answers(payment.Report{Status: payment.Processing, Memory: []byte(memory)})
	}
	for _, test := range []struct {
		name   string
		status func(w *fixture) fault
		want   string
	}{
		{"the call fails", func(*fixture) fault { return saving("first", before(fails(errCut))) }, "first"},
		{"the process dies", func(*fixture) fault { return saving("first", before(dies)) }, "first"},
		{"the call stores two", func(*fixture) fault { return saving("first", saving("second", before(dies))) }, "second"},
		{"the call succeeds", func(*fixture) fault { return saving("first", remembering("last")) }, "last"},
		{"another call stores a memory meanwhile", func(w *fixture) fault {
			return func(ctx context.Context, o connector.Order, next exchange) (payment.Report, error) {
				w.line.breaks(nil, saving("first", remembering("last")))
				w.leasesLapse()
				w.runDue(w.t, w.another(), w.later(time.Minute), one)
				return remembering("older")(ctx, o, next)
			}
		}, "last"},
		{"this call and another store one", func(w *fixture) fault {
			return saving("first", func(ctx context.Context, o connector.Order, next exchange) (payment.Report, error) {
				w.line.breaks(nil, saving("other", before(dies)))
				w.leasesLapse()
				w.runDue(w.t, w.another(), w.later(time.Minute), one)
				return remembering("older")(ctx, o, next)
			})
		}, "other"},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				p := w.sent(1)
				w.line.breaks(nil, test.status(w))
				w.runDue(t, w.Initiation, w.later(time.Minute), one)
				w.wantMemory(t, p.ID, test.want)
			})
		})
	}
}

// TestConnectorChangesItsOrder: a connector changes the payer and the fields in its order. The
// stored payment must stay as it is.
func TestConnectorChangesItsOrder(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		changes := func(ctx context.Context, o connector.Order, next exchange) (payment.Report, error) {
			report, err := next(ctx, o)
			o.Payment.Payer.Label = "changed"
			for n := range o.Payment.Fields {
				o.Payment.Fields[n].Label = "changed"
			}
			return report, err
		}
		w.line.breaks(changes, changes)
		id := w.create(1)
		_, err := w.Validate(t.Context(), w.domain, id, validated(func(c *initiation.Choice) {
			c.Payer = &passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7699999000000000000000033", Label: "The Payer"}
			c.Fields = map[string]string{"use_case_pay": "otp_sms"}
		}))
		must(t, err)
		w.runDue(t, w.Initiation, w.later(time.Minute), one)
		p := w.stored(id)
		if p.Payer.Label != "The Payer" || len(p.Fields) == 0 || p.Fields[0].Label == "changed" {
			t.Errorf("the payer is %+v, the fields are %+v", p.Payer, p.Fields)
		}
	})
}

// TestConnectorIsGone checks that the service waits between two checks of payments whose connector
// was removed. A process that has the connector must continue these payments.
func TestConnectorIsGone(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.sent(1)
		w.decide(p, "approve")
		id := w.create(1)
		w.line.breaks(before(fails(errCut)), nil)
		_, err := w.Validate(t.Context(), w.domain, id, validated())
		must(t, err)
		registry, err := connector.NewRegistry()
		must(t, err)
		without := w.another()
		without.Connectors = registry
		both := initiation.Done{Checked: 1, Recovered: 1}
		w.leasesLapse()
		w.runDue(t, without, w.later(time.Minute), both)
		w.runDue(t, without, w.later(time.Minute), none)
		w.wantAttempt(t, id, "unknown")
		w.leasesLapse()
		w.runDue(t, without, w.later(time.Minute), recovered)
		w.wantLogged(t, "does not have the connector")
		w.line.breaks(nil, nil)
		w.leasesLapse()
		w.runDue(t, w.Initiation, w.later(time.Hour), both)
		w.wantState(t, p.ID, payment.Done)
		w.wantState(t, id, payment.Validating)
	})
}

// TestReturns checks that invalid state parameters are refused, and that a payer can return several
// times with the valid parameter.
func TestReturns(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.sent(1)
		foreign, _ := w.createDomain("foreign", passerelle.Sandbox)
		state := w.decide(p, "approve")
		for name, altered := range map[string]string{
			"empty": "", "truncated": state[:len(state)-1], "longer": state + "A", "line break": state[:8] + "\n" + state[8:],
			"other payment": "B" + state[1:], "other MAC": state[:len(state)-1] + swap(state[len(state)-1]),
			"no number": state[11:], "not base64": strings.Repeat("!", 32), "padded": state + "=",
		} {
			if _, err := w.Return(t.Context(), w.domain, altered, nil); !errors.Is(err, passerelle.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := w.Return(t.Context(), foreign, state, nil); !errors.Is(err, passerelle.NotFound) {
			t.Errorf("in another domain: %v", err)
		}
		w.wantState(t, p.ID, payment.Validating)
		var first *payment.Payment
		for range 3 {
			ended, err := w.Return(t.Context(), w.domain, state, nil)
			must(t, err)
			if first == nil {
				first = ended
			}
			if diff := unlike(first, ended); diff != "" || ended.State != payment.Done {
				t.Errorf("the payment is %s\n%s", ended.State, diff)
			}
		}
	})
}

func swap(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}

// TestReturnToASilentBank checks that Return returns the payment from the database when the bank
// does not respond.
func TestReturnToASilentBank(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.sent(1)
		state := w.decide(p, "approve")
		w.line.breaks(nil, before(fails(errCut)))
		stands, err := w.Return(t.Context(), w.domain, state, nil)
		must(t, err)
		if stands.State != payment.Validating {
			t.Errorf("the payment is %s", stands.State)
		}
		w.wantLogged(t, "could not be asked when the payer returned")
		w.line.breaks(nil, nil)
		w.runDue(t, w.Initiation, w.later(time.Minute), one)
		w.wantState(t, p.ID, payment.Done)
	})
}

// TestReturnBeforeTheAnswer makes the payer return while the outcome of the order is unknown.
// Return must not ask the bank, because a loop finds the outcome.
func TestReturnBeforeTheAnswer(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		id := w.create(1)
		var state string
		w.line.breaks(func(_ context.Context, o connector.Order, _ exchange) (payment.Report, error) {
			back, _ := url.Parse(o.ReturnURL)
			state = back.Query().Get("state")
			return payment.Report{}, errCut
		}, nil)
		_, err := w.Validate(t.Context(), w.domain, id, validated())
		must(t, err)
		w.line.used()
		p, err := w.Return(t.Context(), w.domain, state, nil)
		must(t, err)
		if p.State != payment.Created || w.line.used() != 0 {
			t.Errorf("the payment is %s", p.State)
		}
	})
}

// TestWaitsAfterFailures checks that the service waits as long as a bank requests that could not
// report the status of an order. A short wait must not make the service ask more often.
func TestWaitsAfterFailures(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{0: 15 * time.Second, time.Second: 15 * time.Second, time.Hour: time.Hour, 1 << 62: 24 * time.Hour} {
		t.Run(asked.String(), func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				w.sent(1)
				w.line.breaks(nil, func(context.Context, connector.Order, exchange) (payment.Report, error) {
					return payment.Report{CheckAfter: asked}, errors.New("too many requests")
				})
				w.runDue(t, w.Initiation, w.later(time.Minute), one)
				next := time.UnixMicro(column[int64](w, `SELECT next_check FROM payment`)[0])
				if wait := next.Sub(noon.Add(time.Minute)); wait != want {
					t.Errorf("the bank is asked after %v, want %v", wait, want)
				}
			})
		})
	}
}
