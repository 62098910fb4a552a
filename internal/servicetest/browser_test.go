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

func shop(t *testing.T) (*httptest.Server, <-chan url.Values) {
	landed := make(chan url.Values, 4)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/back" {
			w.WriteHeader(http.StatusNoContent) // the browser asks for an icon
			return
		}
		w.Header().Set("Content-Type", "text/html")
		landed <- r.URL.Query()
		fmt.Fprint(w, `<!doctype html><title>Shop</title><h1 id="landed">Back in the shop</h1>`)
	}))
	t.Cleanup(server.Close)
	return server, landed
}

// TestPayerInABrowser runs the complete flow of a payer in a real browser.
func TestPayerInABrowser(t *testing.T) {
	t.Parallel()
	for _, window := range []struct {
		name, lang, amount string
		width, height      int64
	}{{"desktop", "en", "€12.50", 1280, 900}, {"phone", "fr", "12,50\u00a0€", 390, 844}} {
		t.Run(window.name, func(t *testing.T) {
			t.Parallel()
			servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
				ctx := servicetest.Browser(t, window.width, window.height)
				said := servicetest.Listen(ctx, t)
				id := payInBrowser(ctx, t, s, window.name, window.lang)
				said.Silent(t)
				checkEvidence(t, s, id, window.lang, window.amount)
			})
		})
	}
}

func payInBrowser(ctx context.Context, t *testing.T, s *servicetest.Instance, name, lang string) int64 {
	site, landed := shop(t)
	secret := s.Subscribe("PAYMENT_STATE_UPDATED", "first")
	token := s.Token("payments:admin")
	draft := servicetest.Draft()
	draft["client_redirect_uri"] = site.URL + "/back"
	id := s.Create(token, draft)

	for n, step := range []struct {
		name    string
		do      chromedp.Action[chromedp.Void]
		inspect bool
	}{
		{"open the webview", servicetest.Navigate(webviewURL(t, s, token, id, lang, site.URL+"/back")), false},
		{"see the banks", servicetest.Shown(`.banks`), true},
		{"pick the test bank", chromedp.Click(`.banks a[href*="` + testConnector + `"]`), false},
		{"check the payment", servicetest.Shown(`main form[method=post] button`), true},
		{"pay", chromedp.Click(`main form[method=post] button`), false},
		{"see the bank", servicetest.Shown(`button.approve`), true},
		{"go back", servicetest.Back(), false},
		{"see where the payment stands", servicetest.Shown(`main a.button`), true},
		{"go on to the bank", chromedp.Click(`main a.button`), false},
		{"see the bank again", servicetest.Shown(`button.approve`), false},
		{"approve", chromedp.Click(`button.approve`), false},
		{"be back in the shop", servicetest.Shown(`#landed`), false},
	} {
		if err := chromedp.Do(ctx, step.do); err != nil {
			servicetest.Picture(ctx, t, fmt.Sprintf("%s-failed", name))
			t.Fatalf("%s: %v", step.name, err)
		}
		if step.inspect {
			servicetest.Inspect(ctx, t, fmt.Sprintf("journey-%s-%d", name, n))
		}
	}
	query := <-landed
	want := url.Values{"id_payment": {fmt.Sprint(id)}, "payment_state": {"done"}, "state": {"order 42"}}
	if query.Encode() != want.Encode() {
		t.Errorf("the payer landed with %v, want %v", query, want)
	}
	checkReceived(t, s.Received("first"), secret, "validating", "pending", "done")
	return id
}

func checkEvidence(t *testing.T, s *servicetest.Instance, id int64, lang, amount string) {
	t.Helper()
	var p struct {
		Evidence []struct {
			Act, Language, Bank, Amount string
			Beneficiaries               []struct{ Name, Amount string }
		}
	}
	s.JSON(s.OK(s.Call("GET", fmt.Sprintf("/payments/%d?expand=evidence", id), s.Token("payments:read-only"), nil)), &p)
	if len(p.Evidence) != 1 {
		t.Fatalf("there are %d pieces of evidence", len(p.Evidence))
	}
	e := p.Evidence[0]
	if e.Act != "order" || e.Language != lang || e.Amount != amount || e.Bank == "" || len(e.Beneficiaries) != 1 || e.Beneficiaries[0].Amount != amount {
		t.Errorf("the payer is said to have seen %+v", e)
	}
}

func webviewURL(t *testing.T, s *servicetest.Instance, token string, id int64, lang, back string) string {
	t.Helper()
	var code struct{ Token string }
	s.JSON(s.OK(s.Call("POST", fmt.Sprintf("/payments/%d/scopedtoken", id), token, map[string]any{"scope": "payments:validate"})), &code)
	return s.Origin + "/webview/" + lang + "/payment?" + url.Values{
		"client_id": {s.ClientID}, "code": {code.Token}, "payment_id": {fmt.Sprint(id)}, "redirect_uri": {back}, "state": {"unused"},
	}.Encode()
}
