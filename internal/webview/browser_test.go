package webview_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"

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
		chromedp.Navigate(s.origin+"/webview/en/payment?code="+s.code(t, p.ID, "payments:validate")),
		chromedp.WaitVisible(`form[data-after]`),
	))
	_, err = chromedp.Run(browser, chromedp.Evaluate[bool](`document.dispatchEvent(new Event("visibilitychange"))`))
	must(t, err)
	must(t, chromedp.Do(browser, chromedp.WaitVisible(`#landed`)))
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
		chromedp.Navigate(s.origin+"/webview/en/payment?code="+s.code(t, p.ID, "payments:validate")),
		chromedp.WaitVisible(`#search`),
	))
	look := func(script, want string) {
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
		return `document.querySelector("#search").value = "` + text + `"; document.querySelector("#search").dispatchEvent(new Event("input"))`
	}
	count, err := chromedp.Run(browser, chromedp.Evaluate[int](`document.querySelectorAll("#banks li").length`))
	must(t, err)
	all := strconv.Itoa(count)
	look("0", all+" banks, 1 chosen, found")
	look(search("zzz"), "0 banks, 0 chosen, none")
	servicetest.Picture(browser, t, "search-none")
	look(search("áccept ONLY"), "1 banks, 0 chosen, found")
	look(`document.querySelector("#banks li:not([hidden]) input").click()`, "1 banks, 1 chosen, found")
	look(search("zzz"), "1 banks, 1 chosen, none")
	look(search(""), all+" banks, 1 chosen, found")
	servicetest.Picture(browser, t, "search-all")
	must(t, chromedp.Do(browser, chromedp.Navigate(s.origin+"/webview/en/payment?payment_id="+number(p.ID)+"&step=cancel"), chromedp.WaitVisible(`button.quiet`)))
	servicetest.Picture(browser, t, "cancel")
	must(t, chromedp.Do(browser, chromedp.Navigate(s.origin+"/webview"), chromedp.WaitVisible(`h1`)))
	servicetest.Picture(browser, t, "about")
}
