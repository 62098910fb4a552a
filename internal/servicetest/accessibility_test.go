package servicetest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"passerelle/internal/servicetest"
)

// TestAccessibilityCheckFindsErrors checks that Violations finds errors on pages that allow no
// scripts, and colours that are wrong in only one of the two colour schemes.
func TestAccessibilityCheckFindsErrors(t *testing.T) {
	const frame = `<!doctype html><html lang="en"><head><title>A page</title><link rel="stylesheet" href="/s.css"></head><body><main><h1>A page</h1>`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'")
		switch r.URL.Path {
		case "/s.css":
			w.Header().Set("Content-Type", "text/css")
			io.WriteString(w, `:root { color-scheme: light dark } .faint { color: #333; background: light-dark(#fff, #222) } .lit { color: #ccc; background: light-dark(#fff, #222) }
				.near { color: light-dark(#000, #eee); background: light-dark(#fff, #222) } .near a { color: light-dark(#767676, #ddd); text-decoration: none }`)
		case "/bad":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, frame+`<p class="faint">Seen by day</p><p class="lit">Seen by night</p><p class="near">Text before <a href="/good">a link</a> and after it</p><input><p>No landmark</p></main><p>Outside</p></body></html>`)
		case "/good":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, frame+`<p>Fine</p><label>Name <input></label></main></body></html>`)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	t.Cleanup(server.Close)
	browser := servicetest.Browser(t, 390, 844)
	said := servicetest.Listen(browser, t)
	inspect := func(path string) string {
		if err := chromedp.Do(browser, servicetest.Navigate(server.URL+path), servicetest.Shown(`h1`)); err != nil {
			t.Fatal(err)
		}
		return strings.Join(servicetest.Violations(browser, t), "\n")
	}
	if found := inspect("/good"); found != "" {
		t.Errorf("nothing is wrong with the page: %s", found)
	}
	found := inspect("/bad")
	for _, want := range []string{"light: label at input", "light: region at body > p", "dark: color-contrast at .faint", "light: color-contrast at .lit", "dark: link-in-text-block at a"} {
		if !strings.Contains(found, want) {
			t.Errorf("%s was not found: %s", want, found)
		}
	}
	for _, wrong := range []string{"light: color-contrast at .faint", "dark: color-contrast at .lit", "light: link-in-text-block"} {
		if strings.Contains(found, wrong) {
			t.Errorf("%s is no error: %s", wrong, found)
		}
	}
	said.Silent(t)
}
