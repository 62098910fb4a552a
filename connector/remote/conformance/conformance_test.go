package conformance_test

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
	"slices"
	"strings"
	"testing"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/connectortest"
	"passerelle/connector/remote"
	"passerelle/connector/remote/conformance"
	"passerelle/connector/sandbox"
	"passerelle/connector/sandbox/customers"
	"passerelle/payment"
)

const secret = "a secret of thirty-two characters, or more"

// tested is a simulated bank that lets the suite act as its payers and users.
type tested struct {
	connector.Canceller
	connector.DataReader
	bank   *sandbox.Bank
	ledger *sandbox.MemoryLedger
	// idle means that the bank does not act for payers and users.
	idle bool
}

func newTested(t *testing.T) *tested {
	t.Helper()
	ledger := sandbox.NewMemoryLedger()
	bank := &sandbox.Bank{
		Ledger: ledger, Timing: sandbox.Faithful, Log: slog.New(slog.DiscardHandler),
		Base: func(passerelle.DomainID) string { return "http://bank.test" },
		MAC: func(purpose string, data []byte) []byte {
			sum := hmac.New(sha256.New, []byte(purpose))
			sum.Write(data)
			return sum.Sum(nil)
		},
	}
	all := bank.Connectors()
	i := slices.IndexFunc(all, func(c connector.Connector) bool { return c.Profile().UUID == sandbox.TestConnector })
	canceller, cancels := all[i].(connector.Canceller)
	reader, reads := all[i].(connector.DataReader)
	if !cancels || !reads {
		t.Fatal("the simulated bank cannot do everything")
	}
	return &tested{Canceller: canceller, DataReader: reader, bank: bank, ledger: ledger}
}

// Profile returns the profile with the mechanism that uses a page.
func (b *tested) Profile() connector.Profile {
	p := b.Canceller.Profile()
	p.Mechanism = passerelle.ByWebauth
	return p
}

func (b *tested) Answer(ctx context.Context, o connector.Order, a connector.Answer) (payment.Report, error) {
	responder, able := b.Canceller.(connector.Responder)
	if !able {
		return payment.Report{}, errors.New("it takes no answers")
	}
	return responder.Answer(ctx, o, a)
}

func (b *tested) Test(ctx context.Context, a remote.Act) (remote.Acted, error) {
	did := remote.Acted{Orders: b.ledger.Orders(), Values: map[string]string{"login": "jeanne", "password": customers.Password}}
	switch {
	case a.Act == remote.ActBegin || b.idle:
		return did, nil
	case a.Order.Key != "":
		button := a.Act
		if a.Report.Cancellation == payment.CancellationAwaiting {
			button = map[string]string{remote.ActApprove: "cancel", remote.ActRefuse: "keep"}[a.Act]
		}
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, a.Report.ValidateURI, strings.NewReader("decision="+button))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		if b.bank.Pages().ServeHTTP(w, r); w.Code != http.StatusSeeOther {
			return did, fmt.Errorf("%s was answered with %d", button, w.Code)
		}
	case a.Act == remote.ActApprove:
		did.Callback = url.Values{"code": {b.bank.AccessCode(a.Request.Domain, a.Request.Connection)}, "login": {"jeanne"}}
	default:
		did.Callback = url.Values{"error": {"access_denied"}}
	}
	return did, nil
}

func run(t *testing.T, h http.Handler) []connectortest.Result {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	results, err := conformance.Run(t.Context(), server.URL, secret)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func handler(t *testing.T, c connector.Connector) http.Handler {
	t.Helper()
	h, err := remote.Handler(c, secret)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestEveryRuleApplies checks that a bank with all abilities keeps every rule when its payers and
// users act through the call "test".
func TestEveryRuleApplies(t *testing.T) {
	results := run(t, handler(t, newTested(t)))
	for _, r := range results {
		if len(r.Faults) > 0 || r.Note != "" && r.Rule != "a repeated key is one order" {
			t.Errorf("%s: %q, %s; right would be: %s", r.Rule, r.Faults, r.Note, r.Right)
		}
	}
	if len(results) != 26 {
		t.Errorf("%d rules were checked", len(results))
	}
}

// TestBrokenRules checks that the report says which rule a program breaks and what the correct
// behaviour is.
func TestBrokenRules(t *testing.T) {
	for name, test := range map[string]struct {
		program func(t *testing.T) http.Handler
		rule    string
		fault   string
	}{
		"it has no call test": {
			program: func(t *testing.T) http.Handler { return without(handler(t, newTested(t)), "/v1/test") },
			rule:    "an approved order ends", fault: "the program has no call test",
		},
		"nothing is approved": {
			program: func(t *testing.T) http.Handler {
				bank := newTested(t)
				bank.idle = true
				return handler(t, bank)
			},
			rule: "an approved order ends", fault: "the payment is still validating",
		},
		"status is not there": {
			program: func(t *testing.T) http.Handler { return without(handler(t, newTested(t)), "/v1/status") },
			rule:    "a sent order is known", fault: "it has no such call (404)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			results := run(t, test.program(t))
			i := slices.IndexFunc(results, func(r connectortest.Result) bool { return r.Rule == test.rule })
			if i < 0 || results[i].Right == "" || !strings.Contains(strings.Join(results[i].Faults, " "), test.fault) {
				t.Errorf("the report has %+v", results[max(i, 0)])
			}
		})
	}
}

func without(h http.Handler, path string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			http.NotFound(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// TestRequestsOfOthers checks that the report names each kind of forged request that a program
// accepts.
func TestRequestsOfOthers(t *testing.T) {
	results := run(t, trusting(handler(t, newTested(t))))
	if r := results[0]; r.Rule != "requests of others are refused" || r.Right == "" || strings.Count(r.Faults[0], "gets 200") != 5 {
		t.Errorf("the report begins with %+v", r)
	}
}

// trusting returns a handler that responds with 200 where h responds with 401.
func trusting(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w2 := httptest.NewRecorder()
		h.ServeHTTP(w2, r)
		if w2.Code == http.StatusUnauthorized {
			return
		}
		for name, values := range w2.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(w2.Code)
		_, _ = w.Write(w2.Body.Bytes())
	})
}

func TestNoProgram(t *testing.T) {
	if results, err := conformance.Run(t.Context(), "http://127.0.0.1:1", secret); err == nil || results != nil {
		t.Errorf("the report is %+v, %v", results, err)
	}
}
