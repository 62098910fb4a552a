package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"passerelle/internal/catalogue"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

type seenPayment struct {
	ID           int64
	State        string
	ErrorCode    *string `json:"error_code"`
	Description  *string `json:"error_description"`
	Detail       *string `json:"state_detail"`
	Action       *string `json:"action"`
	ValidateURI  *string `json:"validate_uri"`
	Fields       map[string]any
	Instructions []struct {
		Reference string `json:"reference_id"`
		State     *string
		ErrorCode *string `json:"error_code"`
	}
}

// shopper pays at a bank through the API and a browser.
type shopper struct {
	*servicetest.Instance
	t       *testing.T
	banks   *banksOf
	bank    string
	token   string
	browser *http.Client
	// fields are the payer's values for the fields that the bank requires before the order.
	fields map[string]any
	forms  int
}

func newShopper(t *testing.T, s *servicetest.Instance, banks *banksOf, bank string) *shopper {
	t.Helper()
	s.OK(s.Call("POST", "/config", s.ConfigToken, map[string]any{"payment.periodic.enabled": "1"}))
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &shopper{Instance: s, t: t, banks: banks, bank: bank, token: s.Token("payments:admin"), browser: &http.Client{CheckRedirect: stay}}
}

const creditor = "FR7630006000011234567890189"

// line returns a transfer to a beneficiary with a name. The name "Fault RR04", for example, makes a
// test bank fail with the code RR04.
func line(name string, more map[string]any) map[string]any {
	all := map[string]any{
		"amount": json.Number("12.50"), "currency": "EUR", "label": "Invoice 42", "execution_date_type": "first_open_day",
		"beneficiary": map[string]any{"scheme_name": "iban", "identification": creditor, "label": name},
	}
	for key, value := range more {
		all[key] = value
	}
	return all
}

func order(lines ...map[string]any) map[string]any {
	all := make([]any, len(lines))
	for i, one := range lines {
		all[i] = one
	}
	return map[string]any{"client_redirect_uri": "https://shop.example/back", "instructions": all}
}

func inDays(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }

func (s *shopper) pay(draft map[string]any) seenPayment {
	s.t.Helper()
	id := s.Create(s.token, draft)
	body := map[string]any{"connector_uuid": s.banks.uuid(s.bank), "webview_url": "https://shop.example/pay", "validated": true}
	if s.fields != nil {
		body["fields"] = s.fields
	}
	return s.update(id, body)
}

func (s *shopper) update(id int64, body map[string]any) (p seenPayment) {
	s.t.Helper()
	s.JSON(s.OK(s.Call("POST", fmt.Sprint("/payments/", id), s.token, body)), &p)
	return p
}

func (s *shopper) payment(id int64) (p seenPayment) {
	s.t.Helper()
	s.JSON(s.OK(s.Call("GET", fmt.Sprint("/payments/", id), s.token, nil)), &p)
	return p
}

func (s *shopper) due(after string) {
	s.t.Helper()
	s.OK(s.Call("POST", "/sandbox/clock", s.ConfigToken, map[string]any{"advance": after}))
	s.OK(s.Call("POST", "/sandbox/run", s.ConfigToken, nil))
}

func (s *shopper) browse(page, decision string) {
	s.t.Helper()
	answer, err := s.browser.Get(page)
	if err != nil {
		s.t.Fatal(err)
	}
	answer.Body.Close()
	if to, err := answer.Location(); err == nil {
		page = to.String() // the authorisation server redirects to a page of the bank
	}
	back := s.follow(s.browser.PostForm(page, url.Values{"decision": {decision}, "customer": {"anna"}}))
	if to := s.follow(s.browser.Get(back)); to != "https://shop.example/pay" && !strings.HasPrefix(to, "https://shop.example/cancelled?") {
		s.t.Fatalf("the payer came back to %s", to)
	}
}

func (s *shopper) follow(answer *http.Response, err error) string {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	to := answer.Header.Get("Location")
	if to == "" {
		s.t.Fatalf("%s: %d without a way on", answer.Request.URL, answer.StatusCode)
	}
	return to
}

func (s *shopper) decideInApp(decision string) {
	s.t.Helper()
	for _, id := range s.inApp() {
		s.banks.steer("POST", s.bank+"/authorisations/"+id, map[string]any{"decision": decision}, nil)
	}
}

func (s *shopper) inApp() []string {
	s.t.Helper()
	var open struct {
		Authorisations []struct{ ID, Approach string }
	}
	s.banks.steer("GET", s.bank+"/authorisations", nil, &open)
	var all []string
	for _, one := range open.Authorisations {
		if one.Approach == "decoupled" {
			all = append(all, one.ID)
		}
	}
	return all
}

func (s *shopper) values(p seenPayment, decision string) map[string]any {
	supplied := map[string]any{"psu_id": "anna", "password": "1234", "additional_password": "5678", "method": "photo", "code": "123456"}
	if decision == "refuse" {
		supplied["code"] = "999999"
	}
	values := map[string]any{}
	for name := range p.Fields {
		values[name] = supplied[name]
	}
	s.forms++
	return values
}

func (s *shopper) act(p seenPayment, decision string) seenPayment {
	s.t.Helper()
	for range 12 {
		if p.Action == nil {
			return p
		}
		switch *p.Action {
		case "redirect":
			s.browse(*p.ValidateURI, decision)
			p = s.payment(p.ID)
		case "decoupled":
			s.decideInApp(decision)
			p = s.update(p.ID, map[string]any{"resume": true})
		case "additionalInformationNeeded":
			p = s.update(p.ID, map[string]any{"fields": s.values(p, decision)})
		case "confirm":
			p = s.update(p.ID, map[string]any{"confirm": decision == "approve"})
		}
	}
	s.t.Fatalf("the payment goes on asking: %s\n%s", inWords(p), s.Logs)
	return p
}

func (s *shopper) settle(p seenPayment) seenPayment {
	s.t.Helper()
	for range 5 {
		if slices.Contains([]string{"done", "accepted", "rejected", "partial", "expired"}, p.State) {
			return p
		}
		s.banks.steer("POST", s.bank+"/clock", map[string]any{"advance": "2h"}, nil)
		s.due("2h")
		p = s.payment(p.ID)
	}
	return p
}

func inWords(p seenPayment) string {
	text := p.State
	for _, more := range []*string{p.Detail, p.Action, p.ErrorCode, p.Description} {
		if more != nil {
			text += " " + *more
		}
	}
	return text
}

// TestPayAtABank: a payment is approved on the test bank's page and becomes final.
func TestPayAtABank(t *testing.T) {
	banks := newBanks(t, "redirect")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder}, func(t *testing.T, i *servicetest.Instance) {
		s := newShopper(t, i, banks, "redirect")
		p := s.pay(order(line("Shop", nil)))
		if p.State != "validating" || p.Action == nil || *p.Action != "redirect" {
			t.Fatalf("after validation: %s\n%s", inWords(p), s.Logs)
		}
		if p = s.settle(s.act(p, "approve")); p.State != "done" {
			t.Errorf("in the end: %s\n%s", inWords(p), s.Logs)
		}
		var calls []string
		for _, one := range regexp.MustCompile(`"bank_requests":"([a-z]+) [0-9a-f-]{36}`).FindAllStringSubmatch(s.timeline(p), -1) {
			calls = append(calls, one[1])
		}
		if want := []string{"initiate", "status", "status"}; !slices.Equal(calls, want) {
			t.Errorf("the timeline names the calls %q, want %q\n%s", calls, want, s.timeline(p))
		}
	})
}

// TestRenewedPage: after the bank's page has expired, the payer gets a new page and pays once.
func TestRenewedPage(t *testing.T) {
	names := []string{"redirect", "redirect-explicit", "confirmation"}
	banks := newBanks(t, strings.Join(names, ","))
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		i.Subscribe("PAYMENT_STATE_UPDATED", "shop")
		for _, bank := range names {
			t.Run(bank, func(t *testing.T) {
				s, since := newShopper(t, i, banks, bank), len(i.Received("shop"))
				p := s.pay(order(line("Shop", nil)))
				timeline := s.timeline(p)
				s.due("5m")
				if still := s.payment(p.ID); *still.ValidateURI != *p.ValidateURI {
					t.Error("a page that waits is renewed")
				}
				for range 2 {
					before := *s.payment(p.ID).ValidateURI
					banks.steer("POST", bank+"/clock", map[string]any{"advance": "20m"}, nil)
					s.due("20m")
					if after := s.payment(p.ID); after.State != "validating" || after.ValidateURI == nil || *after.ValidateURI == before {
						t.Fatalf("after the page has ended: %s\n%s", inWords(after), s.Logs)
					}
				}
				if got := s.states(since); got != "validating" || s.timeline(p) != timeline {
					t.Errorf("of the renewals the application is told %q, and the timeline has %s instead of %s", got, s.timeline(p), timeline)
				}
				if p = s.settle(s.act(s.payment(p.ID), "approve")); p.State != "done" || s.sent(p) != 1 {
					t.Errorf("in the end: %s\n%s", inWords(p), s.Logs)
				}
				if got := s.states(since); got != "validating pending done" {
					t.Errorf("the application is told %q", got)
				}
				s.booked("single", p)
			})
		}
	})
}

// TestApprovalOnAnEarlierPage: after the service has requested other pages, the payer can approve
// on the first page.
func TestApprovalOnAnEarlierPage(t *testing.T) {
	names := []string{"redirect", "redirect-explicit", "confirmation"}
	banks := newBanks(t, strings.Join(names, ","))
	for _, bank := range names {
		banks.with(bank, "redirect_seconds = 600", "redirect_seconds = 60")
	}
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		for _, bank := range names {
			t.Run(bank, func(t *testing.T) {
				s := newShopper(t, i, banks, bank)
				p := s.pay(order(line("Shop", map[string]any{"execution_date_type": "deferred", "execution_date": inDays(90)})))
				for range 2 {
					before := *s.payment(p.ID).ValidateURI
					s.due("2m")
					if after := s.payment(p.ID); after.ValidateURI == nil || *after.ValidateURI == before {
						t.Fatalf("no other page: %s\n%s", inWords(after), s.Logs)
					}
				}
				s.browse(*p.ValidateURI, "approve")
				if p = s.payment(p.ID); p.State != "pending" || s.sent(p) != 1 {
					t.Errorf("approved on the first page: %s\n%s", inWords(p), s.Logs)
				}
			})
		}
	})
}

// TestFailureAfterARenewal: after the first page has expired, two authorisations fail. The payer
// gets a new page each time, and pays on the last one.
func TestFailureAfterARenewal(t *testing.T) {
	names := []string{"redirect", "redirect-explicit", "confirmation"}
	banks := newBanks(t, strings.Join(names, ","))
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		for _, bank := range names {
			t.Run(bank, func(t *testing.T) {
				s := newShopper(t, i, banks, bank)
				p := s.pay(order(line("Fault again", nil)))
				seen := []string{*p.ValidateURI}
				next := func(after string) {
					t.Helper()
					banks.steer("POST", bank+"/clock", map[string]any{"advance": after}, nil)
					s.due(after)
					if p = s.payment(p.ID); p.State != "validating" || p.ValidateURI == nil || slices.Contains(seen, *p.ValidateURI) {
						t.Fatalf("no other page after %s: %s\n%s", after, inWords(p), s.Logs)
					}
					seen = append(seen, *p.ValidateURI)
				}
				next("20m")
				for range 2 {
					s.follow(s.browser.PostForm(*p.ValidateURI, url.Values{"decision": {"refuse"}, "customer": {"anna"}})) // the payer does not return
					next("8m")
				}
				s.due("9m30s")
				if again := s.payment(p.ID); *again.ValidateURI != *p.ValidateURI {
					t.Error("a page that waits is replaced")
				}
				if p = s.settle(s.act(p, "approve")); p.State != "done" || s.sent(p) != 1 {
					t.Errorf("in the end: %s\n%s", inWords(p), s.Logs)
				}
				s.booked("single", p)
				banks.right(bank)
			})
		}
	})
}

// TestFutureDatedPayments: an approved payment for a later day becomes done, accepted or expired.
// The result depends on the statuses that the bank reports and on last_status in its file.
func TestFutureDatedPayments(t *testing.T) {
	names := []string{"redirect", "redirect-explicit"}
	storetest.Each(t, func(t *testing.T, database string) {
		banks := newBanks(t, strings.Join(names, ",")) // the test advances their clocks
		banks.with("redirect-explicit", `last_status = "ACSC"`, `last_status = "ACTC"`)
		i := servicetest.Start(t, database, servicetest.Options{Banks: banks.Folder, Quiet: true})
		for _, test := range []struct{ bank, creditor, early, late, end string }{
			{"redirect", "Shop", "pending", "done", "done"},
			{"redirect-explicit", "Shop", "accepted", "accepted", "accepted"},
			{"redirect", "Fault ACTC", "pending", "pending", "expired"},
			{"redirect", "Fault ACSP", "pending", "pending", "expired"},
		} {
			t.Run(test.bank+" "+test.creditor, func(t *testing.T) {
				s := newShopper(t, i, banks, test.bank)
				var clock struct{ Now time.Time }
				banks.steer("GET", test.bank+"/clock", nil, &clock)
				day := clock.Now.AddDate(0, 0, 3).Format(time.DateOnly)
				p := s.act(s.pay(order(line(test.creditor, map[string]any{"execution_date_type": "deferred", "execution_date": day}))), "approve")
				for _, step := range []struct{ after, want string }{{"1h", test.early}, {"48h", test.early}, {"48h", test.late}, {"960h", test.end}} {
					for _, bank := range names {
						banks.steer("POST", bank+"/clock", map[string]any{"advance": step.after}, nil)
					}
					s.due(step.after)
					if p = s.payment(p.ID); step.want != "pending" {
						p = s.settle(p) // a background loop may be processing the payment
					}
					if p.State != step.want {
						t.Fatalf("%s later: %s, want %s\n%s", step.after, inWords(p), step.want, s.Logs)
					}
				}
				banks.right(test.bank)
			})
		}
	})
}

// TestABankNotifies: after a notification, the service checks the status, even if the payer does
// not return.
func TestABankNotifies(t *testing.T) {
	banks := newBanks(t, "redirect")
	banks.with("redirect", "[profile]", "[profile]\nnotifications = true")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		s := newShopper(t, i, banks, "redirect")
		p := s.pay(order(line("Shop", nil)))
		run := func() seenPayment { s.OK(s.Call("POST", "/sandbox/run", s.ConfigToken, nil)); return s.payment(p.ID) }
		if got := run(); got.State != "validating" {
			t.Fatalf("before the payer decides: %s", inWords(got))
		}
		s.follow(s.browser.PostForm(*p.ValidateURI, url.Values{"decision": {"approve"}, "customer": {"anna"}})) // the payer does not return
		got := run()
		for deadline := time.Now().Add(10 * time.Second); got.State == "validating" && time.Now().Before(deadline); got = run() {
			<-time.After(10 * time.Millisecond)
		}
		if got.State == "validating" {
			t.Errorf("after the bank has told: %s\n%s", inWords(got), s.Logs)
		}
		for _, state := range []string{"", "AAAAAAAAAAE", "wrong"} {
			if answer := s.Call("POST", "/webauth/notification?state="+state, "", nil); answer.Status != http.StatusNotFound {
				t.Errorf("a notification with the state %q: %d", state, answer.Status)
			}
		}
	})
}

var kinds = map[string]struct {
	draft func() map[string]any
	ends  string
}{
	"single": {func() map[string]any { return order(line("Shop", nil)) }, "done"},
	"bulk":   {func() map[string]any { return order(line("Shop", nil), line("Other shop", nil)) }, "done"},
	"periodic": {func() map[string]any {
		return order(line("Shop", map[string]any{"execution_date_type": "periodic", "start_date": inDays(60), "end_date": inDays(300), "frequency": "monthly"}))
	}, "accepted"},
}

// approaches lists test banks whose customers approve in different ways.
var approaches = map[string]struct {
	refused string
	forms   int
	fields  map[string]any
	// ends is the final state of approved payments. It is empty if this state depends on the kind
	// of payment.
	ends string
}{
	"redirect":           {refused: "CancelledByUser"},
	"redirect-explicit":  {refused: "CancelledByUser"},
	"oauth":              {refused: "CancelledByUser"},
	"decoupled":          {refused: "CancelledByUser", forms: 1},
	"embedded":           {refused: "authenticationFailed", forms: 3},
	"embedded-3":         {refused: "authenticationFailed", forms: 5},
	"passwords":          {refused: "authenticationFailed", forms: 4},
	"confirmation":       {refused: "CancelledByUser"},
	"oauth-confirmation": {refused: "CancelledByUser"},
	"company":            {refused: "CancelledByUser", fields: map[string]any{"psu_id": "clara", "psu_corporate_id": "CLARA-1"}, ends: "accepted"},
}

// TestPaymentsAtBanks: with each approach, each kind of payment ends as the payer decided.
func TestPaymentsAtBanks(t *testing.T) {
	banks := newBanks(t, strings.Join(slices.Sorted(maps.Keys(approaches)), ","))
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		for bank, approach := range approaches {
			t.Run(bank, func(t *testing.T) {
				s := newShopper(t, i, banks, bank)
				s.fields = approach.fields
				waiting := map[string]seenPayment{}
				for kind, of := range kinds {
					s.forms = 0
					p := s.settle(s.act(s.pay(of.draft()), "approve"))
					if p.State != cmp.Or(approach.ends, of.ends) || s.forms != approach.forms {
						t.Errorf("%s, approved: %s after %d forms", kind, inWords(p), s.forms)
					}
					s.booked(kind, p)
					p = s.act(s.pay(of.draft()), "refuse")
					if p.State != "rejected" || p.ErrorCode == nil || *p.ErrorCode != approach.refused {
						t.Errorf("%s, refused: %s", kind, inWords(p))
					}
					s.booked("none", p)
					waiting[kind] = s.pay(of.draft())
				}
				banks.steer("POST", bank+"/clock", map[string]any{"advance": "25h"}, nil)
				s.due("25h")
				for kind, p := range waiting {
					if p = s.payment(p.ID); p.State != "rejected" || p.ErrorCode == nil || *p.ErrorCode != "noAnswerFromCustomer" {
						t.Errorf("%s, never answered: %s", kind, inWords(p))
					}
					s.booked("none", p)
				}
				banks.right(bank)
				if t.Failed() {
					t.Log(s.Logs)
				}
			})
		}
	})
}

// TestUrgentPaymentsAtBanks: a bank that offers no ordinary SEPA transfers receives the order as a
// TARGET payment.
func TestUrgentPaymentsAtBanks(t *testing.T) {
	banks := newBanks(t, "urgent")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		s := newShopper(t, i, banks, "urgent")
		p := s.settle(s.act(s.pay(order(line("Shop", nil))), "approve"))
		if p.State != "done" {
			t.Errorf("the payment is %s\n%s", inWords(p), i.Logs)
		}
		s.booked("single", p)
		var out struct {
			Orders []struct {
				EndToEnd string `json:"end_to_end"`
				Product  string
			}
		}
		banks.steer("GET", "urgent/orders", nil, &out)
		for _, o := range out.Orders {
			if o.EndToEnd == p.Instructions[0].Reference && o.Product != "target-2-payments" {
				t.Errorf("the product of the order is %s", o.Product)
			}
		}
		banks.right("urgent")
	})
}

// booked checks that the bank has one order of the payment, and that the number of booked movements
// is right for the kind. For the kinds "periodic" and "none", no movement is booked.
func (s *shopper) booked(kind string, p seenPayment) {
	s.t.Helper()
	var out struct {
		Orders []struct {
			EndToEnd string `json:"end_to_end"`
			Status   string
			Booked   int
		}
	}
	s.banks.steer("GET", s.bank+"/orders", nil, &out)
	found, want := 0, map[string]int{"single": 1, "bulk": 2}[kind]
	for _, o := range out.Orders {
		if o.EndToEnd != p.Instructions[0].Reference {
			continue
		}
		if found++; o.Booked != want {
			s.t.Errorf("%s, %s: the bank has %+v", kind, inWords(p), o)
		}
	}
	if found != 1 {
		s.t.Errorf("%s, %s: the bank has %d orders of it", kind, inWords(p), found)
	}
}

func (b *banksOf) right(bank string) {
	b.t.Helper()
	var out struct {
		Right bool
		Wrong []string
	}
	b.steer("GET", bank+"/check", nil, &out)
	if !out.Right {
		b.t.Errorf("the books of %s: %v", bank, out.Wrong)
	}
}

// TestScenariosOfBanks: with each behaviour of a bank, the payment ends as docs/scenarios.md says.
func TestScenariosOfBanks(t *testing.T) {
	banks := newBanks(t, "")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		for _, scenario := range catalogue.BankScenarios {
			t.Run(scenario.Bank+" "+scenario.Creditor, func(t *testing.T) {
				s := newShopper(t, i, banks, scenario.Bank)
				draft := order(line(scenario.Creditor, nil))
				draft["payer"] = map[string]any{"scheme_name": "iban", "identification": s.iban(), "label": "Anna"}
				p := s.pay(draft)
				for range 3 {
					s.due("1m")
				}
				p = s.settle(s.act(s.payment(p.ID), "approve"))
				got := p.State
				if p.ErrorCode != nil {
					got += " " + *p.ErrorCode
				}
				if got != scenario.Result {
					t.Errorf("%s, want %s", inWords(p), scenario.Result)
				}
				banks.right(scenario.Bank)
				if sent := s.sent(p); sent > 1 {
					t.Errorf("the bank has %d orders of it", sent)
				}
				if ended := p.State == "rejected" || p.State == "expired"; ended && s.sent(p) > 0 {
					s.booked("none", p)
				}
			})
		}
	})
}

func (s *shopper) iban() string {
	s.t.Helper()
	for _, account := range s.banks.books(s.bank) {
		if strings.HasPrefix(account.Number, "DE") {
			return account.Number
		}
	}
	s.t.Fatal("Anna has no account")
	return ""
}

func (s *shopper) sent(p seenPayment) (n int) {
	s.t.Helper()
	var out struct {
		Orders []struct {
			EndToEnd string `json:"end_to_end"`
		}
	}
	s.banks.steer("GET", s.bank+"/orders", nil, &out)
	for _, o := range out.Orders {
		if o.EndToEnd == p.Instructions[0].Reference {
			n++
		}
	}
	return n
}

// TestCancellationsAtBanks: the bank cancels an approved order immediately or after the payer
// approves the cancellation.
func TestCancellationsAtBanks(t *testing.T) {
	names := []string{"redirect", "oauth", "decoupled", "embedded", "confirmation", "oauth-confirmation", "idempotent"}
	banks := newBanks(t, strings.Join(names, ","))
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		for _, bank := range names {
			t.Run(bank, func(t *testing.T) {
				s := newShopper(t, i, banks, bank)
				later := order(line("Shop", map[string]any{"execution_date_type": "deferred", "execution_date": inDays(90)}))
				for _, decision := range []string{"approve", "refuse"} {
					p := s.act(s.pay(later), "approve")
					if p.State != "pending" {
						t.Fatalf("approved: %s", inWords(p))
					}
					p = s.update(p.ID, map[string]any{"cancel": true, "client_redirect_uri": "https://shop.example/cancelled"})
					direct := bank == "idempotent"
					if cancelling := p.Detail != nil && *p.Detail == "cancelling"; cancelling == direct {
						t.Errorf("asked to cancel: %s", inWords(p))
					}
					p, want := s.act(p, decision), "rejected CancelledByClient"
					if decision == "refuse" && !direct {
						want = "pending"
					}
					if got := inWords(p); !strings.HasPrefix(got, want) {
						t.Errorf("cancelled, %s: %s, want %s", decision, got, want)
					}
				}
				banks.right(bank)
				if t.Failed() {
					t.Log(s.Logs)
				}
			})
		}
	})
}

// TestConfirmationAtABank: the bank executes no payment before the client has confirmed it.
func TestConfirmationAtABank(t *testing.T) {
	banks := newBanks(t, "confirmation,oauth-confirmation")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		for _, bank := range []string{"confirmation", "oauth-confirmation"} {
			t.Run(bank, func(t *testing.T) { confirmsAt(newShopper(t, i, banks, bank)) })
		}
	})
}

func confirmsAt(s *shopper) {
	s.t.Helper()
	s.OK(s.Call("POST", "/config", s.ConfigToken, map[string]any{"payment.auto_confirmation": "0"}))
	for confirmed, want := range map[bool]string{true: "done", false: "rejected confirmationRefused"} {
		p := s.pay(order(line("Shop", nil)))
		s.browse(*p.ValidateURI, "approve")
		if p = s.payment(p.ID); p.State != "validating" || p.Action == nil || *p.Action != "confirm" {
			s.t.Fatalf("approved: %s\n%s", inWords(p), s.Logs)
		}
		s.booked("none", p)
		p = s.settle(s.update(p.ID, map[string]any{"confirm": confirmed}))
		if got := inWords(p); !strings.HasPrefix(got, want) {
			s.t.Errorf("confirmed %t: %s, want %s\n%s", confirmed, got, want, s.Logs)
		}
		s.booked(map[bool]string{true: "single", false: "none"}[confirmed], p)
	}
}

// TestPartOfABulk: the instruction that the bank refuses is rejected. The other instructions are
// accepted after a business day without a report of their execution.
func TestPartOfABulk(t *testing.T) {
	banks := newBanks(t, "redirect")
	banks.with("redirect", `last_status = "ACSC"`, `last_status = "ACWC"`)
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		s := newShopper(t, i, banks, "redirect")
		p := s.settle(s.act(s.pay(order(line("Shop", nil), line("Fault RR04", nil), line("Other shop", nil))), "approve"))
		wantLines := func(state, others string) {
			if p.State != state || *p.Instructions[1].State != "rejected" || *p.Instructions[1].ErrorCode != "regulatoryReason" || *p.Instructions[0].State != others || *p.Instructions[2].State != others {
				t.Errorf("%s: %+v, want %s and %s\n%s", inWords(p), p.Instructions, state, others, s.Logs)
			}
		}
		wantLines("pending", "pending")
		s.due("6h")
		p = s.payment(p.ID)
		wantLines("pending", "pending")
		s.due("144h") // contains a business day even with a holiday and a weekend
		p = s.payment(p.ID)
		wantLines("partial", "accepted")
		s.booked("bulk", p)
	})
}

// TestSecondSignatory: a payment that two people must approve is pending while the bank asks the
// second person in its app. The payment ends as the second person decides.
func TestSecondSignatory(t *testing.T) {
	banks := newBanks(t, "multilevel")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		i.Subscribe("PAYMENT_STATE_UPDATED", "shop")
		for _, test := range []struct {
			kind, decision, ends string
			// states lists the states that the application receives, except the last state.
			states string
		}{
			{"single", "approve", "done", "validating pending"},
			{"bulk", "approve", "done", "validating pending"},
			{"periodic", "approve", "accepted", "validating pending"},
			{"single", "refuse", "rejected CancelledByUser", "validating pending"},
			{"single", "never", "rejected noAnswerFromCustomer", "validating pending"},
		} {
			s, since := newShopper(t, i, banks, "multilevel"), len(i.Received("shop"))
			p := s.act(s.pay(kinds[test.kind].draft()), "approve")
			if p.State != "pending" || p.Action != nil {
				t.Errorf("%s: after the first signatory: %s", test.kind, inWords(p))
			}
			s.booked("none", p)
			if s.due("2h"); test.decision != "never" {
				s.decideInApp(test.decision)
			} else {
				banks.steer("POST", "multilevel/clock", map[string]any{"advance": "25h"}, nil)
			}
			if p = s.settle(s.payment(p.ID)); !strings.HasPrefix(inWords(p), test.ends) {
				t.Errorf("%s, %s: %s, want %s\n%s", test.kind, test.decision, inWords(p), test.ends, s.Logs)
			}
			if got := s.states(since); got != test.states+" "+p.State {
				t.Errorf("%s, %s: the application is told %s", test.kind, test.decision, got)
			}
			s.booked(map[bool]string{true: test.kind, false: "none"}[test.decision == "approve"], p)
		}
		banks.right("multilevel")
	})
}

func (s *shopper) timeline(p seenPayment) string {
	s.t.Helper()
	var out struct{ Timeline json.RawMessage }
	s.JSON(s.OK(s.Call("GET", fmt.Sprintf("/payments/%d?expand=timeline", p.ID), s.token, nil)), &out)
	return string(out.Timeline)
}

func (s *shopper) states(since int) string {
	s.t.Helper()
	var all []string
	for _, one := range s.Received("shop")[since:] {
		var p seenPayment
		if err := json.Unmarshal([]byte(one.Body), &p); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, p.State)
	}
	return strings.Join(all, " ")
}

// TestLostAnswersToSteps: when the response to a step of an approval is lost, the payer continues
// or starts again, and the order is paid once.
func TestLostAnswersToSteps(t *testing.T) {
	steps := map[string]int{"embedded": 3, "embedded-3": 5, "passwords": 4, "redirect-explicit": 1, "confirmation": 1, "oauth-confirmation": 1, "decoupled": 1, "oauth": 1}
	banks := newBanks(t, strings.Join(slices.Sorted(maps.Keys(steps)), ","))
	banks.with("oauth", `"implicit"`, `"explicit"`)
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		for bank, all := range steps {
			for lost := range all {
				t.Run(fmt.Sprint(bank, " ", lost+1), func(t *testing.T) {
					s := newShopper(t, i, banks, bank)
					s.lose(bank, lost == 0)
					p := s.pay(order(line("Shop", nil)))
					for n := 1; n < 14 && p.State != "rejected"; n++ {
						s.due("1m")
						if p = s.payment(p.ID); p.State != "validating" || p.Action == nil {
							break
						}
						s.lose(bank, n == lost)
						p = s.step(p)
					}
					banks.steer("DELETE", bank+"/faults", nil, nil)
					if p = s.settle(p); p.State != "done" || s.sent(p) != 1 {
						t.Errorf("%s\n%s", inWords(p), s.Logs)
					}
					s.booked("single", p)
				})
			}
		}
	})
}

// TestLostAuthorisationIsApproved: the response to the start of an authorisation is lost, and the
// payer refuses the next authorisation in the bank's app. The order waits until the payer approves
// the first authorisation.
func TestLostAuthorisationIsApproved(t *testing.T) {
	banks := newBanks(t, "decoupled")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		s := newShopper(t, i, banks, "decoupled")
		p := s.pay(order(line("Fault again", nil)))
		s.lose("decoupled", true)
		p = s.step(p) // the payer's user name starts the authorisation
		first := s.inApp()
		s.due("1m")
		if p = s.step(s.payment(p.ID)); len(first) != 1 || p.Action == nil || *p.Action != "decoupled" {
			t.Fatalf("after the loss: %s with %d authorisations\n%s", inWords(p), len(first), s.Logs)
		}
		for _, second := range s.inApp() {
			if second != first[0] {
				banks.steer("POST", "decoupled/authorisations/"+second, map[string]any{"decision": "refuse"}, nil)
			}
		}
		s.due("1m")
		if p = s.payment(p.ID); p.State != "validating" {
			t.Errorf("refused in the second: %s\n%s", inWords(p), s.Logs)
		}
		banks.steer("POST", "decoupled/authorisations/"+first[0], map[string]any{"decision": "approve"}, nil)
		if p = s.settle(p); p.State != "done" || s.sent(p) != 1 {
			t.Errorf("approved in the first: %s\n%s", inWords(p), s.Logs)
		}
		s.booked("single", p)
	})
}

func (s *shopper) lose(bank string, next bool) {
	s.t.Helper()
	if next {
		s.banks.steer("POST", bank+"/faults", map[string]any{"call": "POST /authorisations", "wire": "lost", "times": 1}, nil)
		s.banks.steer("POST", bank+"/faults", map[string]any{"call": "PUT /authorisations", "wire": "lost", "times": 1}, nil)
	}
}

func (s *shopper) step(p seenPayment) seenPayment {
	s.t.Helper()
	switch *p.Action {
	case "redirect":
		s.browse(*p.ValidateURI, "approve")
		return s.payment(p.ID)
	case "decoupled":
		open := s.inApp() // the last authorisation of this list is the newest
		s.banks.steer("POST", s.bank+"/authorisations/"+open[len(open)-1], map[string]any{"decision": "approve"}, nil)
		return s.update(p.ID, map[string]any{"resume": true})
	}
	return s.update(p.ID, map[string]any{"fields": s.values(p, "approve")})
}

// TestPayerWaitsForTheWayToApprove: when the response to an order does not say how to approve it,
// the payer waits in the webview until a later response says how.
func TestPayerWaitsForTheWayToApprove(t *testing.T) {
	banks := newBanks(t, "redirect")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		s := newShopper(t, i, banks, "redirect")
		p := s.pay(order(line("Fault malformed", nil)))
		if p.State != "validating" || p.Action != nil {
			t.Fatalf("after validation: %s", inWords(p))
		}
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		payer := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			if r.URL.Host == "shop.example" {
				return fmt.Errorf("the payer is sent away")
			}
			return nil
		}}
		var code struct{ Token string }
		s.JSON(s.OK(s.Call("POST", fmt.Sprintf("/payments/%d/scopedtoken", p.ID), s.token, map[string]any{"scope": "payments:validate"})), &code)
		answer, err := payer.Get(s.Origin + "/webview/en/payment?" + url.Values{
			"client_id": {s.ClientID}, "code": {code.Token}, "payment_id": {fmt.Sprint(p.ID)}, "redirect_uri": {"https://shop.example/back"}, "state": {"x"},
		}.Encode())
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(body), `<p role="status" data-after=`) {
			t.Errorf("the webview answers %d with %s (%v)", answer.StatusCode, body, err)
		}
		s.due("1m")
		if p = s.payment(p.ID); p.Action == nil || *p.Action != "redirect" {
			t.Errorf("later: %s\n%s", inWords(p), s.Logs)
		}
	})
}

// TestDisturbedBankIsMarkedForPayers: the list of banks marks a failing bank, and no other bank.
func TestDisturbedBankIsMarkedForPayers(t *testing.T) {
	banks := newBanks(t, "redirect,oauth")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		s := newShopper(t, i, banks, "redirect")
		banks.steer("POST", "redirect/faults", map[string]any{"status": 503, "times": 5}, nil)
		for range 5 {
			s.pay(order(line("Shop", nil)))
		}
		var code struct{ Token string }
		id := s.Create(s.token, order(line("Shop", nil)))
		s.JSON(s.OK(s.Call("POST", fmt.Sprintf("/payments/%d/scopedtoken", id), s.token, map[string]any{"scope": "payments:validate"})), &code)
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		payer := &customer{Instance: s.Instance, t: t, browser: &http.Client{Jar: jar}}
		pages := s.Origin + "/webview/en/payment?"
		payer.page(pages + url.Values{"client_id": {s.ClientID}, "code": {code.Token}, "payment_id": {fmt.Sprint(id)}}.Encode())
		const mark = " <small>not working well at the moment</small>"
		if page := payer.page(pages + url.Values{"payment_id": {fmt.Sprint(id)}, "search": {"Berlin"}, "country": {"any"}}.Encode()); !strings.Contains(page, "redirect)"+mark) || !strings.Contains(page, "oauth)</span>") {
			t.Errorf("the list of banks is %s", page)
		}
	})
}

var appearances = []struct {
	name, scheme  string
	width, height int64
}{{"light", "light", 1280, 800}, {"dark", "dark", 1280, 800}, {"phone", "light", 390, 844}}

// TestCodesInABrowser: a payer chooses in the webview how to receive codes, and pays.
func TestCodesInABrowser(t *testing.T) {
	banks := newBanks(t, "embedded-3")
	i := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{Banks: banks.Folder})
	for _, as := range appearances {
		t.Run(as.name, func(t *testing.T) {
			s := newShopper(t, i, banks, "embedded-3")
			draft := order(line("Shop", nil))
			draft["client_redirect_uri"] = i.Origin + "/sandbox/shop/back"
			p := s.update(s.Create(s.token, draft), map[string]any{"connector_uuid": banks.uuid("embedded-3"), "webview_url": i.Origin + "/sandbox/shop", "validated": true})
			var code struct{ Token string }
			s.JSON(s.OK(s.Call("POST", fmt.Sprintf("/payments/%d/scopedtoken", p.ID), s.token, map[string]any{"scope": "payments:validate"})), &code)
			browser := servicetest.Browser(t, as.width, as.height)
			servicetest.Scheme(browser, t, as.scheme)
			do := func(actions ...chromedp.Action[chromedp.Void]) {
				t.Helper()
				if err := chromedp.Do(browser, actions...); err != nil {
					t.Fatal(err)
				}
			}
			do(servicetest.Navigate(i.Origin + "/webview/en/payment?" + url.Values{"client_id": {i.ClientID}, "code": {code.Token}, "payment_id": {fmt.Sprint(p.ID)}}.Encode()))
			asked, pictures := 0, 0
			for ; asked < 9 && s.payment(p.ID).State == "validating"; asked++ {
				do(servicetest.Shown(fieldsForm))
				servicetest.Picture(browser, t, fmt.Sprintf("code-%s-%d", as.name, asked))
				shown, err := chromedp.Run(browser, chromedp.Evaluate[int](fillIn))
				if err != nil {
					t.Fatal(err)
				}
				pictures += shown
				problems, err := chromedp.Run(browser, chromedp.Evaluate[int](`document.querySelectorAll("[aria-invalid=true], .problem, #problem").length`))
				if err != nil || problems > 0 {
					t.Errorf("form %d shows %d problems, %v", asked, problems, err)
				}
				do(servicetest.Follow(fieldsForm + ` button`))
			}
			if state := s.settle(s.payment(p.ID)).State; state != "done" || asked != 5 || pictures != 2 {
				t.Errorf("the payment is %s after %d forms with %d pictures", state, asked, pictures)
			}
		})
	}
}

const (
	fieldsForm = `form:has([name^="field."])`
	// fillIn fills in a form, and counts the pictures that fit into the browser's window.
	fillIn = `(() => {
		for (const [name, value] of Object.entries({psu_id: "anna", password: "1234", method: "photo", code: "123456"}))
			for (const e of document.getElementsByName("field." + name))
				if (e.type !== "radio") e.value = value; else if (e.value === value) e.checked = true;
		return [...document.querySelectorAll(".picture img")].filter(i => i.complete && i.naturalWidth > 100 && i.getBoundingClientRect().right <= innerWidth).length;
	})()`
)
