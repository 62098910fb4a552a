package sandbox_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/payment"
)

func opened(t *testing.T, lines ...payment.Instruction) (*sandbox.Bank, string) {
	t.Helper()
	bank := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
	return bank, send(t, initiator(t, bank, testConnector), newOrder(t, lines...)).ValidateURI
}

func TestPageShowsTheOrder(t *testing.T) {
	toIBAN := func(in *payment.Instruction) {
		in.Beneficiary = passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7699999000000000000000033", Label: "Marché d'Été"}
	}
	second := func(in *payment.Instruction) {
		in.Amount.Minor, in.Label, in.Beneficiary.Label = 99999999999, "Rent", "The Landlord"
	}
	for _, test := range []struct {
		name  string
		lines []payment.Instruction
		want  []string
	}{
		{"sort code", []payment.Instruction{instruction()}, []string{"£12.50", "The Shop", "00-00-00 5577 9911", "Order 1", "Immediately"}},
		{"IBAN", []payment.Instruction{instruction(toIBAN)}, []string{"Marché d&#39;Été", "FR76 9999 9000 0000 0000 0000 033"}},
		{"next banking day", []payment.Instruction{instruction(dated(payment.FirstOpenDay))}, []string{"On the next banking day"}},
		{"deferred", []payment.Instruction{instruction(dated(payment.Deferred))}, []string{"On 24/11/2026"}},
		{"periodic", []payment.Instruction{instruction(dated(payment.Periodic))}, []string{"Every month, from 24/11/2026 to 24/01/2027"}},
		{"bulk", []payment.Instruction{instruction(), instruction(second)}, []string{
			"£1,000,000,012.49", "2 beneficiaries", "£12.50", "£999,999,999.99", "The Shop", "The Landlord", "Rent",
		}},
		{"always", []payment.Instruction{instruction()}, []string{
			`lang="en"`, "Banque Exemple", "No real money", "21/11/2026, 12:00 UTC", `<form method="post">`, "Approve</button>", "Refuse</button>", "SBX-",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			bank, page := opened(t, test.lines...)
			w := get(t, bank, page)
			if w.Code != http.StatusOK {
				t.Fatalf("the page answered %d", w.Code)
			}
			expectText(t, w, test.want...)
		})
	}
}

func expectText(t *testing.T, w *httptest.ResponseRecorder, wanted ...string) {
	t.Helper()
	for _, text := range wanted {
		if !strings.Contains(w.Body.String(), text) {
			t.Errorf("the page lacks %q:\n%s", text, w.Body)
		}
	}
}

func TestPageEscapes(t *testing.T) {
	hostile := `"><script>alert(1)</script><style>*{}</style>{{.}}`
	bank, page := opened(t, instruction(func(in *payment.Instruction) { in.Label, in.Beneficiary.Label = hostile, hostile }))
	body := get(t, bank, page).Body.String()
	for _, tag := range []string{"<script", "<style>*"} {
		if strings.Contains(body, tag) {
			t.Errorf("the page carries a label's %s:\n%s", tag, body)
		}
	}
	if n := strings.Count(body, "&lt;script&gt;alert(1)&lt;/script&gt;"); n != 2 {
		t.Errorf("the labels are shown %d times, not twice:\n%s", n, body)
	}
}

// TestHeaders checks that the pages have the same security headers before and after a decision, and
// for an unknown id.
func TestHeaders(t *testing.T) {
	bank, page := opened(t, instruction())
	shown := get(t, bank, page)
	_, style, _ := strings.Cut(shown.Body.String(), "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; " +
		"form-action 'self' http: https:; base-uri 'none'; frame-ancestors 'none'"
	for name, w := range map[string]*httptest.ResponseRecorder{
		"open": shown, "unknown": get(t, bank, page+"A"), "undecided": press(t.Context(), bank, page, "perhaps"),
		"approved": press(t.Context(), bank, page, "approve"), "too late": press(t.Context(), bank, page, "refuse"),
	} {
		for header, want := range map[string]string{
			"Content-Security-Policy": policy, "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store",
			"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
		} {
			if got := w.Header().Get(header); got != want {
				t.Errorf("%s: %s is %q, want %q", name, header, got, want)
			}
		}
	}
}

// TestLoadedPagesApprove checks that clients can approve an order with a plain request for validate_uri,
// in the use cases that promise it and in no other.
func TestLoadedPagesApprove(t *testing.T) {
	const approval = "?authFactorValue=AUTHENTICATION_VALIDATED"
	for useCase, approves := range map[string]bool{"redirect": true, "redirect_no_confirmation": true, "legacy": false, "": false} {
		t.Run(useCase, func(t *testing.T) {
			bank := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
			o, asked := using(t, bank, useCase)
			page, loaded := strings.CutSuffix(asked.ValidateURI, approval)
			if loaded != approves || asked.Action != payment.Redirect {
				t.Errorf("Initiate = %+v", asked)
			}
			head := httptest.NewRecorder()
			bank.Pages().ServeHTTP(head, httptest.NewRequestWithContext(t.Context(), http.MethodHead, page+approval, nil))
			expectText(t, get(t, bank, page), "Approve</button>", "Refuse</button>")
			if r := ask(t, initiator(t, bank, testConnector), o, noon); r.Status != payment.Awaiting {
				t.Errorf("approved too early: %+v", r)
			}
			want := http.StatusOK
			if approves {
				want = http.StatusSeeOther
			}
			for range 2 {
				if w := get(t, bank, page+approval); w.Code != want || approves && w.Header().Get("Location") != returnURL {
					t.Errorf("the request was answered with %d to %q", w.Code, w.Header().Get("Location"))
				}
			}
			if r := ask(t, initiator(t, bank, testConnector), o, noon); (r.Status == payment.Settled) != approves {
				t.Errorf("after the request: %+v", r)
			}
		})
	}
}

// A payer who sees the page without the query can refuse. A later request with it shows the refusal.
func TestLoadedPageAfterARefusal(t *testing.T) {
	bank := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
	o, asked := using(t, bank, "redirect")
	page, _, _ := strings.Cut(asked.ValidateURI, "?")
	mustPress(t, bank, page, "refuse")
	w := get(t, bank, asked.ValidateURI)
	if w.Code != http.StatusConflict {
		t.Errorf("the request was answered with %d", w.Code)
	}
	expectText(t, w, "You refused this payment")
	if r := ask(t, initiator(t, bank, testConnector), o, noon); r.Code != payment.CancelledByUser {
		t.Errorf("after the refusal: %+v", r)
	}
}

// TestFirstDecisionCounts checks that the page refuses a different decision after the first
// decision.
func TestFirstDecisionCounts(t *testing.T) {
	for _, test := range []struct {
		first, second string
		code          int
		title         string
	}{
		{"approve", "approve", http.StatusSeeOther, "You approved this payment"},
		{"approve", "refuse", http.StatusConflict, "You approved this payment"},
		{"refuse", "approve", http.StatusConflict, "You refused this payment"},
		{"refuse", "refuse", http.StatusSeeOther, "You refused this payment"},
	} {
		t.Run(test.first+" then "+test.second, func(t *testing.T) {
			bank, page := opened(t, instruction())
			mustPress(t, bank, page, test.first)
			again := press(t.Context(), bank, page, test.second)
			if again.Code != test.code {
				t.Errorf("the second decision was answered with %d, not %d", again.Code, test.code)
			}
			if test.code == http.StatusConflict {
				expectText(t, again, test.title)
			}
			shown := get(t, bank, page)
			expectText(t, shown, test.title, `<a href="`+returnURL+`">`)
			if strings.Contains(shown.Body.String(), "<form") {
				t.Error("a decided order can be decided again")
			}
		})
	}
}

// TestDecisionsAtOnce presses both buttons several times at the same time. It checks that all
// accepted presses are for the same decision.
func TestDecisionsAtOnce(t *testing.T) {
	bank, page := opened(t, instruction())
	var mu sync.Mutex
	sentBack := map[string]int{}
	var people sync.WaitGroup
	for n := range 20 {
		people.Go(func() {
			decision := []string{"approve", "refuse"}[n%2]
			if press(t.Context(), bank, page, decision).Code == http.StatusSeeOther {
				mu.Lock()
				defer mu.Unlock()
				sentBack[decision]++
			}
		})
	}
	people.Wait()
	if len(sentBack) != 1 {
		t.Errorf("sent back: %v; want all of one decision", sentBack)
	}
}

func TestNoSuchPage(t *testing.T) {
	bank, page := opened(t, instruction())
	other := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
	for name, w := range map[string]*httptest.ResponseRecorder{
		"root":                    get(t, bank, "/sandbox/bank/"),
		"made up":                 get(t, bank, "/sandbox/bank/abc"),
		"longer":                  get(t, bank, page+"A"),
		"shorter":                 get(t, bank, page[:len(page)-1]),
		"altered":                 get(t, bank, swapped(page)),
		"below":                   get(t, bank, page+"/x"),
		"below nothing":           get(t, bank, "/sandbox/bank//"),
		"not the shortest way":    get(t, bank, "/sandbox/bank/./abc"),
		"much too long":           get(t, bank, page+strings.Repeat("A", 5000)),
		"decision on a made up":   press(t.Context(), bank, "/sandbox/bank/abc", "approve"),
		"of a bank without it":    get(t, other, page),
		"decision on one without": press(t.Context(), other, page, "approve"),
	} {
		if w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", name, w.Code)
		}
		expectText(t, w, "This page does not exist")
	}
}

func TestMethodsOfPages(t *testing.T) {
	bank, page := opened(t, instruction())
	for _, test := range []struct {
		handler     http.Handler
		path, allow string
	}{{bank.Pages(), page, "GET, HEAD, POST"}, {bank.Shop(), "/sandbox/shop/back", "GET, HEAD"}} {
		for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodOptions} {
			w := httptest.NewRecorder()
			test.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, test.path, nil))
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != test.allow {
				t.Errorf("%s %s is answered with %d, allowed are %q", method, test.path, w.Code, w.Header().Get("Allow"))
			}
			expectText(t, w, "This page accepts no input")
		}
	}
}

// swapped changes the beginning of a page id, which contains the domain.
func swapped(page string) string {
	const path = "/sandbox/bank/"
	before, id, _ := strings.Cut(page, path)
	return before + path + "B" + id[1:]
}

func TestBadDecisions(t *testing.T) {
	bank, page := opened(t, instruction())
	for _, decision := range []string{"", "perhaps", "approved", strings.Repeat("approve", 1000)} {
		if w := press(t.Context(), bank, page, decision); w.Code != http.StatusBadRequest {
			t.Errorf("%.20q was answered with %d", decision, w.Code)
		}
	}
	unread := httptest.NewRecorder()
	bank.Pages().ServeHTTP(unread, httptest.NewRequestWithContext(t.Context(), http.MethodPost, page+"?decision=approve", nil))
	if unread.Code != http.StatusBadRequest {
		t.Errorf("a decision in the address was answered with %d", unread.Code)
	}
	expectText(t, get(t, bank, page), "Approve this payment?")
}

func TestPageOfALargeBulk(t *testing.T) {
	lines := make([]payment.Instruction, payment.MaxInstructions)
	for i := range lines {
		lines[i] = instruction(func(in *payment.Instruction) { in.Label = fmt.Sprintf("Line %d.", i+1) })
	}
	bank, page := opened(t, lines...)
	expectText(t, get(t, bank, page), "£12,500.00", "1000 beneficiaries", "Line 1.", "Line 1000.")
}
