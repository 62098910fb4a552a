package servicetest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"

	"passerelle/internal/servicetest"
)

// shop is the client's site, where the payer lands in the end.
func shop(t *testing.T) (*httptest.Server, <-chan url.Values) {
	landed := make(chan url.Values, 4)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path != "/back" {
			http.NotFound(w, r)
			return
		}
		landed <- r.URL.Query()
		fmt.Fprint(w, `<!doctype html><title>Shop</title><h1 id="landed">Back in the shop</h1>`)
	}))
	t.Cleanup(server.Close)
	return server, landed
}

// The whole journey as a payer sees it, in a real browser: the webview lists
// the banks, the payer picks the test bank, approves on the bank's page and
// lands in the shop; the receiver has every change.
func TestPayerInABrowser(t *testing.T) {
	for _, window := range []struct {
		name          string
		width, height int64
	}{{"desktop", 1280, 900}, {"phone", 390, 844}} {
		t.Run(window.name, func(t *testing.T) {
			servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
				payInBrowser(servicetest.Browser(t, window.width, window.height), t, s, window.name)
			})
		})
	}
}

func payInBrowser(ctx context.Context, t *testing.T, s *servicetest.Instance, name string) {
	site, landed := shop(t)
	secret := s.Subscribe("PAYMENT_STATE_UPDATED", "first")
	token := s.Token("payments:admin")
	draft := servicetest.Draft()
	draft["client_redirect_uri"] = site.URL + "/back"
	id := s.Create(token, draft)

	steps := []struct {
		name string
		do   chromedp.Action[chromedp.Void]
	}{
		{"open the webview", chromedp.Navigate(webviewURL(t, s, token, id, site.URL+"/back"))},
		{"see the banks", chromedp.WaitVisible(`#banks`)},
		{"pick the test bank", chromedp.Click(`label:has(input[value="` + testConnector + `"])`)},
		{"continue", chromedp.Click(`main form button`)},
		{"see the bank", chromedp.WaitVisible(`button.approve`)},
		{"approve", chromedp.Click(`button.approve`)},
		{"be back in the shop", chromedp.WaitVisible(`#landed`)},
	}
	for n, step := range steps {
		if err := chromedp.Do(ctx, step.do); err != nil {
			servicetest.Picture(ctx, t, fmt.Sprintf("%s-failed", name))
			t.Fatalf("%s: %v", step.name, err)
		}
		servicetest.Picture(ctx, t, fmt.Sprintf("%s-%d", name, n))
	}
	query := <-landed
	want := url.Values{"id_payment": {fmt.Sprint(id)}, "payment_state": {"done"}, "state": {"order 42"}}
	if query.Encode() != want.Encode() {
		t.Errorf("the payer landed with %v, want %v", query, want)
	}
	checkReceived(t, s.Received("first"), secret, "validating", "pending", "done")
}

// webviewURL is the link a client sends its payer to.
func webviewURL(t *testing.T, s *servicetest.Instance, token string, id int64, back string) string {
	t.Helper()
	var code struct{ Token string }
	s.JSON(s.OK(s.Call("POST", fmt.Sprintf("/payments/%d/scopedtoken", id), token, map[string]any{"scope": "payments:validate"})), &code)
	return s.Origin + "/webview/en/payment?" + url.Values{
		"client_id": {s.ClientID}, "code": {code.Token}, "payment_id": {fmt.Sprint(id)}, "redirect_uri": {back}, "state": {"unused"},
	}.Encode()
}
