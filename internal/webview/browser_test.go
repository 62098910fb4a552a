package webview_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/initiation"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
)

// shop is a client's site, which shows that somebody has arrived.
func shop(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<!doctype html><h1 id="landed">Back in the shop</h1>`)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/back"
}

// A payer who comes back from the app of the bank need not press anything: in
// a real browser, the page asks the bank and leads to the shop.
func TestThePageAsksTheBankByItself(t *testing.T) {
	s := start(t, storetest.SQLite(t), nil)
	client, _, err := s.access.Register(t.Context(), s.domain.ID, "Shop", []string{shop(t)})
	must(t, err)
	s.client = client
	p, err := s.Create(t.Context(), s.domain, initiation.Creation{By: client.ID, Draft: draft(func(d *payment.Draft) {
		d.ClientRedirectURI = client.RedirectURIs[0]
	})})
	must(t, err)
	_, err = s.Validate(t.Context(), s.domain, p.ID, initiation.Choice{
		Connector: sandbox.TestConnector, Fields: map[string]string{"use_case_pay": "decoupled"}, Validated: true, WebviewURL: s.origin + "/before",
	})
	must(t, err)
	browser := servicetest.Browser(t, 390, 844)
	must(t, chromedp.Do(browser,
		servicetest.Navigate(s.origin+"/webview/en/payment?code="+s.code(t, p.ID, "payments:validate")),
		servicetest.Shown(`form[data-after]`),
	))
	_, err = chromedp.Run(browser, chromedp.Evaluate[bool](`document.dispatchEvent(new Event("visibilitychange"))`))
	must(t, err)
	must(t, chromedp.Do(browser, servicetest.Shown(`#landed`)))
	if state := s.stored(t, p.ID).State; state != payment.Done {
		t.Errorf("the payment is %s", state)
	}
}

// What the page proposes is given up when it is searched past, what the person
// chose is not, and a search without a result says so.
func TestASearchForABankSaysWhenThereIsNone(t *testing.T) {
	s := start(t, storetest.SQLite(t), nil)
	s.offer(t, s.simulated.Connectors()...)
	p := s.create(t, nil)
	browser := servicetest.Browser(t, 390, 844)
	must(t, chromedp.Do(browser,
		servicetest.Navigate(s.origin+"/webview/en/payment?code="+s.code(t, p.ID, "payments:validate")),
		servicetest.Shown(`#search`),
	))
	inspect := func(script, want string) {
		t.Helper()
		got, err := chromedp.Run(browser, chromedp.Evaluate[string](script+`;
			[...document.querySelectorAll("#banks li")].filter(i => !i.hidden).length + " banks, " +
			document.querySelectorAll("#banks :checked").length + " chosen, " +
			(document.querySelector("[data-filter-none]").hidden ? "found" : "none")`))
		must(t, err)
		if got != want {
			t.Errorf("after %s the page shows %s, want %s", script, got, want)
		}
	}
	search := func(text string) string {
		return `document.querySelector("#search").value = "` + text + `"; document.querySelector("#search").dispatchEvent(new Event("input", {bubbles: true}))`
	}
	count, err := chromedp.Run(browser, chromedp.Evaluate[int](`document.querySelectorAll("#banks li").length`))
	must(t, err)
	all := strconv.Itoa(count)
	inspect("0", all+" banks, 1 chosen, found")
	inspect(search("zzz"), "0 banks, 0 chosen, none")
	servicetest.Picture(browser, t, "search-none")
	inspect(search("áccept ONLY"), "1 banks, 0 chosen, found")
	inspect(`document.querySelector("#banks li:not([hidden]) input").click()`, "1 banks, 1 chosen, found")
	inspect(search("zzz"), "1 banks, 1 chosen, none")
	inspect(search(""), all+" banks, 1 chosen, found")
	servicetest.Picture(browser, t, "search-all")
	must(t, chromedp.Do(browser, servicetest.Navigate(s.origin+"/webview/en/payment?payment_id="+number(p.ID)+"&step=cancel"), servicetest.Shown(`button.quiet`)))
	servicetest.Picture(browser, t, "cancel")
	must(t, chromedp.Do(browser, servicetest.Navigate(s.origin+"/webview"), servicetest.Shown(`h1`)))
	servicetest.Picture(browser, t, "about")
}

// A long list is also narrowed by country, and the way of browsers without scripts
// is not in the way of others.
func TestASearchForACountry(t *testing.T) {
	s := start(t, storetest.SQLite(t), european)
	p := s.create(t, nil)
	browser := servicetest.Browser(t, 390, 844)
	must(t, chromedp.Do(browser,
		servicetest.Navigate(s.origin+"/webview/en/payment?code="+s.code(t, p.ID, "payments:validate")),
		servicetest.Shown(`#search`),
	))
	for country, want := range map[string]string{"FR": "Crédit du Sud, Banque des Deux Pays", "AT": "Österreichische Bank", "": ""} {
		got, err := chromedp.Run(browser, chromedp.Evaluate[string](`(() => {
			const country = document.querySelector("#country");
			country.value = "`+country+`";
			country.dispatchEvent(new Event("input", {bubbles: true}));
			const seen = [...document.querySelectorAll("#banks li")].filter(i => !i.hidden).map(i => i.querySelector(".name").textContent);
			return seen.length === 9 ? "" : seen.join(", ");
		})()`))
		must(t, err)
		if got != want {
			t.Errorf("in %q are %s, want %s", country, got, want)
		}
	}
	must(t, chromedp.Do(browser, chromedp.WaitNotVisible(`[data-filter-button] button`)))
}

// pageInspection is a browser in a window of some size, in which pages of payments are
// held against all that pages have to be.
type pageInspection struct {
	*stack
	t       *testing.T
	browser context.Context
	window  string
	lang    string
}

// at opens the page of a payment, or with a step one of its pages.
func (l pageInspection) at(name string, p *payment.Payment, more, visible string) {
	l.t.Helper()
	must(l.t, chromedp.Do(l.browser,
		servicetest.Navigate(l.origin+"/webview/"+l.lang+"/payment?code="+l.code(l.t, p.ID, "payments:validate")),
		servicetest.Shown(`main h1`),
	))
	if more != "" {
		must(l.t, chromedp.Do(l.browser, servicetest.Navigate(l.origin+"/webview/"+l.lang+"/payment?payment_id="+number(p.ID)+more)))
	}
	l.inspect(name, visible)
}

func (l pageInspection) inspect(name, visible string) {
	l.t.Helper()
	must(l.t, chromedp.Do(l.browser, servicetest.Shown(visible)))
	servicetest.Inspect(l.browser, l.t, "webview-"+l.window+"-"+name)
}

// Every page of a payment, in a wide window and on a phone, in two languages: for
// everybody, light, and without a word from the browser.
func TestEveryPaymentPageIsForEverybody(t *testing.T) {
	for _, window := range []struct {
		name, lang    string
		width, height int64
	}{{"desktop", "en", 1280, 900}, {"phone", "de", 390, 844}} {
		t.Run(window.name, func(t *testing.T) {
			s := start(t, storetest.SQLite(t), several(2))
			s.brand(t, "#7a1f5c", "#0f62ac")
			l := pageInspection{s, t, servicetest.Browser(t, window.width, window.height), window.name, window.lang}
			said := servicetest.Listen(l.browser, t)
			// Pages that go on by themselves would do so while they are looked at.
			_, err := chromedp.Call(l.browser, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `window.setTimeout = () => 0`})
			must(t, err)
			l.orders()
			l.steps()
			l.ends()
			said.Silent(t, "status of 401", "status of 422")
		})
	}
}

// orders are the pages on which payments are ordered.
func (l pageInspection) orders() {
	p := l.create(l.t, nil)
	l.at("few-banks", p, "", `#banks`)
	l.at("one-bank", p, "&bank=bank-0", `#number`)
	must(l.t, chromedp.Do(l.browser,
		chromedp.SendKeys(`#holder`, "Anne"), chromedp.SendKeys(`#number`, "FR7630006000011234567890188"), chromedp.SendKeys(`[id="field.login"]`, "1"),
		chromedp.Click(`[type=radio]`), chromedp.Click(`main form .actions button`),
	))
	l.inspect("one-bank-wrong", `.problem`)
	l.at("cancel", p, "&step=cancel", `button.quiet`)
	many := l.create(l.t, func(d *payment.Draft) {
		d.Instructions[0].DateType = payment.FirstOpenDay
		for range 4 {
			d.Instructions = append(d.Instructions, d.Instructions[0])
		}
	})
	offered := l.Connectors.Initiators()
	l.offer(l.t, l.simulated.Connectors()...)
	l.at("many-banks", many, "", `#search`)
	l.at("no-such-bank", many, "&bank=any&search=zzz", `[data-filter-none]`)
	l.offer(l.t)
	l.at("no-bank", many, "", `a.button`)
	var again []connector.Connector
	for _, one := range offered {
		again = append(again, one)
	}
	l.offer(l.t, again...)
}

// steps are the pages on which payers approve and answer.
func (l pageInspection) steps() {
	for name, report := range map[string]payment.Report{
		"onward":  {Status: payment.Awaiting, Action: payment.Redirect, ValidateURI: "https://bank.example/approve"},
		"approve": {Status: payment.Awaiting, Action: payment.Decoupled, Description: "Open the app and choose “Payments”."},
		"psu":     {Status: payment.Awaiting, Action: payment.PSUValidation},
		"fields": {Status: payment.Awaiting, Action: payment.FillFields, Fields: []payment.Field{
			{Name: "code", Type: "text", Label: "Code from the text message", Regex: `^\d{6}$`, Required: true},
			{Name: "device", Type: "list", Label: "Device", Values: []payment.FieldValue{{Label: "Phone", Value: "a"}, {Label: "Tablet", Value: "b"}}},
		}},
	} {
		p := l.create(l.t, nil)
		l.report(l.t, p, report)
		l.at(name, p, "", `main form, main a.button`)
	}
}

// ends are the pages on which there is nothing to do.
func (l pageInspection) ends() {
	able := l.Connectors.Initiators()[1]
	l.offer(l.t, silent{bank{able, able.Profile()}})
	p := l.create(l.t, nil)
	l.Now = func() time.Time { return time.Now().Add(-time.Hour) } // who has waited long is looked after less often
	_, err := l.Validate(l.t.Context(), l.domain, p.ID, initiation.Choice{Connector: able.Profile().UUID, Validated: true, WebviewURL: l.origin + "/before"})
	must(l.t, err)
	l.at("wait", p, "", `.progress`)
	for name, path := range map[string]string{"fault": "/webview/" + l.lang + "/payment?code=x", "about": "/webview"} {
		must(l.t, chromedp.Do(l.browser, servicetest.Navigate(l.origin+path)))
		l.inspect(name, `main h1`)
	}
}
