package webview_test

import (
	"cmp"
	"context"
	"errors"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/initiation"
	"passerelle/internal/settings"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
)

var sorry = url.Values{"redirect_uri": {"https://shop.example/sorry"}}

// ordered orders a payment on the payment's page. It returns the payment and the address of that
// page.
func (s *stack) ordered(t *testing.T, useCase string, change func(*payment.Draft)) (*payment.Payment, string) {
	t.Helper()
	p := s.create(t, change)
	_, err := s.Validate(t.Context(), s.domain, p.ID, initiation.Choice{
		Connector: sandbox.TestConnector, Fields: map[string]string{"use_case_pay": useCase}, WebviewURL: s.origin + "/before",
	})
	must(t, err)
	page := s.open(t, p.ID, sorry)
	if got := s.post(t, page, "same-origin", s.form(t, page)); got.location != page+"&step=onward" {
		t.Fatalf("ordering was answered with %d to %q: %s", got.status, got.location, got.body)
	}
	return p, page
}

// labelled sets the label that makes the test bank behave in the way that the script describes.
func labelled(script string) func(*payment.Draft) {
	return func(d *payment.Draft) {
		d.Instructions[0].Label, d.Instructions[0].DateType = script, payment.FirstOpenDay
	}
}

// move is a form to send, with a text that is on the page with the form.
type move struct {
	shows string
	form  url.Values
}

func field(name, value string) url.Values {
	return url.Values{"step": {"fields"}, "field." + name: {value}}
}

var (
	resume = url.Values{"step": {"resume"}, "approved": {"1"}}
	yes    = url.Values{"step": {"psu"}, "word": {"yes"}}
	no     = url.Values{"step": {"psu"}, "word": {"no"}}
)

func TestPayersAnswerTheirBanks(t *testing.T) {
	code := func(value string) move { return move{"Code received by SMS", field("openapisms", value)} }
	account := func(value string) move { return move{"Account to debit", field("account_id", value)} }
	app := move{"I have approved", resume}
	done := url.Values{"payment_state": {"done"}}
	for _, c := range []struct {
		name, useCase, label string
		moves                []move
		path                 string
		shown                url.Values
	}{
		{"right code", "otp_sms", "", []move{code(" 1234 ")}, "/back", done},
		{"wrong code", "otp_sms", "", []move{code("4321")}, "/sorry", url.Values{
			"payment_state": {"rejected"}, "error_code": {"authenticationFailed"}, "bank_message": {"The payer could not be authenticated."},
		}},
		{"code, then app", "otp_plus_decoupled", "", []move{code("1234"), app}, "/back", done},
		{"app", "decoupled", "", []move{app}, "/back", done},
		{"refused in the app", "decoupled_cancelled", "", []move{app}, "/sorry", url.Values{
			"payment_state": {"rejected"}, "error": {"cancelled"}, "error_code": {"CancelledByUser"},
			"bank_message": {"The transaction has been cancelled by the PSU."},
		}},
		{"main account", "account_choice", "", []move{account("main")}, "/back", done},
		{"other account", "account_choice", "", []move{account("snd")}, "/sorry", url.Values{
			"payment_state": {"rejected"}, "error_code": {"invalidEmitter"}, "bank_message": {"Please select the main account."},
		}},
		{"yes", "", "actn(psu)/done", []move{{"Yes, pay €1,234.56", yes}}, "/back", done},
		{"no", "", "actn(psu)/done", []move{{"No, do not pay", no}}, "/sorry", url.Values{
			"payment_state": {"rejected"}, "error": {"cancelled"}, "error_code": {"CancelledByUser"}, "bank_message": {"The payer cancelled the payment."},
		}},
		{"left to the client", "", "actn(confirm)/done", nil, "/back", url.Values{"payment_state": {"validating"}}},
		{"left to the client after the app", "", "actn(decoupled)/actn(confirm)/done", []move{app}, "/back", url.Values{"payment_state": {"validating"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, nil, func(t *testing.T, s *stack) {
				change := labelled(c.label)
				if c.label == "" {
					change = nil
				}
				p, page := s.ordered(t, c.useCase, change)
				s.play(t, page, c.moves)
				checkBack(t, s.get(t, page), c.path, p.ID, c.shown)
			})
		})
	}
}

// play sends forms in sequence.
func (s *stack) play(t *testing.T, page string, moves []move) {
	t.Helper()
	for _, m := range moves {
		if body := html.UnescapeString(s.get(t, page).body); !strings.Contains(body, m.shows) {
			t.Fatalf("the page lacks %q: %s", m.shows, body)
		}
		got := s.post(t, page, "same-origin", m.form)
		if got.status != http.StatusSeeOther || !strings.HasPrefix(got.location, page) {
			t.Fatalf("%v was answered with %d to %q: %s", m.form, got.status, got.location, got.body)
		}
	}
}

func TestARedirectThatNobodyConfirms(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p, page := s.ordered(t, "redirect_no_confirmation", nil)
		back := s.post(t, s.onward(t, page+"&step=onward"), "same-origin", url.Values{"decision": {"approve"}})
		if callback := s.get(t, back.location); callback.location != s.origin+page {
			t.Fatalf("the callback sent the payer to %q", callback.location)
		}
		must(t, s.settle(t))
		checkBack(t, s.get(t, page), "/back", p.ID, url.Values{"payment_state": {"done"}})
	})
}

func TestWrongValuesAreShownAgain(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p, page := s.ordered(t, "", labelled("actn(fields)/done"))
		form := func(code, device string) url.Values {
			return url.Values{"step": {"fields"}, "field.code": {code}, "field.device": {device}, "field.state": {"<mine>"}}
		}
		first := s.get(t, page).body
		for _, want := range []string{"Code on your card", "Téléphone", "タブレット", "A note for yourself <small>(optional)", `pattern="[\s\S]*(?:^(?=\d{4}$)\d&#43;$)[\s\S]*"`} {
			if !strings.Contains(first, want) {
				t.Errorf("the page lacks %s: %s", want, first)
			}
		}
		const invalid = ` aria-invalid="true"`
		for _, c := range []struct{ code, device, says, at string }{
			{"12", "phone", "not in the right format", `<p><a href="#field.code">Code on your card (1234)</a></p>`},
			{"12", "phone", "not in the right format", "<title>Please check your entries: Your bank needs more information</title>"},
			{"12", "phone", "not in the right format", invalid + ` aria-describedby="problem hint.code"`},
			{"1234", "", "not in the right format", `<fieldset class="field" id="field.device"` + invalid},
			{"1234", "fax", "not in the right format", `<p><a href="#field.device">`},
			{"9999", "tablet", "did not accept", `value="tablet" checked`},
		} {
			got := s.post(t, page, "same-origin", form(c.code, c.device))
			if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, c.says) || !strings.Contains(got.body, c.at) {
				t.Errorf("%s, %s: answered %d, want %q and %q: %s", c.code, c.device, got.status, c.says, c.at, got.body)
			}
			if !strings.Contains(got.body, `value="`+c.code+`"`) || !strings.Contains(got.body, `value="&lt;mine&gt;"`) {
				t.Errorf("what was filled in is gone: %s", got.body)
			}
		}
		s.play(t, page, []move{{"Code on your card", form("1234", "phone")}})
		checkBack(t, s.get(t, page), "/back", p.ID, url.Values{"payment_state": {"done"}})
	})
}

// A payer whose page polls has not returned yet, even when the poll finds the end of the payment. The
// client's webhooks therefore keep the event about the end.
func TestAPollIsNoReturn(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		must(t, settings.Set(t.Context(), s.DB, s.domain.ID, map[string]string{settings.Systematic: "0"}, s.Now()))
		p, page := s.ordered(t, "", labelled("actn(decoupled)/done"))
		polled := func(request *http.Request) answer {
			request.Header.Set("Passerelle-Part", "all")
			return s.do(t, request)
		}
		form := url.Values{"step": {"resume"}, "csrf": {s.token(t, page)}}
		sent, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.absolute(page), strings.NewReader(form.Encode()))
		must(t, err)
		sent.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		sent.Header.Set("Sec-Fetch-Site", "same-origin")
		for _, request := range []*http.Request{sent, s.request(t, http.MethodGet, page)} {
			if got := polled(request); got.status != http.StatusSeeOther {
				t.Errorf("the poll is answered with %d: %s", got.status, got.body)
			}
			if p = s.stored(t, p.ID); p.State != payment.Done || p.Returned != nil {
				t.Errorf("after a poll, the payment is %s, and the payer returned at %v", p.State, p.Returned)
			}
		}
		checkBack(t, s.get(t, page), "/back", p.ID, url.Values{"payment_state": {"done"}})
		if p = s.stored(t, p.ID); p.Returned == nil {
			t.Error("the return is not recorded")
		}
	})
}

func TestAnApprovalNobodyHasSeenYet(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p, page := s.ordered(t, "", labelled("actn(decoupled,3)/done"))
		first := s.get(t, page)
		for _, want := range []string{`<script type="module" src="/assets/resume.`, `data-after="7" data-next="`, `step=onward">`, `<noscript><meta http-equiv="refresh" content="10">`, `<span data-scripted hidden> This page checks with your bank automatically.</span>`, `<p class="left" data-scripted hidden>`} {
			if !strings.Contains(first.body, want) {
				t.Errorf("the page lacks %s: %s", want, first.body)
			}
		}
		if first.header.Get("Refresh") != "" || !strings.Contains(first.header.Get("Content-Security-Policy"), "script-src 'self'") {
			t.Errorf("the page reloads under its script, or refuses it: %v", first.header)
		}
		const unseen = "has not seen your approval"
		byItself := s.post(t, page, "same-origin", url.Values{"step": {"resume"}})
		if strings.Contains(s.get(t, byItself.location).body, unseen) {
			t.Error("the page complains although nobody pressed the button")
		}
		if pressed := s.post(t, page, "same-origin", resume); !strings.Contains(s.get(t, pressed.location).body, unseen) {
			t.Error("the page does not say that the approval is missing")
		}
		if left := secondsLeft(first.body); left < 10*60 || left > 15*60 {
			t.Errorf("at first %d seconds are left", left)
		}
		s.advance(t, 16*time.Minute)
		if late := s.get(t, page).body; secondsLeft(late) != -1 || !strings.Contains(late, "no longer checks with your bank") {
			t.Errorf("the page does not say that it has stopped: %s", late)
		}
		if late := s.get(t, page); strings.Contains(late.body, "<script") || !strings.Contains(late.body, "Go back to Maison Dupont") || !strings.Contains(late.body, "I have approved") {
			t.Errorf("after a quarter of an hour the page still asks by itself, or offers no way out: %s", late.body)
		} else {
			checkBack(t, s.leave(t, page, late), "/sorry", p.ID, url.Values{"payment_state": {"validating"}})
		}
	})
}

var timeLeft = regexp.MustCompile(`role="timer" data-left="(\d+)">(\d+):(\d\d)<`)

// secondsLeft returns the remaining time on a page, or -1 if the page shows no time or two
// different times.
func secondsLeft(page string) int {
	found := timeLeft.FindStringSubmatch(page)
	if found == nil {
		return -1
	}
	left, _ := strconv.Atoi(found[1])
	minutes, _ := strconv.Atoi(found[2])
	seconds, _ := strconv.Atoi(found[3])
	if left != 60*minutes+seconds {
		return -1
	}
	return left
}

// broken is a bank that fails each time it receives the payer's input.
type broken struct {
	connector.Responder
	failure error
}

// Profile returns the profile of a bank that offers only payments.
func (b broken) Profile() connector.Profile {
	profile := b.Responder.Profile()
	profile.Data = nil
	return profile
}

func (b broken) Answer(context.Context, connector.Order, connector.Answer) (payment.Report, error) {
	return payment.Report{}, b.failure
}

func TestABankThatDoesNotTakeTheAnswer(t *testing.T) {
	for _, c := range []struct {
		name    string
		failure error
		says    string
		again   string
	}{
		{"no answer", errors.New("no answer came"), "", "Waiting for your bank"},
		{"not sent", connector.ErrNotSent, "could not be reached", "Code received by SMS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, nil, func(t *testing.T, s *stack) {
				s.offer(t, broken{s.simulated.Connectors()[0].(connector.Responder), c.failure})
				_, page := s.ordered(t, "otp_sms", nil)
				got := s.post(t, page, "same-origin", field("openapisms", "1234"))
				if !strings.Contains(got.body, c.says) {
					t.Errorf("answered %d: %s", got.status, got.body)
				}
				if body := s.get(t, page).body; !strings.Contains(body, c.again) {
					t.Errorf("the page lacks %q: %s", c.again, body)
				}
			})
		})
	}
}

func TestUnexpectedFormsChangeNothing(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		_, page := s.ordered(t, "otp_sms", nil)
		for _, form := range []url.Values{{"step": {"launch"}}, {"step": {"psu"}, "word": {"perhaps"}}} {
			if got := s.post(t, page, "same-origin", form); got.status != http.StatusBadRequest {
				t.Errorf("%v was answered with %d", form, got.status)
			}
		}
		for _, form := range []url.Values{resume, yes, no, {"bank": {sandbox.TestConnector}, "terms": {"1"}}} {
			if got := s.post(t, page, "same-origin", form); got.status != http.StatusSeeOther || !strings.HasPrefix(got.location, page) {
				t.Errorf("%v was answered with %d to %q: %s", form, got.status, got.location, got.body)
			}
		}
		if got := s.post(t, page, "cross-site", field("openapisms", "1234")); got.status != http.StatusForbidden {
			t.Errorf("a form of another site was answered with %d", got.status)
		}
		if body := s.get(t, page).body; !strings.Contains(body, "Code received by SMS") {
			t.Errorf("the payment has moved: %s", body)
		}
	})
}

func TestWhatTheBankSaysIsShown(t *testing.T) {
	s := start(t, storetest.SQLite(t), nil)
	for _, action := range []payment.Action{payment.Redirect, payment.Decoupled, payment.FillFields, payment.PSUValidation} {
		p := s.create(t, nil)
		s.report(t, p, ask(action)...)
		p.ErrorDescription = "Please confirm <b>now</b>."
		s.keep(t, p, nil)
		body := s.get(t, s.open(t, p.ID, nil)).body
		if !strings.Contains(body, "Message from your bank") || !strings.Contains(body, "Please confirm &lt;b&gt;now&lt;/b&gt;.") {
			t.Errorf("%s: the bank's words are not shown: %s", action, body)
		}
	}
}

// Hints describe the expected input in words, without a regular expression.
func TestHintsInWords(t *testing.T) {
	s := start(t, storetest.SQLite(t), nil)
	for regex, want := range map[string]string{
		`^\d{6}$`: "6 digits", `^[0-9]{4,8}$`: "4–8 digits", `^\d+$`: "Digits only", `^(?=\d{4}$)\d+$`: "4 digits", `^[A-Z0-9]{8,}$`: "8+ letters or digits",
		`^.{2,20}$`: "2–20 characters", `\d{6}`: "", `^[a-z](x|y)+$`: "", "": "",
	} {
		p := s.create(t, nil)
		s.report(t, p, payment.Report{Status: payment.Awaiting, Action: payment.FillFields, Fields: []payment.Field{
			{Name: "otp", Type: "text", Label: "Code", Regex: regex},
		}})
		body := html.UnescapeString(s.get(t, s.open(t, p.ID, nil)).body)
		if hinted := strings.Contains(body, `<small id="hint.otp">`+want+"</small>"); hinted != (want != "") {
			t.Errorf("%q: want the hint %q: %s", regex, want, body)
		}
		if patterned := strings.Contains(body, "pattern="); patterned != (regex != "") {
			t.Errorf("%q: the pattern is there: %t", regex, patterned)
		}
		if title := cmp.Or(want, "Type it exactly as your bank shows it."); regex != "" && !strings.Contains(body, `title="`+title+`"`) {
			t.Errorf("%q: want the title %q: %s", regex, title, body)
		}
		if numeric := strings.Contains(body, `inputmode="numeric"`); numeric != (strings.Contains(strings.ToLower(want), "digits") && !strings.Contains(want, "letters")) {
			t.Errorf("%q: the keyboard of digits: %t", regex, numeric)
		}
		if !strings.Contains(body, `autocomplete="one-time-code"`) {
			t.Errorf("%q: a code is not filled in by the phone: %s", regex, body)
		}
	}
}

func TestBankMessagesAreTruncated(t *testing.T) {
	s := start(t, storetest.SQLite(t), nil)
	for description, want := range map[string]string{
		"": "", "Désolé & <b>銀行</b>": "Désolé & <b>銀行</b>", strings.Repeat("銀", 500): strings.Repeat("銀", 119) + "…",
	} {
		p := s.create(t, nil)
		page := s.open(t, p.ID, nil)
		s.report(t, p, payment.Report{Status: payment.Declined, Code: payment.BankMessage, Description: description})
		reported := url.Values{"payment_state": {"rejected"}, "error_code": {"bankMessage"}, "bank_message": {want}}
		checkBack(t, s.get(t, page), "/back", p.ID, reported)
	}
}

func TestTermsAreAcceptedWithTheOrder(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p := s.create(t, nil)
		page := s.open(t, p.ID, nil)
		for lang, want := range map[string]string{"en": "You ask us to hand this payment over", "fr": "Vous nous demandez de transmettre"} {
			if body := s.get(t, strings.Replace(page, "/en/", "/"+lang+"/", 1)).body; !strings.Contains(body, want) {
				t.Errorf("%s: the page lacks the terms: %s", lang, body)
			}
		}
		form := s.form(t, page)
		form.Set("terms", "7")
		if got := s.post(t, page, "same-origin", form); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "The terms of service have changed") {
			t.Errorf("other terms were answered with %d: %s", got.status, got.body)
		}
		s.post(t, page, "same-origin", s.form(t, page))
		if stored := s.stored(t, p.ID); stored.State != payment.Validating || stored.TermsVersion != "0" {
			t.Errorf("the payment is %s with terms %q", stored.State, stored.TermsVersion)
		}
	})
}

func (s *stack) stored(t *testing.T, id passerelle.PaymentID) *payment.Payment {
	t.Helper()
	p, err := s.DB.Payment(t.Context(), s.domain.ID, id, false)
	must(t, err)
	return p
}
