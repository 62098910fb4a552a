package webview_test

import (
	"io"
	"net/http"
	"net/http/httptest"
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
