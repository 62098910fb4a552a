package webview_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
)

func TestThePageSaysWhatIsPaid(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		page := s.open(t, s.create(t, nil).ID, nil)
		paid := map[string][]string{
			"en": {"€1,234.56", "Maison Dupont SARL", "FR76 3000 6000 0112 3456 7890 189", "Order 1234", "Immediately", "Requested by Maison Dupont", "no money moves"},
			"fr": {"1\u202f234,56\u00a0€", "Tout de suite", "Demandé par Maison Dupont"},
			"de": {"1.234,56\u00a0€", "Sofort", "Angefordert von Maison Dupont"},
			"es": {"1234,56\u00a0€", "Ahora mismo", "Solicitado por Maison Dupont"},
			"it": {"1234,56\u00a0€", "Subito", "Richiesto da Maison Dupont"},
			"nl": {"€\u00a01.234,56", "Meteen", "Gevraagd door Maison Dupont"},
			"pt": {"1234,56\u00a0€", "De imediato", "Pedido por Maison Dupont"},
		}
		wantAllLanguages(t, paid)
		for lang, want := range paid {
			got := s.get(t, strings.Replace(page, "/en/", "/"+lang+"/", 1))
			for _, text := range append(want, `<html lang="`+lang+`">`) {
				if !strings.Contains(got.body, text) {
					t.Errorf("%s: the page lacks %q: %s", lang, text, got.body)
				}
			}
		}
	})
}

func TestAmountsAndDaysInWords(t *testing.T) {
	s := start(t, storetest.SQLite(t), generous)
	soon := passerelle.DateOf(time.Now(), time.UTC).AddMonths(2)
	day := soon.In(time.UTC).Format("2 January 2006")
	for _, c := range []struct {
		name   string
		change func(*payment.Draft)
		want   []string
	}{
		{"pounds", pay(passerelle.Money{Minor: 5, Currency: "GBP"}), []string{"£0.05"}},
		{"yen", pay(passerelle.Money{Minor: 1234567, Currency: "JPY"}), []string{"¥1,234,567"}},
		{"dinars", pay(passerelle.Money{Minor: 1234567, Currency: "BHD"}), []string{"BHD\u00a01,234.567"}},
		{"sort code", func(d *payment.Draft) {
			d.Instructions[0].Beneficiary = passerelle.Account{Scheme: passerelle.SortCode, Identification: "20000055779911", Label: "Shop"}
		}, []string{"20-00-00 55779911"}},
		{"next day", func(d *payment.Draft) { d.Instructions[0].DateType = payment.FirstOpenDay }, []string{"On the next banking day"}},
		{"on a day", func(d *payment.Draft) {
			d.Instructions[0].DateType, d.Instructions[0].ExecutionDate = payment.Deferred, soon
		}, []string{"On " + day}},
		{"payer known", func(d *payment.Draft) {
			d.Payer = &passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7630006000011234567890189", Label: "Anne"}
		}, []string{"FR76 **** 0189"}},
		{"bulk", func(d *payment.Draft) { d.Instructions = append(d.Instructions, d.Instructions[0]) }, []string{"€2,469.12", "2 beneficiaries"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := html.UnescapeString(s.get(t, s.open(t, s.create(t, c.change).ID, nil)).body)
			for _, text := range c.want {
				if !strings.Contains(body, text) {
					t.Errorf("the page lacks %q: %s", text, body)
				}
			}
		})
	}
}

// Dates follow the rules of each language.
func TestDaysInEveryLanguage(t *testing.T) {
	s := start(t, storetest.SQLite(t), generous)
	year := time.Now().Year() + 1
	march := passerelle.DateOf(time.Date(year, time.March, 1, 0, 0, 0, 0, time.UTC), time.UTC)
	for _, c := range []struct {
		day   passerelle.Date
		words map[string]string
	}{
		{march, map[string]string{
			"en": "On 1 March %d", "fr": "Le 1er mars %d", "de": "Am 1. März %d", "es": "El 1 de marzo de %d", "it": "In data 1º marzo %d",
			"nl": "Op 1 maart %d", "pt": "Em 1 de março de %d",
		}},
		{march.AddDays(20), map[string]string{
			"en": "On 21 March %d", "fr": "Le 21 mars %d", "de": "Am 21. März %d", "es": "El 21 de marzo de %d", "it": "In data 21 marzo %d",
			"nl": "Op 21 maart %d", "pt": "Em 21 de março de %d",
		}},
	} {
		page := s.open(t, s.create(t, func(d *payment.Draft) {
			d.Instructions[0].DateType, d.Instructions[0].ExecutionDate = payment.Deferred, c.day
		}).ID, nil)
		wantAllLanguages(t, c.words)
		for lang, text := range c.words {
			got := html.UnescapeString(s.get(t, strings.Replace(page, "/en/", "/"+lang+"/", 1)).body)
			if want := fmt.Sprintf(text, year); !strings.Contains(got, want) {
				t.Errorf("%s: the page lacks %q: %s", lang, want, got)
			}
		}
	}
}

func pay(m passerelle.Money) func(*payment.Draft) {
	return func(d *payment.Draft) { d.Instructions[0].Amount = m }
}

func generous(p connector.Profile) []connector.Profile {
	settings := *p.Payments
	settings.Currencies = []passerelle.Currency{"EUR", "GBP", "JPY", "BHD"}
	p.Payments = &settings
	return []connector.Profile{p}
}

func TestHostileTextIsOnlyText(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		const hostile = `<script>alert(1)</script>"><img src=x onerror=1>`
		p := s.create(t, func(d *payment.Draft) {
			d.Instructions[0].Label, d.Instructions[0].Beneficiary.Label = hostile, hostile
		})
		body := s.get(t, s.open(t, p.ID, nil)).body
		if strings.Contains(body, "<script") || strings.Contains(body, "<img") {
			t.Errorf("what a client wrote became part of the page: %s", body)
		}
		if strings.Count(html.UnescapeString(body), hostile) < 2 {
			t.Errorf("what a client wrote is not shown: %s", body)
		}
	})
}

func TestRootPageShowsNoPayment(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		for _, root := range []string{"/webview", "/webview/", "/2.0/auth/webview/"} {
			got := s.get(t, root)
			if got.status != http.StatusOK || !strings.Contains(got.body, "Pages for paying and connecting") {
				t.Errorf("%s answers %d: %s", root, got.status, got.body)
			}
		}
	})
}

func TestHeadersOfPages(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		got := s.get(t, s.open(t, s.create(t, nil).ID, nil))
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"X-Frame-Options": "DENY", "Content-Type": "text/html; charset=utf-8",
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self' data:; " +
				"form-action 'self' https://shop.example; frame-ancestors 'none'; base-uri 'none'",
		} {
			if got.header.Get(name) != want {
				t.Errorf("%s is %q, want %q", name, got.header.Get(name), want)
			}
		}
		for _, inline := range []string{"<style", "style=", "onclick", "javascript:"} {
			if strings.Contains(got.body, inline) {
				t.Errorf("the page has %s, which the policy refuses", inline)
			}
		}
	})
}

func TestEveryStateHasItsPage(t *testing.T) {
	refused := payment.Report{Status: payment.Declined, Code: payment.InsufficientFunds}
	line := func(state payment.InstructionState) []payment.Line { return []payment.Line{{State: state}} }
	for _, c := range []struct {
		name    string
		reports []payment.Report
		// When c.page is empty, the service redirects the payer to the client. c.at is the path of
		// that redirect, and c.state and c.code are in its query.
		page            string
		at, state, code string
	}{
		{name: "created", page: "Check your payment"},
		{name: "redirect", reports: ask(payment.Redirect), page: "Go to your bank"},
		{name: "decoupled", reports: ask(payment.Decoupled), page: "Approve in your banking app"},
		{name: "fields", reports: ask(payment.FillFields), page: "Your bank needs more information"},
		{name: "psu validation", reports: ask(payment.PSUValidation), page: "Yes, pay"},
		{name: "confirm", reports: ask(payment.Confirm), at: "/back", state: "validating"},
		{name: "pending", reports: []payment.Report{{Status: payment.Processing}}, at: "/back", state: "pending"},
		{name: "done", reports: []payment.Report{{Status: payment.Settled}}, at: "/back", state: "done"},
		{name: "accepted", reports: []payment.Report{{Status: payment.Settled, Lines: line(payment.InstructionAccepted)}}, at: "/back", state: "accepted"},
		{name: "rejected", reports: []payment.Report{refused}, at: "/sorry", state: "rejected", code: "insufficientFunds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, nil, func(t *testing.T, s *stack) {
				p := s.create(t, nil)
				page := s.open(t, p.ID, url.Values{"redirect_uri": {"https://shop.example/sorry"}, "state": {"other"}})
				s.report(t, p, c.reports...)
				for range 2 {
					got := s.get(t, page)
					if c.page != "" && (got.status != http.StatusOK || !strings.Contains(got.body, c.page)) {
						t.Errorf("answered %d, want a page with %q: %s", got.status, c.page, got.body)
					}
					if c.page == "" {
						checkBack(t, got, c.at, p.ID, url.Values{"payment_state": {c.state}, "error_code": {c.code}})
					}
				}
			})
		})
	}
}

func ask(action payment.Action) []payment.Report {
	return []payment.Report{{Status: payment.Awaiting, Action: action, ValidateURI: "https://bank.example/approve?id=1&x=2"}}
}

func TestPartialAndExpiredGoBack(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		bulk := s.create(t, func(d *payment.Draft) { d.Instructions = append(d.Instructions, d.Instructions[0]) })
		page := s.open(t, bulk.ID, nil)
		s.report(t, bulk, payment.Report{Status: payment.Settled, Lines: []payment.Line{
			{Position: 0, State: payment.InstructionDone}, {Position: 1, State: payment.InstructionRejected, Code: payment.InvalidBeneficiary},
		}})
		checkBack(t, s.get(t, page), "/back", bulk.ID, url.Values{"payment_state": {"partial"}})
		late := s.create(t, nil)
		page = s.open(t, late.ID, url.Values{"redirect_uri": {"https://shop.example/sorry"}})
		steps, err := late.Expire(time.Now())
		must(t, err)
		s.keep(t, late, steps)
		checkBack(t, s.get(t, page), "/sorry", late.ID, url.Values{"payment_state": {"expired"}})
	})
}

func checkBack(t *testing.T, got answer, path string, id passerelle.PaymentID, reported url.Values) {
	t.Helper()
	want := url.Values{"id_payment": {number(id)}, "state": {"a&b=ü"}}
	for name := range reported {
		if value := reported.Get(name); value != "" {
			want.Set(name, value)
		}
	}
	if location := "https://shop.example" + path + "?" + want.Encode(); got.status != http.StatusSeeOther || got.location != location {
		t.Errorf("answered %d to %q, want 303 to %q: %s", got.status, got.location, location, got.body)
	}
}

func TestPayerReturnsFromTheBankWithTheOutcome(t *testing.T) {
	for decision, end := range map[string]url.Values{
		"approve": {"payment_state": {"done"}},
		"refuse": {
			"payment_state": {"rejected"}, "error": {"cancelled"}, "error_code": {"CancelledByUser"},
			"bank_message": {"The payer refused the payment at the bank."},
		},
	} {
		t.Run(decision, func(t *testing.T) {
			each(t, nil, func(t *testing.T, s *stack) {
				p := s.create(t, nil)
				page := s.open(t, p.ID, nil)
				ordered := s.post(t, page, "same-origin", s.form(t, page))
				if ordered.status != http.StatusSeeOther || ordered.location != page+"&step=onward" {
					t.Fatalf("ordering was answered with %d to %q: %s", ordered.status, ordered.location, ordered.body)
				}
				bankPage := s.onward(t, ordered.location)
				if again := s.get(t, page); again.header.Get("Refresh") != "" || !strings.Contains(again.body, `href="`+bankPage+`"`) {
					t.Errorf("who comes back undecided is sent away, or finds no way on: %v %s", again.header, again.body)
				}
				back := s.post(t, bankPage, "same-origin", url.Values{"decision": {decision}})
				callback := s.get(t, back.location)
				if callback.status != http.StatusSeeOther || callback.location != s.origin+page {
					t.Fatalf("the callback sent the payer with %d to %q, want %q", callback.status, callback.location, s.origin+page)
				}
				must(t, s.settle(t))
				checkBack(t, s.get(t, callback.location), "/back", p.ID, end)
			})
		})
	}
}

func (s *stack) settle(t *testing.T) error {
	t.Helper()
	_, err := s.RunDue(t.Context(), s.domain)
	return err
}

// onward returns the address to which a page redirects the payer without a click.
func (s *stack) onward(t *testing.T, address string) string {
	t.Helper()
	got := s.get(t, address)
	target, ok := strings.CutPrefix(got.header.Get("Refresh"), "0; url=")
	if !ok {
		t.Fatalf("the page does not lead on: %d %v %s", got.status, got.header, got.body)
	}
	return target
}

var hiddenValue = regexp.MustCompile(`name="bank" value="([^"]+)"`)

func (s *stack) form(t *testing.T, page string) url.Values {
	t.Helper()
	found := hiddenValue.FindStringSubmatch(s.get(t, page).body)
	if found == nil {
		t.Fatal("the page has no bank to choose")
	}
	return url.Values{"bank": {found[1]}, "terms": {"1"}}
}

func TestFormsOfOtherSitesOrderNothing(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p := s.create(t, nil)
		page := s.open(t, p.ID, nil)
		form := s.form(t, page)
		for _, site := range []string{"cross-site", "same-site"} {
			if got := s.post(t, page, site, form); got.status != http.StatusForbidden {
				t.Errorf("a form of a %s page was answered with %d", site, got.status)
			}
		}
		other := s.create(t, nil)
		otherPage := s.open(t, other.ID, nil)
		for _, token := range []string{"", "x", s.token(t, otherPage), s.token(t, page) + "x"} {
			form.Set("csrf", token)
			if got := s.post(t, page, "same-origin", form); got.status != http.StatusForbidden {
				t.Errorf("a form that bears %q was answered with %d", token, got.status)
			}
		}
		if got := s.get(t, page); !strings.Contains(got.body, "Check your payment") {
			t.Error("a form of another site ordered the payment")
		}
	})
}

// These pages send no referrer, so a browser may send a form with `Origin: null` and without
// Sec-Fetch-Site. The token in the form then decides.
func TestFormsWithoutOriginNeedTheToken(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		page := s.open(t, s.create(t, nil).ID, nil)
		form := s.form(t, page)
		send := func(token string) answer {
			form.Set("csrf", token)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.absolute(page), strings.NewReader(form.Encode()))
			must(t, err)
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			request.Header.Set("Origin", "null")
			return s.do(t, request)
		}
		token := s.token(t, page)
		if got := send(token[1:]); got.status != http.StatusForbidden {
			t.Errorf("a form that bears something else was answered with %d", got.status)
		}
		if got := send(token); got.location != page+"&step=onward" {
			t.Errorf("the form of the page was answered with %d to %q", got.status, got.location)
		}
	})
}

// silent is a bank that never responds to an order.
type silent struct{ bank }

func (silent) Initiate(context.Context, connector.Order) (payment.Report, error) {
	return payment.Report{}, errors.New("no answer came")
}

func TestABankWithoutAnAnswerIsWaitedFor(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		able := s.Connectors.Initiators()[0]
		s.offer(t, silent{bank{able, able.Profile()}})
		p := s.create(t, nil)
		page := s.open(t, p.ID, nil)
		form := s.form(t, page)
		for range 2 {
			if got := s.post(t, page, "same-origin", form); got.status != http.StatusSeeOther || !strings.HasPrefix(got.location, page) {
				t.Fatalf("ordering was answered with %d to %q", got.status, got.location)
			}
		}
		got := s.get(t, page)
		if !strings.Contains(got.body, "Waiting for your bank") || !strings.Contains(got.body, `content="2"></noscript>`) || !strings.Contains(got.body, `data-after="2"`) || !strings.Contains(got.body, ">Check now</a>") {
			t.Errorf("the page does not wait: %v %s", got.header, got.body)
		}
		if strings.Contains(got.body, "<form") {
			t.Error("the page offers to order once more")
		}
		if now := `<a href="` + html.EscapeString(page+"&step=onward") + `">Check now</a>`; !strings.Contains(got.body, now) {
			t.Errorf("the payer who checks now does not go on to the bank without another click: %s", got.body)
		}
		s.advance(t, time.Hour)
		got = s.get(t, page)
		if !strings.Contains(got.body, `content="60"></noscript>`) || !strings.Contains(got.body, `data-after="60"`) {
			t.Errorf("after an hour the page still looks again soon: %v %s", got.header, got.body)
		}
		checkBack(t, s.leave(t, page, got), "/back", p.ID, url.Values{"payment_state": {"created"}})
	})
}

func (s *stack) advance(t *testing.T, by time.Duration) {
	t.Helper()
	must(t, s.DB.Write(t.Context(), func(tx *store.Tx) error {
		tx.SetClock(s.domain.ID, passerelle.Clock{}, passerelle.Clock{Offset: by})
		return nil
	}))
}
