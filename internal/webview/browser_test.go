package webview_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
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

// shop serves the client's page to which a user returns.
func shop(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<!doctype html><h1 id="landed">Back in the shop</h1>`)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/back"
}

// A payer who comes back from the bank's app does not need to press a button. In a real browser,
// the page asks the bank, and then continues to the shop.
func TestThePageAsksTheBankByItself(t *testing.T) {
	t.Parallel()
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
	sent, err := chromedp.Run(browser, chromedp.Evaluate[int](`(() => {
		let sent = 0
		const fetch = window.fetch
		window.fetch = (...all) => { sent++; return fetch(...all) }
		document.body.insertAdjacentHTML("beforeend", "<input type=checkbox id=choice>")
		const box = document.getElementById("choice")
		box.checked = true
		document.dispatchEvent(new Event("visibilitychange"))
		box.remove()
		return sent
	})()`))
	must(t, err)
	if sent != 0 {
		t.Error("the page loses what the person has ticked")
	}
	_, err = chromedp.Run(browser, chromedp.Evaluate[bool](`document.dispatchEvent(new Event("visibilitychange"))`))
	must(t, err)
	must(t, chromedp.Do(browser, servicetest.Shown(`#landed`)))
	if state := s.stored(t, p.ID).State; state != payment.Done {
		t.Errorf("the payment is %s", state)
	}
}

// While nothing has changed, the page asks the bank but stays as it is: the focus is where the payer
// left it.
func TestAWaitingPageStaysUntilItChanges(t *testing.T) {
	t.Parallel()
	s := start(t, storetest.SQLite(t), nil)
	client, _, err := s.access.Register(t.Context(), s.domain.ID, "Shop", []string{shop(t)})
	must(t, err)
	s.client = client
	p, err := s.Create(t.Context(), s.domain, initiation.Creation{By: client.ID, Draft: draft(func(d *payment.Draft) {
		d.ClientRedirectURI = client.RedirectURIs[0]
		labelled("actn(decoupled,9)/done")(d)
	})})
	must(t, err)
	_, err = s.Validate(t.Context(), s.domain, p.ID, initiation.Choice{
		Connector: sandbox.TestConnector, Validated: true, WebviewURL: s.origin + "/before",
	})
	must(t, err)
	browser := servicetest.Browser(t, 390, 844)
	said := servicetest.Listen(browser, t)
	must(t, chromedp.Do(browser,
		servicetest.Navigate(s.origin+"/webview/en/payment?code="+s.code(t, p.ID, "payments:validate")),
		servicetest.Shown(`form[data-after]`),
	))
	run := func(script string) string {
		t.Helper()
		result, err := chromedp.Run(browser, chromedp.Evaluate[string](script, chromedp.EvalAwaitPromise))
		must(t, err)
		return result
	}
	if got := run(`[...document.querySelectorAll("[data-scripted]")].map((part) => part.hidden).join()`); got != "false,false" {
		t.Errorf("the page says that its script runs: %s", got)
	}
	const seen = `(async () => {
		const way = document.querySelector("main a[href*=cancel], main .aside a, main a")
		way.focus()
		window.before = true
		const asked = []
		const fetch = window.fetch
		window.fetch = async (...all) => { const answer = await fetch(...all); if (asked.length || all[1]?.method) asked.push((all[1]?.method ?? "GET") + " " + answer.type); return answer }
		while (asked.length < 2) {
			if (!asked.length) document.dispatchEvent(new Event("visibilitychange"))
			await new Promise((done) => setTimeout(done, 50))
		}
		window.fetch = fetch
		return asked.slice(0, 2).join() + " " + (document.activeElement === way) + " " + window.before
	})()`
	for range 2 {
		if got := run(seen); got != "POST opaqueredirect,GET basic true true" {
			t.Errorf("without a change, the page does %s", got)
		}
	}
	_, err = chromedp.Run(browser, chromedp.Evaluate[bool](`document.querySelector("details.brief").open = true`))
	must(t, err)
	s.advance(t, 30*time.Second)
	if got := run(seen); got != "POST opaqueredirect,GET basic true true" {
		t.Errorf("after a long wait, the page does %s", got)
	}
	must(t, chromedp.Do(browser, servicetest.Shown(`main [role=status] p`)))
	servicetest.Inspect(browser, t, "approve-long")
	const long = `[document.querySelector("main").textContent.includes("longer than usual"), document.querySelector("main").textContent.includes("Go back to Shop"),
		document.activeElement.matches("a"), document.querySelector("details.brief").open, window.before].join()`
	if got := run(long); got != "true,true,true,true,true" {
		t.Errorf("after a long wait, the page says so, offers to leave, and keeps focus and details: %s", got)
	}
	const stub = `(async (page, polls) => {
		const asked = []
		const fetch = window.fetch
		window.fetch = async (_, options) => {
			asked.push(options.method ?? "GET")
			return options.method ? { status: 0, type: "opaqueredirect" } : new Response(page)
		}
		while (asked.length < polls) {
			document.dispatchEvent(new Event("visibilitychange"))
			await new Promise((done) => setTimeout(done, 50))
		}
		window.fetch = fetch
		return asked.join()
	})`
	const renewed = `(async () => {
		const page = document.documentElement.outerHTML.replaceAll('value="resume"', 'value="later"')
		await ` + stub + `(page, 2)
		const input = document.querySelector("form[data-after]").elements.step
		const got = input.value
		input.setAttribute("value", "resume")
		return got
	})()`
	if got := run(renewed); got != "later" {
		t.Errorf("the form of the waiting page keeps %q", got)
	}
	if got := run(stub + `('<main><p data-after="2">Your bank is processing the payment.</p></main>', 4)`); got != "POST,GET,GET,GET" {
		t.Errorf("while the service works on the form, the page does %s", got)
	}
	if got := run("window.before + ''"); got != "true" {
		t.Error("the page of the script has changed")
	}
	said.Silent(t)
	_, err = chromedp.Run(browser, chromedp.Evaluate[bool](`setInterval(() => document.dispatchEvent(new Event("visibilitychange")), 50) > 0`))
	must(t, err)
	must(t, chromedp.Do(browser, servicetest.Shown(`#landed`)))
	if state := s.stored(t, p.ID).State; state != payment.Done {
		t.Errorf("the payment is %s", state)
	}
}

// A payer who presses the button too early sees a notice. The next poll finds the page without the
// notice, and does not replace the page for this reason.
func TestAWaitingPageKeepsItsNotice(t *testing.T) {
	t.Parallel()
	s := start(t, storetest.SQLite(t), nil)
	p := s.create(t, labelled("actn(decoupled,9)/done"))
	_, err := s.Validate(t.Context(), s.domain, p.ID, initiation.Choice{
		Connector: sandbox.TestConnector, Validated: true, WebviewURL: s.origin + "/before",
	})
	must(t, err)
	browser := servicetest.Browser(t, 390, 844)
	said := servicetest.Listen(browser, t)
	must(t, chromedp.Do(browser,
		servicetest.Navigate(s.origin+"/webview/en/payment?code="+s.code(t, p.ID, "payments:validate")),
		servicetest.Shown(`form[data-after]`), chromedp.Click(`form[data-after] button`), servicetest.Shown(`.hint`),
	))
	const poll = `(async () => {
		const asked = []
		const fetch = window.fetch
		window.fetch = async (...all) => { const answer = await fetch(...all); asked.push(all[1]?.method ?? "GET"); return answer }
		while (asked.length < 4) {
			document.dispatchEvent(new Event("visibilitychange"))
			await new Promise((done) => setTimeout(done, 50))
		}
		return asked.slice(0, 4).join() + " " + document.querySelector(".hint").textContent
	})()`
	got, err := chromedp.Run(browser, chromedp.Evaluate[string](poll, chromedp.EvalAwaitPromise))
	must(t, err)
	if !strings.HasPrefix(got, "POST,GET,POST,GET Your bank has not seen your approval yet.") {
		t.Errorf("the page does %s", got)
	}
	said.Silent(t)
}

// openSearch opens the page of a payment in a service with many banks.
func openSearch(browser context.Context, t *testing.T) {
	t.Helper()
	s := start(t, storetest.SQLite(t), crowd)
	p := s.create(t, nil)
	must(t, chromedp.Do(browser,
		servicetest.Navigate(s.origin+"/webview/en/payment?code="+s.code(t, p.ID, "payments:validate")),
		servicetest.Shown(`#search`),
	))
}

// typeSearch types a text into the search, and waits for an element.
func typeSearch(browser context.Context, t *testing.T, text, shown string) {
	t.Helper()
	_, err := chromedp.Run(browser, chromedp.Evaluate[bool](`(() => {
		const field = document.querySelector("#search");
		field.value = "`+text+`";
		return field.dispatchEvent(new Event("input", {bubbles: true}));
	})()`))
	must(t, err)
	must(t, chromedp.Do(browser, servicetest.Shown(shown)))
}

// While a person types, the service filters the list without a click. When no bank in the country
// matches, the page offers a search in all countries.
func TestASearchForABankWhileTyping(t *testing.T) {
	t.Parallel()
	browser := servicetest.Browser(t, 390, 844)
	said := servicetest.Listen(browser, t)
	openSearch(browser, t)
	servicetest.Picture(browser, t, "crowd-country")
	typeSearch(browser, t, "ville 0051", `#found li:only-child a[href*="000000000051"]`)
	typeSearch(browser, t, "ville 0013", `#found p a[href*="country=any"]`)
	servicetest.Picture(browser, t, "crowd-none")
	must(t, chromedp.Do(browser, chromedp.Click(`#found p a[href*="country=any"]`), servicetest.Shown(`#found li:only-child a[href*="000000000013"]`)))
	servicetest.Inspect(browser, t, "crowd-elsewhere")
	must(t, chromedp.Do(browser, chromedp.Click(`#found a[href*="step=country"]`), servicetest.Shown(`.nations`)))
	servicetest.Inspect(browser, t, "crowd-countries")
	must(t, chromedp.Do(browser, chromedp.Click(`.nations a[href*="country=GR"]`), servicetest.Shown(`#found`), chromedp.Click(`#found li:first-child a`), servicetest.Shown(`main form button`)))
	said.Silent(t)
}

// While a person types, the number of matches changes inside the same status, and the links to other
// countries and languages keep the search. Screen readers announce a new text in a status, but not a
// new status.
func TestASearchForABankSaysTheNumberOfMatches(t *testing.T) {
	t.Parallel()
	browser := servicetest.Browser(t, 390, 844)
	openSearch(browser, t)
	_, err := chromedp.Run(browser, chromedp.Evaluate[bool](`Boolean(window.said = document.querySelector("#found [role=status]"))`))
	must(t, err)
	typeSearch(browser, t, "ville 0051", `#found li:only-child a[href*="000000000051"]`)
	got, err := chromedp.Run(browser, chromedp.Evaluate[string](`[window.said.isConnected, window.said.textContent, document.querySelectorAll("#found [role=status]").length, ...["#found a[href*=country]", "footer a"].map((link) => document.querySelector(link).search.includes("search=ville"))].join()`))
	must(t, err)
	if got != "true,Matches (France): 1,1,true,true" {
		t.Errorf("the status: %s", got)
	}
}

// When the script's request for the list fails, the browser submits the search form instead.
func TestASearchForABankWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	browser := servicetest.Browser(t, 390, 844)
	openSearch(browser, t)
	_, err := chromedp.Run(browser, chromedp.Evaluate[bool](`(() => {
		window.fetch = () => Promise.reject(new TypeError("no network"));
		document.querySelector("#search").value = "ville 0051";
		document.querySelector("#search").form.requestSubmit();
		return true;
	})()`))
	must(t, err)
	must(t, chromedp.Do(browser, servicetest.Shown(`#found li:only-child a[href*="000000000051"]`)))
}

// pageInspection is a browser with one window size. It checks the payment pages against the rules
// for all pages.
type pageInspection struct {
	*stack
	t       *testing.T
	browser context.Context
	window  string
	lang    string
}

// at opens and checks the page of a payment. It appends a query such as "&step=cancel" to the
// page's address.
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

// The pages of a payment are accessible and small, in a wide window in English and on a phone in
// German. They cause no unexpected messages in the browser's console.
func TestPaymentPagesAreAccessible(t *testing.T) {
	t.Parallel()
	for _, window := range []struct {
		name, lang    string
		width, height int64
	}{{"desktop", "en", 1280, 900}, {"phone", "de", 390, 844}} {
		t.Run(window.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, storetest.SQLite(t), several(2))
			s.brand(t, "#7a1f5c", "#0f62ac")
			l := pageInspection{s, t, servicetest.Browser(t, window.width, window.height), window.name, window.lang}
			said := servicetest.Listen(l.browser, t)
			// Some pages continue by themselves. This script prevents that during the checks.
			_, err := chromedp.Call(l.browser, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `window.setTimeout = () => 0`})
			must(t, err)
			l.orders()
			l.steps()
			l.ends()
			said.Silent(t, "status of 401", "status of 422")
		})
	}
}

func (l pageInspection) orders() {
	p := l.create(l.t, nil)
	l.at("few-banks", p, "", `.banks`)
	l.at("one-bank", p, "&bank=bank-0", `#number`)
	beside, err := chromedp.Run(l.browser, chromedp.Evaluate[bool](`(() => {
		document.querySelector(".chosen .name").textContent = "Postbank";
		const [name, link] = [".chosen .name", ".chosen a"].map((part) => document.querySelector(part).getBoundingClientRect());
		return link.top < name.bottom && name.top < link.bottom;
	})()`))
	must(l.t, err)
	if !beside {
		l.t.Error("the link to other banks is not beside a short name")
	}
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
	l.at("no-such-bank", many, "&bank=any&search=zzz", `#found > p`)
	l.at("countries", many, "&step=country", `.nations`)
	l.offer(l.t)
	l.at("no-bank", many, "", `a.button`)
	var again []connector.Connector
	for _, one := range offered {
		again = append(again, one)
	}
	l.offer(l.t, again...)
}

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

func (l pageInspection) ends() {
	able := l.Connectors.Initiators()[1]
	l.offer(l.t, silent{bank{able, able.Profile()}})
	p := l.create(l.t, nil)
	l.Now = func() time.Time { return time.Now().Add(-time.Hour) } // after a long wait, the page asks less often
	_, err := l.Validate(l.t.Context(), l.domain, p.ID, initiation.Choice{Connector: able.Profile().UUID, Validated: true, WebviewURL: l.origin + "/before"})
	must(l.t, err)
	l.at("wait", p, "", `.progress`)
	for name, path := range map[string]string{"fault": "/webview/" + l.lang + "/payment?code=x", "about": "/webview"} {
		must(l.t, chromedp.Do(l.browser, servicetest.Navigate(l.origin+path)))
		l.inspect(name, `main h1`)
	}
}

// On paper, a payment page shows all instructions and the terms of service.
func TestClosedSectionsArePrinted(t *testing.T) {
	t.Parallel()
	s := start(t, storetest.SQLite(t), nil)
	p := s.create(t, func(d *payment.Draft) { d.Instructions = append(d.Instructions, d.Instructions[0]) })
	browser := servicetest.Browser(t, 794, 1100)
	must(t, chromedp.Do(browser, servicetest.Navigate(s.origin+"/webview/en/payment?code="+s.code(t, p.ID, "payments:validate")), servicetest.Shown(`details.terms`)))
	for _, c := range []struct{ name, want string }{{"in a window", "true 2"}, {"on paper", "true 0"}} {
		got, err := chromedp.Run(browser, chromedp.Evaluate[string](servicetest.HiddenOnPaper))
		must(t, err)
		if got != c.want {
			t.Errorf("%s, the page has closed sections, and hides some of their elements: %s", c.name, got)
		}
		servicetest.Paper(browser, t)
	}
	servicetest.Picture(browser, t, "webview-paper")
}

// On the narrowest screens, the texts of the payment page and of the simulated bank's page fit in
// every language. Only soft hyphens divide words.
func TestTextsFitANarrowScreen(t *testing.T) {
	t.Parallel()
	s := start(t, storetest.SQLite(t), nil)
	browser := servicetest.Browser(t, 320, 700)
	const broken = `(() => {
		const texts = [...document.querySelectorAll("h1, h2, p, dt, dd, legend, label, summary, button, .button, main a, footer a, .steps li")];
		[document.body, ...texts].forEach((text) => { text.style.overflowWrap = "normal"; text.style.hyphens = "manual"; });
		const outside = (text) => {
			const around = text.closest("article, footer, main, body");
			return text.getBoundingClientRect().right > around.getBoundingClientRect().right - parseFloat(getComputedStyle(around).paddingRight) + 1;
		};
		return texts.filter((text) => text.clientWidth > 0 && (text.scrollWidth > text.clientWidth || outside(text))).map((text) => text.textContent).join();
	})()`
	for name := range texts(t) {
		lang := strings.TrimSuffix(name, ".json")
		for _, dates := range []payment.DateType{payment.Instant, payment.FirstOpenDay} {
			p := s.create(t, func(d *payment.Draft) { d.Instructions[0].DateType = dates })
			must(t, chromedp.Do(browser, servicetest.Navigate(s.origin+"/webview/"+lang+"/payment?code="+s.code(t, p.ID, "payments:validate"))))
			for _, shown := range []string{`main form button`, `.buttons`} {
				must(t, chromedp.Do(browser, servicetest.Shown(shown)))
				got, err := chromedp.Run(browser, chromedp.Evaluate[string](broken))
				must(t, err)
				if got != "" {
					t.Errorf("%s: %s of a payment %s shows texts that do not fit: %s", lang, shown, dates, got)
				}
				if shown == `main form button` {
					must(t, chromedp.Do(browser, chromedp.Click(shown)))
				}
			}
		}
	}
}
