package testbank_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"passerelle/testbank/bank"
)

// TestEveryMannerOfFailing checks, for each manner, the response to an order or the order's last
// status. Orders select the manner by the creditor's name and by the amount.
func TestEveryMannerOfFailing(t *testing.T) {
	w := newFixture(t, "redirect")
	w.client("qwac").Timeout = time.Second // a call that hangs fails after this time
	for _, m := range bank.Manners() {
		t.Run(m.Word, func(t *testing.T) {
			defer w.within(t)()
			failing(w, m, order(map[string]any{"creditorName": "Fault " + m.Word}))
			failing(w, m, order(map[string]any{"instructedAmount": map[string]any{"currency": "EUR", "amount": m.Amount}}))
		})
	}
	w.right("redirect")
}

// TestEveryCodeInEveryWay checks the three ways to make the bank refuse a call with a code of the
// standard: the creditor's name, the amount, and an injected fault. It checks injected faults at
// two banks: errors of the bank `redirect` have the form of the Berlin Group, and errors of the
// bank `signed` have the form of RFC 7807.
func TestEveryCodeInEveryWay(t *testing.T) {
	w := newFixture(t, "redirect", "signed")
	ways := map[string][]string{}
	for _, m := range bank.Manners() {
		if other := ways[m.Amount]; len(other) > 0 || m.Amount == "" {
			t.Errorf("%s and %v have the amount %q", m.Word, other, m.Amount)
		}
		ways[m.Amount] = []string{m.Word}
		if m.Code != "" {
			ways[m.Code] = append(ways[m.Code], m.Amount)
		}
	}
	for _, code := range bank.Codes() {
		if len(ways[code]) != 1 {
			t.Fatalf("%s has the amounts %v", code, ways[code])
		}
		want := bank.Refuse(code, "", "").Status
		euros := map[string]any{"currency": "EUR", "amount": ways[code][0]}
		w.refused(want, code, "POST", w.address("redirect", single), order(map[string]any{"instructedAmount": euros}), present(nil))
		w.refused(want, code, "POST", w.address("redirect", single), order(map[string]any{"creditorName": "Fault " + code}), present(nil))
		for _, name := range []string{"redirect", "signed"} {
			w.steer("POST", name+"/faults", map[string]any{"call": "GET /payments", "code": code, "times": 1})
			r, err := w.try("GET", w.address(name, single+"/none/status"), nil, nil)
			if err != nil || r.status != want || r.code() != code {
				t.Errorf("%s injected at %s: %d %s, %v", code, name, r.status, r.raw, err)
			}
		}
	}
}

func failing(w *fixture, m bank.Manner, body map[string]any) {
	w.t.Helper()
	id := uuid()
	r, err := w.try("POST", w.address("redirect", single), body, present(headers{"X-Request-ID": id}))
	taken := w.ordersOf("redirect", id)
	switch {
	case m.Code != "":
		if want := bank.Refuse(m.Code, "", ""); err != nil || r.status != want.Status || r.code() != m.Code || len(taken) != 0 {
			w.t.Errorf("%d %s %v, want %d %s", r.status, r.raw, err, want.Status, m.Code)
		}
	case m.Status != 0:
		if err != nil || r.status != m.Status || len(taken) != 0 {
			w.t.Errorf("%d %v, want %d", r.status, err, m.Status)
		}
	case m.Wire != "":
		spoilt(w, m.Wire, r, err)
		if len(taken) != 1 {
			w.t.Errorf("the bank took the order %d times", len(taken))
		}
	default:
		inTheEnd(w, m, r)
	}
}

func spoilt(w *fixture, wire bank.Wire, r reply, err error) {
	w.t.Helper()
	var timeout interface{ Timeout() bool }
	late := errors.As(err, &timeout) && timeout.Timeout()
	right := map[bank.Wire]bool{
		bank.Slow: err == nil && r.status == 201, bank.Hang: late, bank.Huge: err != nil,
		bank.Lost: err != nil && !late, bank.Cut: err != nil && !late, bank.Gone: err != nil && !late,
		bank.Malformed: err == nil && r.status == 201 && r.body == nil,
		bank.Deep:      err == nil && strings.HasPrefix(string(r.raw), "[[[["),
		bank.Elsewhere: err == nil && r.status == http.StatusTemporaryRedirect,
	}[wire]
	if !right {
		w.t.Errorf("the answer is %d %.100s, %v", r.status, r.raw, err)
	}
}

func inTheEnd(w *fixture, m bank.Manner, first reply) {
	w.t.Helper()
	if m.Silent || m.Fails {
		page := first.link("scaRedirect")
		if _, err := w.client("").PostForm(page, map[string][]string{"decision": {"approve"}}); err != nil {
			w.t.Fatal(err)
		}
	} else {
		p, _ := bank.ProfileNamed("redirect")
		w.authorise(p, first, approves)
	}
	w.pass("redirect", "25h")
	status := w.call(200, "GET", first.link("status"), nil, nil)
	want, reason := m.Stays, ""
	switch {
	case m.Reason != "":
		want, reason = "RJCT", m.Reason+": "
	case m.Silent:
		want, reason = "RJCT", "NOAS: "
	case m.Fails:
		want = "RJCT"
	case m.Again:
		want = "ACSC"
	}
	if got := status.text("transactionStatus"); got != want {
		w.t.Errorf("the order is %s, want %s", got, want)
	}
	if got := status.text("tppMessages", 0, "text"); !strings.HasPrefix(got, reason) {
		w.t.Errorf("the reason is %q, want %q", got, reason)
	}
}

// TestAnotherAuthorisation checks that an order with the manner Again stays open when the customer
// refuses, and that the customer can approve in another authorisation.
func TestAnotherAuthorisation(t *testing.T) {
	w := newFixture(t, "redirect")
	first := w.call(201, "POST", w.address("redirect", single), order(map[string]any{"creditorName": "Fault again"}), present(nil))
	if back := w.browse(first.link("scaRedirect"), url.Values{"decision": {"refuse"}}); back != "https://third.example/refused" {
		t.Errorf("the customer is sent to %s", back)
	}
	at := w.address("redirect", first.link("self"))
	if got := w.call(200, "GET", at+"/status", nil, nil).text("transactionStatus"); got != "RCVD" {
		t.Errorf("refused once, the order is %s", got)
	}
	second := w.call(201, "POST", at+"/authorisations", map[string]any{}, present(nil))
	w.browse(second.link("scaRedirect"), url.Values{"decision": {"approve"}})
	w.pass("redirect", "1h")
	if got := w.call(200, "GET", at+"/status", nil, nil).text("transactionStatus"); got != "ACSC" {
		t.Errorf("approved, the order is %s", got)
	}
	w.right("redirect")
}

func (w *fixture) ordersOf(name, id string) []string {
	w.t.Helper()
	var ids []string
	all, _ := w.steer("GET", name+"/orders", nil).at("orders").([]any)
	for _, one := range all {
		if o, _ := one.(map[string]any); o["request_id"] == id {
			found, _ := o["id"].(string)
			ids = append(ids, found)
		}
	}
	return ids
}

// TestInjectedFaults checks that calls fail as the injected fault says, as often as requested.
func TestInjectedFaults(t *testing.T) {
	w := newFixture(t, "redirect")
	w.client("qwac").Timeout = time.Second
	accounts := w.address("redirect", "v1/accounts")
	use := with(w.consent("redirect", wish(nil)), headers{"PSU-IP-Address": "192.0.2.7"})
	for _, wire := range bank.Wires() {
		if wire == bank.Duplicates {
			continue
		}
		// The fault must affect several calls, because an HTTP client repeats a request by itself
		// when a connection breaks.
		w.steer("POST", "redirect/faults", map[string]any{"call": "GET /accounts", "wire": wire})
		w.call(200, "GET", w.address("redirect", "v1/card-accounts/anna-card"), nil, use)
		r, err := w.try("GET", accounts, nil, use)
		if wire == bank.Malformed || wire == bank.Slow {
			r.status = http.StatusCreated // spoilt expects the status of the response to a new order
		}
		spoilt(w, wire, r, err)
		w.steer("DELETE", "redirect/faults", nil)
		w.call(200, "GET", accounts, nil, use)
	}
	w.steer("POST", "redirect/faults", map[string]any{"call": "GET /accounts", "status": 503})
	for range 3 {
		if r := w.call(503, "GET", accounts, nil, use); r.header.Get("Retry-After") == "" {
			t.Error("a closed bank does not say when to come again")
		}
	}
	if hits := w.steer("GET", "redirect/faults", nil).at("faults", 0, "hits"); hits != 3.0 {
		t.Errorf("the fault met %v calls", hits)
	}
	w.steer("DELETE", "redirect/faults", nil)
	w.steer("POST", "redirect/faults", map[string]any{"code": "SERVICE_BLOCKED", "times": 1})
	w.refused(403, "SERVICE_BLOCKED", "GET", accounts, nil, use)
	w.steer("POST", "redirect/faults", map[string]any{"call": "GET transactions", "wire": "duplicates", "times": 1})
	statement := w.address("redirect", "v1/accounts/anna-current/transactions?bookingStatus=booked&dateFrom="+today(w))
	if got := entries(w.call(200, "GET", statement, nil, use)); len(got) != 2 {
		t.Errorf("a duplicate report has %v", got)
	}
	for _, wrong := range []map[string]any{{}, {"wire": "loud"}, {"code": "NONE"}, {"status": 200}, {"wire": "slow", "code": "FORMAT_ERROR"}} {
		w.call(400, "POST", w.program.Control+"/banks/redirect/faults", wrong, nil)
	}
}

// TestAnIdempotentBankKnowsAnOrderAgain checks that only an idempotent bank recognises a repeated
// order after a lost response.
func TestAnIdempotentBankKnowsAnOrderAgain(t *testing.T) {
	w := newFixture(t, "redirect", "idempotent")
	for name, want := range map[string]int{"redirect": 2, "idempotent": 1} {
		id := uuid()
		body := order(map[string]any{"creditorName": "Fault lost"})
		if _, err := w.try("POST", w.address(name, single), body, present(headers{"X-Request-ID": id})); err == nil {
			t.Error("the answer was not lost")
		}
		if _, err := w.try("POST", w.address(name, single), body, present(headers{"X-Request-ID": id})); (err == nil) != (name == "idempotent") {
			t.Errorf("%s answers the order that comes again with %v", name, err)
		}
		if got := w.ordersOf(name, id); len(got) != want {
			t.Errorf("%s has %d orders, want %d", name, len(got), want)
		}
	}
	id := uuid()
	first := w.call(201, "POST", w.address("idempotent", single), order(nil), present(headers{"X-Request-ID": id}))
	again := w.call(201, "POST", w.address("idempotent", single), order(nil), present(headers{"X-Request-ID": id}))
	if first.text("paymentId") != again.text("paymentId") || again.link("scaRedirect") != first.link("scaRedirect") {
		t.Errorf("the order again is %s, was %s", again.raw, first.raw)
	}
	w.refused(400, "FORMAT_ERROR", "POST", w.address("idempotent", single), order(map[string]any{"creditorName": "Other"}), present(headers{"X-Request-ID": id}))
}

func TestNotificationsAreSent(t *testing.T) {
	w := newFixture(t, "redirect")
	received := make(chan string, 10)
	address := listener(t, func(body map[string]string) { received <- body["paymentId"] + " " + body["transactionStatus"] })
	first := w.call(201, "POST", w.address("redirect", "v1/payments/instant-sepa-credit-transfers"), order(nil), present(headers{"TPP-Notification-URI": address}))
	if first.header.Get("ASPSP-Notification-Support") != "true" {
		t.Error("the bank does not say that it notifies")
	}
	w.browse(first.link("scaRedirect"), map[string][]string{"decision": {"approve"}})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	select {
	case got := <-received:
		if got != first.text("paymentId")+" ACSC" {
			t.Errorf("the third party heard %q", got)
		}
	case <-ctx.Done():
		t.Error("the third party heard nothing")
	}
}
