package testbank_test

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

func (w *fixture) inspect(address string, status int) string {
	w.t.Helper()
	answer, err := w.client("").Get(address)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status {
		w.t.Fatalf("GET %s: status %d %v, want %d", address, answer.StatusCode, err, status)
	}
	w.promised(string(raw), answer.Header)
	return string(raw)
}

var (
	tagForm   = regexp.MustCompile(`<(script|img|link|iframe|object)\b`)
	inputForm = regexp.MustCompile(`<input [^>]*>`)
)

// promised checks that the headers forbid caching and parts from other hosts, that the page has no
// scripts, and that each visible field has a label.
func (w *fixture) promised(page string, header http.Header) {
	w.t.Helper()
	policy := header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || header.Get("Cache-Control") != "no-store" {
		w.t.Errorf("the page comes with %v", header)
	}
	if tag := tagForm.FindString(page); tag != "" {
		w.t.Errorf("the page has %s", tag)
	}
	for _, needed := range []string{`<html lang="en">`, `name="viewport"`, "<main>", "<title>", "prefers-color-scheme:dark"} {
		if !strings.Contains(page, needed) {
			w.t.Errorf("the page has no %s", needed)
		}
	}
	if strings.Count(page, "<h1>") != 1 {
		w.t.Error("the page has not one first heading")
	}
	for _, at := range inputForm.FindAllStringIndex(page, -1) {
		input := page[at[0]:at[1]]
		if !strings.Contains(input, `type="hidden"`) && !strings.HasSuffix(page[:at[0]], "<label>") {
			w.t.Errorf("%s has no label", input)
		}
	}
}

func TestPagesOfARedirect(t *testing.T) {
	w := newFixture(t, "redirect")
	first := w.call(201, "POST", w.address("redirect", single), order(map[string]any{"creditorName": `<b>"Shop"`}), present(nil))
	page := first.link("scaRedirect")
	if got := w.inspect(page, 200); !strings.Contains(got, `href="?customer=anna"`) || strings.Contains(got, "12.50") {
		t.Error("somebody who has not signed in sees the order")
	}
	asked := w.inspect(page+"?customer=bert", 200)
	for _, needed := range []string{"12.50 EUR", "&lt;b&gt;&#34;Shop&#34;", "FR76 3000 6000 0112 3456 7890 189", `value="bert-current" checked`, `value="approve"`, `value="refuse"`} {
		if !strings.Contains(asked, needed) {
			t.Errorf("the page does not show %s", needed)
		}
	}
	for _, form := range []url.Values{{}, {"decision": {"perhaps"}}, {"decision": {"approve"}, "customer": {"zoe"}}, {"decision": {"approve"}, "account": {"bert-current"}}} {
		answer, err := w.client("").PostForm(page, form)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusConflict {
			t.Errorf("the form %v is answered with %d", form, answer.StatusCode)
		}
		w.promised(string(raw), answer.Header)
	}
	if back := w.browse(page, url.Values{"decision": {"approve"}, "customer": {"bert"}, "account": {"bert-current"}}); back != "https://third.example/back?state=s" {
		t.Errorf("the customer is sent to %s", back)
	}
	w.inspect(page, http.StatusGone)
	w.inspect(w.program.Opened[0].Pages+"/", 200)
	w.inspect(w.program.Opened[0].Pages+"/nowhere", http.StatusNotFound)
}

func TestALinkIsOverAfterItsTime(t *testing.T) {
	w := newFixture(t, "redirect")
	first := w.call(201, "POST", w.address("redirect", single), order(nil), present(nil))
	w.pass("redirect", "11m")
	page := first.link("scaRedirect")
	w.inspect(page, http.StatusGone)
	w.inspect(page[:len(page)-1], http.StatusGone)
	w.inspect(w.program.Opened[0].Pages+"/sca/none", http.StatusGone)
	answer, err := w.client("").PostForm(page, url.Values{"decision": {"approve"}})
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if got := w.call(200, "GET", first.link("status"), nil, nil).text("transactionStatus"); answer.StatusCode != http.StatusGone || got != "RCVD" {
		t.Errorf("a late approval is answered with %d, and the order is %s", answer.StatusCode, got)
	}
}

// TestAnApprovalThatIsIgnored checks that a customer whose approval the bank ignores sees a page
// that says to wait.
func TestAnApprovalThatIsIgnored(t *testing.T) {
	w := newFixture(t, "redirect")
	page := w.call(201, "POST", w.address("redirect", single), order(map[string]any{"creditorName": "Fault silent"}), present(nil)).link("scaRedirect")
	answer, err := w.client("").PostForm(page+"?customer=anna", url.Values{"decision": {"approve"}, "customer": {"anna"}})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if back := answer.Header.Get("Location"); answer.StatusCode != http.StatusSeeOther || !strings.Contains(w.inspect(w.program.Opened[0].Pages[:len(w.program.Opened[0].Pages)-len("/redirect")]+back, 200), "Please wait") {
		t.Errorf("after the approval: %d %s", answer.StatusCode, back)
	}
}

// TestTheApp checks that a customer can approve one question in the app and refuse another.
func TestTheApp(t *testing.T) {
	w := newFixture(t, "decoupled")
	app := w.program.Opened[0].Pages + "/app"
	w.inspect(app, 200)
	if !strings.Contains(w.inspect(app+"?customer=anna", 200), "Nothing to approve") {
		t.Error("the app of somebody who is asked nothing says something else")
	}
	payment := w.call(201, "POST", w.address("decoupled", "v1/payments/instant-sepa-credit-transfers"), order(nil), present(headers{"PSU-ID": "anna"}))
	consent := w.call(201, "POST", w.address("decoupled", "v1/consents"), wish(nil), present(headers{"PSU-ID": "anna"}))
	for _, c := range []struct{ decision string }{{"approve"}, {"refuse"}} {
		shown := w.inspect(app+"?customer=anna", 200)
		ticket := regexp.MustCompile(`name="ticket" value="([^"]+)"`).FindStringSubmatch(shown)
		w.browse(app, url.Values{"ticket": {ticket[1]}, "customer": {"anna"}, "decision": {c.decision}})
	}
	got := w.call(200, "GET", payment.link("status"), nil, nil).text("transactionStatus") + " " + w.call(200, "GET", consent.link("status"), nil, nil).text("consentStatus")
	if got != "ACSC rejected" {
		t.Errorf("the order and the consent are %s", got)
	}
	if strings.Contains(w.inspect(app+"?customer=bert", 200), "12.50") {
		t.Error("the app shows another customer's order")
	}
}

// TestNobodyIsSentToAnAddressOfAStranger checks that a wrong request for a code leads to an error
// page, not to a redirect.
func TestNobodyIsSentToAnAddressOfAStranger(t *testing.T) {
	w := newFixture(t, "oauth")
	first := w.call(201, "POST", w.address("oauth", single), order(nil), present(nil))
	right := url.Values{
		"response_type": {"code"}, "client_id": {"PSDDE-TEST-1"}, "redirect_uri": {"https://third.example/back?state=s"}, "scope": {"PIS:" + first.text("paymentId")},
		"state": {"x"}, "code_challenge": {"x"}, "code_challenge_method": {"S256"},
	}
	for name, value := range map[string]string{
		"response_type": "token", "client_id": "PSDDE-TEST-2", "redirect_uri": "https://evil.example/", "scope": "PIS:none", "code_challenge": "", "code_challenge_method": "plain",
	} {
		wrong := url.Values{}
		for key, values := range right {
			wrong[key] = values
		}
		wrong.Set(name, value)
		w.inspect(w.program.Opened[0].Pages+"/authorize?"+wrong.Encode(), http.StatusBadRequest)
	}
}
