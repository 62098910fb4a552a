package sandbox_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"passerelle/connector/sandbox"
	"passerelle/payment"
)

// TestPhone checks that the bank accepts a decision on the page that stands for an app.
func TestPhone(t *testing.T) {
	for decision, want := range map[string]payment.Status{"approve": payment.Settled, "refuse": payment.Declined} {
		t.Run(decision, func(t *testing.T) {
			bank := newBank(sandbox.NewMemoryLedger(), sandbox.Faithful)
			o, _ := using(t, bank, "decoupled")
			page := bank.Page(o.Domain, o.Key)
			expectText(t, get(t, bank, page), "Banque Exemple app", "Confirm this payment?", "stands in for", "Confirm</button>")
			if w := press(t.Context(), bank, page, decision); w.Code != http.StatusSeeOther || w.Header().Get("Location") != page {
				t.Errorf("answered with %d to %q", w.Code, w.Header().Get("Location"))
			}
			if r := ask(t, initiator(t, bank, testConnector), o, noon); r.Status != want {
				t.Errorf("the order is reported as %+v", r)
			}
		})
	}
}

func TestNothingToDecide(t *testing.T) {
	bank := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
	o, _ := using(t, bank, "otp_sms")
	page := bank.Page(o.Domain, o.Key)
	expectText(t, get(t, bank, page), "There is nothing to approve here")
	if w := press(t.Context(), bank, page, "approve"); w.Code != http.StatusConflict {
		t.Errorf("deciding all the same was answered with %d", w.Code)
	}
}

func pressed(t *testing.T, bank *sandbox.Bank, page string, form url.Values) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, page, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	bank.Pages().ServeHTTP(w, r)
	return w.Code
}

// TestAccountChoice checks that the payer's choice of an account on the page selects the script.
func TestAccountChoice(t *testing.T) {
	for number, want := range map[string]payment.ErrorCode{
		"": "", "FR7699999000010000000000018": "", "FR7699999000010000000000115": payment.InsufficientFunds,
		"FR7699999000010000000000503": "", "made up": "",
	} {
		t.Run("account "+number, func(t *testing.T) {
			bank := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
			c, o := initiator(t, bank, testConnector), newOrder(t, instruction())
			page := send(t, c, o).ValidateURI
			expectText(t, get(t, bank, page), "Account without funds", "FR76 **** 0115")
			pressed(t, bank, page, url.Values{"decision": {"approve"}, "account": {number}})
			if r := ask(t, c, o, noon); r.Code != want {
				t.Errorf("the order is reported as %+v", r)
			}
		})
	}
}

// TestStalePage checks that a stale page can decide only about the step that it showed.
func TestStalePage(t *testing.T) {
	bank := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
	c, o := initiator(t, bank, testConnector), newOrder(t, labelled("actn(redirect)/actn(redirect)/done - x"))
	page := send(t, c, o).ValidateURI
	for range 3 {
		if code := pressed(t, bank, page, url.Values{"decision": {"approve"}, "step": {"0"}}); code != http.StatusSeeOther {
			t.Errorf("approving was answered with %d", code)
		}
	}
	if r := ask(t, c, o, noon); r.Status != payment.Awaiting {
		t.Errorf("the second question was answered by the first page: %+v", r)
	}
	pressed(t, bank, page, url.Values{"decision": {"approve"}, "step": {"1"}})
	if r := ask(t, c, o, noon); r.Status != payment.Settled {
		t.Errorf("the order is reported as %+v", r)
	}
}

func read(t *testing.T, method, target string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	newBank(sandbox.NewMemoryLedger(), sandbox.CI).Shop().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, nil))
	return w
}

func TestShop(t *testing.T) {
	for query, want := range map[string][]string{
		"": {"Welcome back", "stands in for your own"},
		"?id_payment=12&payment_state=done&state=order%2042":  {"Thank you, your payment is done", "id_payment", "12", "order 42"},
		"?id_payment=1&payment_state=rejected&error_code=bug": {"Your payment was not made", "error_code", "bug"},
		"?error=cancelled":                                           {"You came back without paying", "cancelled"},
		"?error=access_denied&connection_id=12":                      {"You came back before finishing", "access_denied", "connection_id"},
		"?connection_id=12&code=psl_cod_1":                           {"Welcome back", "connection_id", "psl_cod_1"},
		"?payment_state=<script>alert(1)</script>&other=unmentioned": {"Welcome back", "&lt;script&gt;"},
		"?state=" + strings.Repeat("x", 3000):                        {strings.Repeat("x", 2000) + "<"},
	} {
		w := read(t, http.MethodGet, "/sandbox/shop/back/"+query)
		expectText(t, w, append(want, "This shop sells nothing")...)
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "unmentioned") || w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s is answered with %d: %s", query, w.Code, w.Body)
		}
	}
	if w := read(t, http.MethodPost, "/sandbox/shop/back"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("a POST is answered with %d", w.Code)
	}
}
