package connectortest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/payment"
)

// faulty wraps a connector that keeps every rule. A test sets a function to break a rule.
type faulty struct {
	connector.Initiator
	profile  func(*connector.Profile)
	initiate func(context.Context, connector.Order) (payment.Report, error)
	status   func(context.Context, connector.Order) (payment.Report, error)
	answer   func(context.Context, connector.Order, connector.Answer) (payment.Report, error)
	cancel   func(context.Context, connector.Order) (payment.Report, error)
}

func (f *faulty) able() connector.Canceller {
	able, ok := f.Initiator.(connector.Canceller)
	if !ok {
		panic("the connector does not cancel")
	}
	return able
}

func (f *faulty) Answer(ctx context.Context, o connector.Order, a connector.Answer) (payment.Report, error) {
	if f.answer != nil {
		return f.answer(ctx, o, a)
	}
	able, ok := f.Initiator.(connector.Responder)
	if !ok {
		panic("the connector takes no answers")
	}
	return able.Answer(ctx, o, a)
}

func (f *faulty) Cancel(ctx context.Context, o connector.Order) (payment.Report, error) {
	if f.cancel != nil {
		return f.cancel(ctx, o)
	}
	return f.able().Cancel(ctx, o)
}

func (f *faulty) Profile() connector.Profile {
	p := f.Initiator.Profile()
	settings := *p.Payments
	p.Payments, p.Data = &settings, nil
	if f.profile != nil {
		f.profile(&p)
	}
	return p
}

func (f *faulty) Initiate(ctx context.Context, o connector.Order) (payment.Report, error) {
	if f.initiate != nil {
		return f.initiate(ctx, o)
	}
	return f.Initiator.Initiate(ctx, o)
}

func (f *faulty) Status(ctx context.Context, o connector.Order) (payment.Report, error) {
	if f.status != nil {
		return f.status(ctx, o)
	}
	return f.Initiator.Status(ctx, o)
}

func TestRulesNotice(t *testing.T) {
	background := context.Background()
	for _, test := range []struct {
		name, rule string
		breakIt    func(f *faulty)
	}{
		{"capitals in the UUID", "the profile is coherent", profile(func(p *connector.Profile) { p.UUID = strings.ToUpper(p.UUID) })},
		{"no numeric id", "the profile is coherent", profile(func(p *connector.Profile) { p.ID = 0 })},
		{"no name", "the profile is coherent", profile(func(p *connector.Profile) { p.Name = "" })},
		{"no country", "the profile is coherent", profile(func(p *connector.Profile) { p.Countries = nil })},
		{"a source without name", "the profile is coherent", profile(func(p *connector.Profile) { p.Sources = []connector.Source{{ID: 1}} })},
		{"a source twice", "the profile is coherent", profile(func(p *connector.Profile) {
			p.Sources = []connector.Source{{ID: 1, Name: "openapi"}, {ID: 1, Name: "directaccess"}}
		})},
		{"no such country", "the profile is coherent", profile(func(p *connector.Profile) { p.Countries = []string{"UK"} })},
		{"no payment settings", "the profile is coherent", profile(func(p *connector.Profile) { p.Payments = nil })},
		{"no mechanism", "the profile is coherent", profile(func(p *connector.Profile) { p.Payments.Mechanisms = nil })},
		{"unknown scheme", "the profile is coherent", profile(func(p *connector.Profile) { p.Payments.Schemes = []passerelle.AccountScheme{"bban"} })},
		{"series without frequency", "the profile is coherent", profile(func(p *connector.Profile) { p.Payments.Frequencies = nil })},
		{"bulk beyond every bulk", "the profile is coherent", profile(func(p *connector.Profile) { p.Payments.MaxInstructions = 1001 })},
		{"minimum above maximum", "the profile is coherent", profile(func(p *connector.Profile) {
			p.Payments.Minimum, p.Payments.Maximum = map[payment.DateType]int64{"instant": 2}, map[payment.DateType]int64{"instant": 1}
		})},
		{"list without values", "the profile is coherent", profile(func(p *connector.Profile) {
			p.PaymentFields = []payment.Field{{Name: "bank", Label: "Bank", Type: "list"}}
		})},
		{"unstable profile", "the profile is coherent", func(f *faulty) {
			var calls atomic.Int64
			f.profile = func(p *connector.Profile) { p.ID += calls.Add(1) }
		}},
		{"asking sends", "a sent order is known", func(f *faulty) {
			var calls atomic.Int64
			f.status = func(ctx context.Context, o connector.Order) (payment.Report, error) {
				o.Key += fmt.Sprint(calls.Add(1))
				return f.Initiator.Initiate(ctx, o)
			}
		}},
		{"forgetful", "a sent order is known", func(f *faulty) {
			f.status = func(context.Context, connector.Order) (payment.Report, error) {
				return payment.Report{}, connector.ErrUnknownOrder
			}
		}},
		{"redirect to nowhere", "a sent order is known", initiates(func(r *payment.Report) { r.ValidateURI = "/here" })},
		{"unknown action", "a sent order is known", initiates(func(r *payment.Report) { r.Action = "dance" })},
		{"line out of range", "a sent order is known", initiates(func(r *payment.Report) { r.Lines = []payment.Line{{Position: 1, State: "done"}} })},
		{"plain error for an unknown order", "an order never sent is unknown", func(f *faulty) {
			f.status = func(context.Context, connector.Order) (payment.Report, error) {
				return payment.Report{}, context.DeadlineExceeded
			}
		}},
		{"two orders for one key", "a repeated key is one order", func(f *faulty) {
			var calls atomic.Int64
			f.initiate = func(ctx context.Context, o connector.Order) (payment.Report, error) {
				o.Key += fmt.Sprint(calls.Add(1))
				return f.Initiator.Initiate(ctx, o)
			}
		}},
		{"never ends", "an approved order ends", answers(func(r *payment.Report) { r.Status, r.Lines = payment.Processing, nil })},
		{"unknown status", "an approved order ends", answers(func(r *payment.Report) { r.Status = "shipped" })},
		{"approval is refusal", "an approved order ends", answers(func(r *payment.Report) { r.Status, r.Code, r.Lines = payment.Declined, payment.Bug, nil })},
		{"refusal without a known code", "a refused order is declined", answers(func(r *payment.Report) { r.Code = "because" })},
		{"refusal is approval", "a refused order is declined", answers(func(r *payment.Report) { r.Status = payment.Settled })},
		{"ignores the cancelled context", "a cancelled call returns", func(f *faulty) {
			f.initiate = func(_ context.Context, o connector.Order) (payment.Report, error) {
				return f.Initiator.Initiate(background, o)
			}
		}},
		{"cancellation read as unknown", "a cancelled call returns", func(f *faulty) {
			f.status = func(context.Context, connector.Order) (payment.Report, error) {
				return payment.Report{}, connector.ErrUnknownOrder
			}
		}},
		{"claims no cancellation", "abilities are claimed", profile(func(p *connector.Profile) { p.Payments.Cancellable = false })},
		{"takes any answer for a no", "a stray answer is ignored", func(f *faulty) {
			f.answer = func(context.Context, connector.Order, connector.Answer) (payment.Report, error) {
				return payment.Report{Status: payment.Declined, Code: payment.CancelledByUser}, nil
			}
		}},
		{"begins again", "a late answer is ignored", func(f *faulty) {
			f.answer = func(context.Context, connector.Order, connector.Answer) (payment.Report, error) {
				return payment.Report{Status: payment.Processing}, nil
			}
		}},
		{"answers for what it has not", "an order never sent cannot be asked", func(f *faulty) {
			f.cancel = func(context.Context, connector.Order) (payment.Report, error) {
				return payment.Report{Cancellation: payment.CancellationGranted}, nil
			}
		}},
		{"silent about the cancellation", "a cancellation is reported", cancels(func(r *payment.Report) { r.Cancellation = "" })},
		{"asks nowhere", "a cancellation is reported", cancels(func(r *payment.Report) { r.ValidateURI = "" })},
		{"unknown cancellation", "a cancellation is reported", cancels(func(r *payment.Report) { r.Cancellation = "maybe" })},
		{"agrees and never cancels", "a cancellation is reported", answers(func(r *payment.Report) { *r = payment.Report{Status: payment.Processing} })},
		{"asks for ever", "a kept order goes on", answers(func(r *payment.Report) {
			if r.Cancellation == payment.CancellationRefused {
				r.Cancellation, r.ValidateURI = payment.CancellationAwaiting, "https://bank.test/cancel"
			}
		})},
		{"cancels what is done", "an ended order is not cancelled", cancels(func(r *payment.Report) { r.Status, r.Cancellation = payment.Declined, payment.CancellationGranted })},
		{"one order at a time", "calls may coincide", func(f *faulty) {
			var calls atomic.Int64
			f.initiate = func(ctx context.Context, o connector.Order) (payment.Report, error) {
				if calls.Add(1) > 1 {
					return payment.Report{}, connector.ErrNotSent
				}
				return f.Initiator.Initiate(ctx, o)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			whole, s := correct(t), correct(t)
			whole.Initiator = &faulty{Initiator: whole.Initiator}
			if err := checkOf(t, test.rule)(t.Context(), whole); err != nil {
				t.Fatalf("the rule %q fails for a connector that keeps it: %v", test.rule, err)
			}
			f := &faulty{Initiator: s.Initiator}
			test.breakIt(f)
			s.Initiator = f
			if err := checkOf(t, test.rule)(t.Context(), s); err == nil {
				t.Errorf("the rule %q does not notice", test.rule)
			}
		})
	}
}

// TestMechanism checks that a profile without the webview's mechanism breaks a rule, even if the
// subject's orders name the profile's mechanism.
func TestMechanism(t *testing.T) {
	s := correct(t)
	s.Initiator = &faulty{Initiator: s.Initiator, profile: func(p *connector.Profile) { p.Payments.Mechanisms = []string{"credentials"} }}
	order := s.Order
	s.Order = func() connector.Order {
		o := order()
		o.Mechanism = "credentials"
		return o
	}
	if err := checkOf(t, "the profile is coherent")(t.Context(), s); err == nil || !strings.Contains(err.Error(), `mechanisms ["credentials"]: add "webauth"`) {
		t.Errorf("err = %v", err)
	}
}

func profile(change func(*connector.Profile)) func(*faulty) {
	return func(f *faulty) { f.profile = change }
}

func initiates(change func(*payment.Report)) func(*faulty) {
	return func(f *faulty) {
		f.initiate = func(ctx context.Context, o connector.Order) (payment.Report, error) {
			r, err := f.Initiator.Initiate(ctx, o)
			change(&r)
			return r, err
		}
	}
}

func answers(change func(*payment.Report)) func(*faulty) {
	return func(f *faulty) {
		f.status = func(ctx context.Context, o connector.Order) (payment.Report, error) {
			r, err := f.Initiator.Status(ctx, o)
			change(&r)
			return r, err
		}
	}
}

func cancels(change func(*payment.Report)) func(*faulty) {
	return func(f *faulty) {
		f.cancel = func(ctx context.Context, o connector.Order) (payment.Report, error) {
			r, err := f.able().Cancel(ctx, o)
			change(&r)
			return r, err
		}
	}
}

func checkOf(t *testing.T, rule string) func(context.Context, Subject) error {
	t.Helper()
	for _, r := range rules {
		if r.name == rule {
			return r.check
		}
	}
	t.Fatalf("there is no rule %q", rule)
	return nil
}

func TestRun(t *testing.T) { Run(t, correct) }

func correct(t *testing.T) Subject {
	t.Helper()
	ledger := sandbox.NewMemoryLedger()
	bank := &sandbox.Bank{
		Ledger: ledger, Timing: sandbox.CI, Log: slog.New(slog.DiscardHandler),
		Base: func(passerelle.DomainID) string { return "http://bank.test" },
		MAC: func(purpose string, data []byte) []byte {
			mac := hmac.New(sha256.New, []byte(purpose))
			mac.Write(data)
			return mac.Sum(nil)
		},
	}
	initiator, ok := bank.Connectors()[0].(connector.Initiator)
	if !ok {
		t.Fatal("the test connector does not initiate payments")
	}
	return Subject{
		Initiator: initiator, Order: orders(t, "Order 1", payment.Instant), Submissions: ledger.Orders,
		Approve: presses(bank, "approve"), Refuse: presses(bank, "refuse"),
		Lasting: orders(t, "pdng:2d/done - Order 2", payment.FirstOpenDay), Agree: presses(bank, "cancel"), Keep: presses(bank, "keep"),
	}
}

func presses(bank *sandbox.Bank, button string) func(context.Context, connector.Order, payment.Report) error {
	return func(ctx context.Context, _ connector.Order, asked payment.Report) error {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, asked.ValidateURI, strings.NewReader("decision="+button))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		bank.Pages().ServeHTTP(w, r)
		if w.Code != http.StatusSeeOther {
			return fmt.Errorf("%s was answered with %d", button, w.Code)
		}
		return nil
	}
}

func orders(t *testing.T, label string, dates payment.DateType) func() connector.Order {
	t.Helper()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	p, _, err := payment.New(payment.Draft{
		ClientRedirectURI: "https://shop.test/back",
		Instructions: []payment.Instruction{{
			ReferenceID: "ORDER-1", Amount: passerelle.Money{Minor: 1250, Currency: "EUR"}, Label: label, DateType: dates,
			Beneficiary: passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7699999000000000000000033", Label: "Shop"},
		}},
	}, payment.Policy{}, strings.NewReader(""), now)
	if err != nil {
		t.Fatal(err)
	}
	var made atomic.Int64
	return func() connector.Order {
		return connector.Order{
			Domain: 1, Key: fmt.Sprintf("%s-%d", dates, made.Add(1)), Payment: *p, Mechanism: "webauth",
			ReturnURL: "https://service.test/back", Now: now,
		}
	}
}
