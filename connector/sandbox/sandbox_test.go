package sandbox_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/connectortest"
	"passerelle/connector/sandbox"
	"passerelle/payment"
)

const (
	testConnector = "338178e6-3d01-564f-9a7b-52ca442459bf"
	ukConnector   = "c9c5a0a6-7f0e-4c39-8f5e-0d1f6b1c2e41"
	returnURL     = "https://service.test/2.0/webauth/callback?state=abc"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func newBank(ledger sandbox.Ledger, timing sandbox.Timing) *sandbox.Bank {
	return &sandbox.Bank{
		Ledger: ledger, Timing: timing, MAC: mac, Log: slog.New(slog.DiscardHandler),
		Base: func(domain passerelle.DomainID) string { return fmt.Sprintf("http://domain%d.test", domain) },
	}
}

func mac(purpose string, data []byte) []byte {
	sum := hmac.New(sha256.New, []byte("secret "+purpose))
	sum.Write(data)
	return sum.Sum(nil)
}

func initiator(t *testing.T, b *sandbox.Bank, uuid string) connector.Initiator {
	t.Helper()
	registry, err := connector.NewRegistry(b.Connectors()...)
	if err != nil {
		t.Fatal(err)
	}
	c, known := registry.Initiator(uuid)
	if !known {
		t.Fatalf("there is no connector %s", uuid)
	}
	return c
}

func instruction(change ...func(*payment.Instruction)) payment.Instruction {
	in := payment.Instruction{
		ReferenceID: "ORDER-1", Amount: passerelle.Money{Minor: 1250, Currency: "GBP"}, Label: "Order 1", DateType: payment.Instant,
		Beneficiary: passerelle.Account{Scheme: passerelle.SortCode, Identification: "00000055779911", Label: "The Shop"},
	}
	for _, do := range change {
		do(&in)
	}
	return in
}

func dated(dates payment.DateType) func(*payment.Instruction) {
	return func(in *payment.Instruction) {
		in.DateType = dates
		switch dates {
		case payment.Deferred:
			in.ExecutionDate = passerelle.DateOf(noon, time.UTC).AddDays(3)
		case payment.Periodic:
			in.StartDate = passerelle.DateOf(noon, time.UTC).AddDays(3)
			in.EndDate = in.StartDate.AddMonths(2)
			in.Frequency = "monthly"
		}
	}
}

var keys atomic.Int64

func newOrder(t *testing.T, lines ...payment.Instruction) connector.Order {
	t.Helper()
	p, _, err := payment.New(payment.Draft{ClientRedirectURI: "https://shop.test/back", Instructions: lines},
		payment.Policy{Periodic: true}, strings.NewReader(strings.Repeat("r", 1<<16)), noon)
	if err != nil {
		t.Fatal(err)
	}
	return connector.Order{
		Domain: 7, Key: fmt.Sprintf("key-%d", keys.Add(1)), Payment: *p, Mechanism: "webauth", ReturnURL: returnURL, Now: noon,
	}
}

func send(t *testing.T, c connector.Initiator, o connector.Order) payment.Report {
	t.Helper()
	report, err := c.Initiate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func ask(t *testing.T, c connector.Initiator, o connector.Order, now time.Time) payment.Report {
	t.Helper()
	o.Now = now
	report, err := c.Status(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func get(t *testing.T, b *sandbox.Bank, uri string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	b.Pages().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, uri, nil))
	return w
}

func press(ctx context.Context, b *sandbox.Bank, uri, decision string) *httptest.ResponseRecorder {
	form := url.Values{"decision": {decision}}.Encode()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, uri, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	b.Pages().ServeHTTP(w, r)
	return w
}

func mustPress(t *testing.T, b *sandbox.Bank, uri, decision string) {
	t.Helper()
	if w := press(t.Context(), b, uri, decision); w.Code != http.StatusSeeOther || w.Header().Get("Location") != returnURL {
		t.Fatalf("%s was answered with %d to %q", decision, w.Code, w.Header().Get("Location"))
	}
}

func TestConformance(t *testing.T) {
	for _, timing := range []sandbox.Timing{sandbox.CI, sandbox.Faithful} {
		for _, c := range newBank(sandbox.NewMemoryLedger(), timing).Connectors() {
			p := c.Profile()
			if p.Payments == nil {
				continue // the rules are about payments
			}
			t.Run(fmt.Sprintf("%s %s", timing, p.Name), func(t *testing.T) {
				connectortest.Run(t, func(t *testing.T) connectortest.Subject { return subject(t, timing, p) })
			})
		}
	}
}

func subject(t *testing.T, timing sandbox.Timing, p connector.Profile) connectortest.Subject {
	t.Helper()
	ledger := sandbox.NewMemoryLedger()
	bank := newBank(ledger, timing)
	decide := func(decision string) func(context.Context, connector.Order, payment.Report) error {
		return func(ctx context.Context, _ connector.Order, asked payment.Report) error {
			if w := press(ctx, bank, asked.ValidateURI, decision); w.Code != http.StatusSeeOther {
				return fmt.Errorf("%s was answered with %d", decision, w.Code)
			}
			return nil
		}
	}
	return connectortest.Subject{
		Initiator: initiator(t, bank, p.UUID), Submissions: ledger.Orders,
		Order: orderFor(t, p, ""), Lasting: orderFor(t, p, "pdng:2d/done - "),
		Approve: decide("approve"), Refuse: decide("refuse"), Agree: decide("cancel"), Keep: decide("keep"),
	}
}

func orderFor(t *testing.T, p connector.Profile, script string) func() connector.Order {
	t.Helper()
	return func() connector.Order {
		in := instruction(func(in *payment.Instruction) {
			in.Label, in.DateType, in.Amount.Currency = script+in.Label, payment.FirstOpenDay, p.Payments.Currencies[0]
			if p.Payments.Schemes[0] == passerelle.IBAN {
				in.Beneficiary.Scheme, in.Beneficiary.Identification = passerelle.IBAN, "FR7699999000000000000000033"
			}
		})
		o := newOrder(t, in)
		if p.Payments.PayerAccount == payment.PayerMandatory {
			o.Payment.Payer = &passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7699999000010000000000018", Label: "The Payer"}
		}
		return o
	}
}

func TestEligibility(t *testing.T) {
	euros := func(in *payment.Instruction) { in.Amount.Currency = "EUR" }
	toIBAN := func(in *payment.Instruction) {
		in.Beneficiary = passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7699999000000000000000033", Label: "The Shop"}
	}
	yen := func(in *payment.Instruction) { in.Amount = passerelle.Money{Minor: 1250, Currency: "JPY"} }
	for _, test := range []struct {
		name             string
		lines            []payment.Instruction
		everywhere, inUK bool
	}{
		{"instant pounds", []payment.Instruction{instruction()}, true, true},
		{"pounds on the next banking day", []payment.Instruction{instruction(dated(payment.FirstOpenDay))}, true, true},
		{"pounds later", []payment.Instruction{instruction(dated(payment.Deferred))}, true, false},
		{"pounds monthly", []payment.Instruction{instruction(dated(payment.Periodic))}, true, false},
		{"euros", []payment.Instruction{instruction(euros)}, true, false},
		{"euros to an IBAN", []payment.Instruction{instruction(euros, toIBAN)}, true, false},
		{"two lines", []payment.Instruction{instruction(), instruction()}, true, false},
		{"yen", []payment.Instruction{instruction(yen)}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := newOrder(t, test.lines...)
			bank := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
			for uuid, want := range map[string]bool{testConnector: test.everywhere, ukConnector: test.inUK} {
				reasons := o.Payment.Incompatibilities(*initiator(t, bank, uuid).Profile().Payments, noon)
				if payment.Eligible(reasons) != want {
					t.Errorf("%s: eligible is %t, want %t: %+v", uuid, !want, want, reasons)
				}
			}
		})
	}
}

// TestExecution follows approved orders on the clock of their domain. Every call uses a new bank
// with the same ledger.
func TestExecution(t *testing.T) {
	toItsDay := passerelle.DateOf(noon, time.UTC).AddDays(3).In(time.UTC).Sub(noon)
	for _, test := range []struct {
		timing sandbox.Timing
		dates  payment.DateType
		wait   time.Duration
		day    string
	}{
		{sandbox.CI, payment.Instant, 0, "2026-11-21"},
		{sandbox.CI, payment.FirstOpenDay, 0, "2026-11-23"},
		{sandbox.CI, payment.Deferred, 0, "2026-11-24"},
		{sandbox.Faithful, payment.Instant, 15 * time.Second, "2026-11-21"},
		{sandbox.Faithful, payment.FirstOpenDay, 15 * time.Minute, "2026-11-23"},
		{sandbox.Faithful, payment.Deferred, toItsDay, "2026-11-24"},
	} {
		t.Run(fmt.Sprintf("%s %s", test.timing, test.dates), func(t *testing.T) {
			ledger := sandbox.NewMemoryLedger()
			reopened := func() *sandbox.Bank { return newBank(ledger, test.timing) }
			o := newOrder(t, instruction(dated(test.dates)))
			asked := send(t, initiator(t, reopened(), testConnector), o)
			if asked.Status != payment.Awaiting || asked.Action != payment.Redirect {
				t.Fatalf("Initiate = %+v", asked)
			}
			mustPress(t, reopened(), asked.ValidateURI, "approve")
			if test.wait > 0 {
				expectProcessing(t, initiator(t, reopened(), testConnector), o, test.wait)
			}
			last := ask(t, initiator(t, reopened(), testConnector), o, noon.Add(test.wait))
			if _, err := o.Payment.Apply(last, noon); err != nil || o.Payment.State != payment.Done {
				t.Errorf("the payment is %s, %v", o.Payment.State, err)
			}
			if day := o.Payment.Instructions[0].Executed.String(); day != test.day {
				t.Errorf("executed on %s, want %s", day, test.day)
			}
		})
	}
}

func expectProcessing(t *testing.T, c connector.Initiator, o connector.Order, wait time.Duration) {
	t.Helper()
	for _, passed := range []time.Duration{0, wait - time.Second} {
		r := ask(t, c, o, noon.Add(passed))
		if r.Status != payment.Processing || r.CheckAfter != wait-passed {
			t.Errorf("after %s: %s, ask again after %s; want %s after %s", passed, r.Status, r.CheckAfter, payment.Processing, wait-passed)
		}
	}
}

func TestRefusalIsThePayers(t *testing.T) {
	bank := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
	c, o := initiator(t, bank, testConnector), newOrder(t, instruction())
	mustPress(t, bank, send(t, c, o).ValidateURI, "refuse")
	r := ask(t, c, o, noon)
	if r.Status != payment.Declined || r.Code != payment.CancelledByUser || r.By != payment.ByPayer {
		t.Errorf("Status = %+v", r)
	}
}

func TestUseCase(t *testing.T) {
	for value, wanted := range map[string]bool{"": true, "redirect": true, "Redirect": false, "teleport": false} {
		t.Run("value "+value, func(t *testing.T) {
			ledger := sandbox.NewMemoryLedger()
			o := newOrder(t, instruction())
			o.Fields = map[string]string{"use_case_pay": value}
			_, err := initiator(t, newBank(ledger, sandbox.CI), testConnector).Initiate(t.Context(), o)
			var refusal *payment.Refusal
			if known := !errors.As(err, &refusal); known != wanted || (ledger.Orders() == 1) != wanted {
				t.Errorf("err = %v with %d orders", err, ledger.Orders())
			}
			if refusal != nil && refusal.Code != payment.InvalidValue {
				t.Errorf("refused with %s", refusal.Code)
			}
		})
	}
}

func TestOrdersBelongToTheirBank(t *testing.T) {
	bank := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
	o := newOrder(t, instruction())
	send(t, initiator(t, bank, testConnector), o)
	if _, err := initiator(t, bank, ukConnector).Status(t.Context(), o); !errors.Is(err, connector.ErrUnknownOrder) {
		t.Errorf("the other bank answers %v", err)
	}
	o.Domain++
	if _, err := initiator(t, bank, testConnector).Status(t.Context(), o); !errors.Is(err, connector.ErrUnknownOrder) {
		t.Errorf("the bank of another domain answers %v", err)
	}
}

type broken struct{ body []byte }

var errAway = errors.New("the database is away")

func (b broken) Submit(context.Context, passerelle.DomainID, string, []byte) (stored []byte, version, submissions int64, err error) {
	return b.body, 1, 1, b.fault()
}

func (b broken) Load(context.Context, passerelle.DomainID, string) (body []byte, version int64, found bool, err error) {
	return b.body, 1, true, b.fault()
}

func (b broken) Save(context.Context, passerelle.DomainID, string, int64, []byte) (saved bool, err error) {
	return false, b.fault()
}

func (b broken) fault() error {
	if b.body == nil {
		return errAway
	}
	return nil
}

// TestBrokenLedger checks that a failure of the ledger leaves the outcome unknown. Pages respond
// with 500 and do not show the error.
func TestBrokenLedger(t *testing.T) {
	working := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
	o := newOrder(t, instruction())
	page := send(t, initiator(t, working, testConnector), o).ValidateURI
	for name, ledger := range map[string]broken{"away": {}, "garbled": {body: []byte("{")}} {
		t.Run(name, func(t *testing.T) {
			bank := newBank(ledger, sandbox.CI)
			c := initiator(t, bank, testConnector)
			for _, call := range []func(context.Context, connector.Order) (payment.Report, error){c.Initiate, c.Status} {
				_, err := call(t.Context(), o)
				var refusal *payment.Refusal
				if err == nil || errors.As(err, &refusal) || errors.Is(err, connector.ErrNotSent) || errors.Is(err, connector.ErrUnknownOrder) {
					t.Errorf("err = %v", err)
				}
			}
			for _, w := range []*httptest.ResponseRecorder{get(t, bank, page), press(t.Context(), bank, page, "approve")} {
				if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), errAway.Error()) {
					t.Errorf("the page answered %d: %s", w.Code, w.Body)
				}
			}
		})
	}
}

func TestParseTiming(t *testing.T) {
	for name, wanted := range map[string]bool{"ci": true, "faithful": true, "": false, "CI": false, "slow": false} {
		timing, err := sandbox.ParseTiming(name)
		if (err == nil) != wanted || (wanted && string(timing) != name) {
			t.Errorf("ParseTiming(%q) = %q, %v", name, timing, err)
		}
	}
}
