package webview_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
)

// several makes banks that differ in name; the first asks for more than the
// others do.
func several(n int) func(connector.Profile) []connector.Profile {
	return func(p connector.Profile) []connector.Profile {
		all := make([]connector.Profile, n)
		for i := range all {
			all[i] = p
			all[i].UUID, all[i].ID, all[i].Name, all[i].Sources = fmt.Sprintf("bank-%d", i), int64(i+1), fmt.Sprintf("Bank number %d", i), nil
		}
		settings := *p.Payments
		settings.PayerAccount = payment.PayerMandatory
		all[0].Payments = &settings
		all[0].PaymentFields = []payment.Field{
			{Name: "login", Type: "text", Label: "Customer number", Required: true},
			{Name: "kind", Type: "list", Label: "Kind of customer", Required: true, Values: []payment.FieldValue{{Label: "Private", Value: "private"}}},
			{Name: "note", Type: "text", Label: "Not needed"},
		}
		return all
	}
}

func TestBanksAreChosenFromAList(t *testing.T) {
	each(t, several(3), func(t *testing.T, s *stack) {
		page := s.open(t, s.create(t, nil).ID, nil)
		got := s.get(t, page)
		if n := strings.Count(got.body, `type="radio"`); n != 3 {
			t.Errorf("the page offers %d banks, want 3: %s", n, got.body)
		}
		if strings.Contains(got.body, "<script") || strings.Contains(got.header.Get("Content-Security-Policy"), "script-src") {
			t.Error("a short list needs no script")
		}
		if got := s.post(t, page, "same-origin", url.Values{"bank": {"bank-1"}, "terms": {"1"}}); got.location != page+"&step=onward" {
			t.Errorf("choosing a bank was answered with %d to %q", got.status, got.location)
		}
	})
}

func TestALongListCanBeSearched(t *testing.T) {
	s := start(t, storetest.SQLite(t), several(9))
	got := s.get(t, s.open(t, s.create(t, nil).ID, nil))
	if !strings.Contains(got.body, `data-filter="banks"`) || !strings.Contains(got.body, `<script type="module" src="/assets/filter.`) {
		t.Errorf("the page has no search: %s", got.body)
	}
	if !strings.Contains(got.header.Get("Content-Security-Policy"), "script-src 'self'") {
		t.Errorf("the policy refuses the search: %s", got.header.Get("Content-Security-Policy"))
	}
}

func TestWhatABankNeedsIsAskedFor(t *testing.T) {
	each(t, several(2), func(t *testing.T, s *stack) {
		page := s.open(t, s.create(t, nil).ID, nil)
		chosen := s.post(t, page, "same-origin", url.Values{"bank": {"bank-0"}})
		if chosen.location != page+"&bank=bank-0" {
			t.Fatalf("choosing a bank was answered with %d to %q", chosen.status, chosen.location)
		}
		body := s.get(t, chosen.location).body
		for _, want := range []string{"Customer number", "Kind of customer", "IBAN of the account", "Choose another bank"} {
			if !strings.Contains(body, want) {
				t.Errorf("the page lacks %q: %s", want, body)
			}
		}
		if strings.Contains(body, "Not needed") {
			t.Error("the page asks for what is not required")
		}
		complete := url.Values{
			"bank": {"bank-0"}, "complete": {"1"}, "terms": {"1"}, "holder": {"Anne <Martin>"}, "number": {"FR76 3000 6000 0112 3456 7890 189"},
			"field.login": {"12345"}, "field.kind": {"private"},
		}
		for missing, problem := range map[string]string{
			"holder": "account to pay from is missing", "number": "account to pay from is missing",
			"field.login": "Something your bank needs is missing", "field.kind": "Something your bank needs is missing",
		} {
			form := url.Values{}
			for name, values := range complete {
				form[name] = values
			}
			form.Set(missing, " ")
			got := s.post(t, page, "same-origin", form)
			if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, problem) {
				t.Errorf("without %s: answered %d: %s", missing, got.status, got.body)
			}
			if missing != "holder" && !strings.Contains(got.body, `value="Anne &lt;Martin&gt;"`) {
				t.Errorf("without %s: what was filled in is gone", missing)
			}
		}
		if got := s.post(t, page, "same-origin", complete); got.location != page+"&step=onward" {
			t.Errorf("the complete form was answered with %d to %q: %s", got.status, got.location, got.body)
		}
	})
}

func TestABankThatIsNotOfferedIsRefused(t *testing.T) {
	each(t, several(2), func(t *testing.T, s *stack) {
		page := s.open(t, s.create(t, nil).ID, nil)
		got := s.post(t, page, "same-origin", url.Values{"bank": {"bank-9"}, "complete": {"1"}})
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Choose one of the banks") {
			t.Errorf("answered %d: %s", got.status, got.body)
		}
	})
}

func TestTheBankChosenBeforeComesFirst(t *testing.T) {
	each(t, several(3), func(t *testing.T, s *stack) {
		p := s.create(t, func(d *payment.Draft) { d.Connector = "bank-2" })
		page := s.open(t, p.ID, nil)
		body := s.get(t, page).body
		if !strings.Contains(body, `type="hidden" name="bank" value="bank-2"`) || strings.Contains(body, "Bank number 1") {
			t.Errorf("the page does not hold to the bank chosen before: %s", body)
		}
		all := s.get(t, page+"&bank=any").body
		if first := strings.Index(all, "Bank number 2"); first < 0 || first > strings.Index(all, "Bank number 0") {
			t.Errorf("the list does not begin with the bank chosen before: %s", all)
		}
	})
}

func TestWithoutABankThereIsAWayBack(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p := s.create(t, func(d *payment.Draft) { d.Instructions[0].Amount.Currency = "SEK" })
		for _, c := range []struct{ supplied, want string }{
			{"https://shop.example/sorry", "/sorry"},
			{"", "/back"},
		} {
			page := s.open(t, p.ID, url.Values{"redirect_uri": {c.supplied}})
			got := s.get(t, page)
			if !strings.Contains(got.body, "No bank can make this payment") {
				t.Errorf("redirect_uri %q: %s", c.supplied, got.body)
			}
			checkBack(t, s.leave(t, page, got), c.want, p.ID, url.Values{"payment_state": {"created"}})
		}
	})
}

// leave follows the way out that a page offers: first to the service, which
// sees the payer go.
func (s *stack) leave(t *testing.T, page string, shown answer) answer {
	t.Helper()
	away := page + "&step=leave"
	if !strings.Contains(shown.body, `href="`+html.EscapeString(away)+`"`) {
		t.Errorf("the page does not lead to %s: %s", away, shown.body)
	}
	return s.get(t, away)
}

func TestOnlyTheOwnFormIsRead(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		page := s.open(t, s.create(t, nil).ID, nil)
		got := s.post(t, page, "same-origin", url.Values{"bank": {strings.Repeat("x", 100_000)}})
		if got.status != http.StatusRequestEntityTooLarge || !strings.Contains(got.body, "The form could not be read") {
			t.Errorf("answered %d: %s", got.status, got.body)
		}
		if got := s.post(t, "/webview/en/payment?payment_id=1"+number(passerelle.PaymentID(99)), "same-origin", nil); got.status != http.StatusUnauthorized {
			t.Errorf("a form without a cookie was answered with %d", got.status)
		}
	})
}

func TestTheTestBankIsAtHand(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		s.offer(t, s.simulated.Connectors()...)
		body := s.get(t, s.open(t, s.create(t, nil).ID, nil)).body
		banks := regexp.MustCompile(`name="bank" value="([^"]+)" required( checked)?`).FindAllStringSubmatch(body, -1)
		if len(banks) < 15 || banks[0][1] != sandbox.TestConnector || banks[0][2] == "" {
			t.Fatalf("the list does not begin with the test bank, chosen: %v", banks)
		}
		for _, bank := range banks[1:] {
			if bank[2] != "" {
				t.Errorf("bank %s is chosen, too", bank[1])
			}
		}
		if !strings.Contains(body, `data-filter="banks"`) || !strings.Contains(body, "at-hand") {
			t.Errorf("the list has no search, or its button is out of reach: %s", body)
		}
	})
}
