package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// TestPagesOfTestBanks: people use the pages of the test banks on desktops and phones, by pointer
// and by keyboard.
func TestPagesOfTestBanks(t *testing.T) {
	banks := newBanks(t, "redirect,oauth,decoupled")
	i := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{Banks: banks.Folder, Quiet: true})
	for _, window := range []struct {
		name          string
		width, height int64
	}{{"desktop", 1280, 900}, {"phone", 390, 844}} {
		t.Run(window.name, func(t *testing.T) {
			p := &bankPerson{t, servicetest.Browser(t, window.width, window.height), "bank-" + window.name}
			p.redirected(newShopper(t, i, banks, "redirect"))
			p.authorises(newShopper(t, i, banks, "oauth"))
			p.opensApp(newShopper(t, i, banks, "decoupled"))
		})
	}
}

type bankPerson struct {
	t        *testing.T
	ctx      context.Context //nolint:containedctx // it is the browser
	pictures string
}

func longNames() map[string]any {
	return order(line("Rindfleischetikettierungsueberwachungsaufgabenuebertragung GmbH", nil), line("Other shop", map[string]any{"amount": json.Number("12345.67")}))
}

func (p *bankPerson) redirected(s *shopper) {
	p.t.Helper()
	waiting := s.pay(longNames())
	page := *waiting.ValidateURI
	p.sees("sign-in", servicetest.Navigate(page), `a[href="?customer=anna"]`)
	p.sees("order", servicetest.Follow(`a[href="?customer=anna"]`), `button.main`)
	p.do(chromedp.Click(`summary`))
	p.sees("order-lines", servicetest.Shown(`details[open] li`), `button.main`)
	p.presses("Approve")
	p.wants(s, waiting.ID, "pending", "done", "accepted")
	p.sees("used-link", servicetest.Navigate(page), `.notice`)
	p.sees("front", servicetest.Navigate(pagesOf(page, "redirect")), `h1`)
	p.sees("nowhere", servicetest.Navigate(pagesOf(page, "redirect")+"nowhere"), `.notice`)
}

// authorises makes the person sign in at the authorisation server and refuse an order.
func (p *bankPerson) authorises(s *shopper) {
	p.t.Helper()
	waiting := s.pay(longNames())
	p.sees("oauth-sign-in", servicetest.Navigate(*waiting.ValidateURI), `a[href="?customer=anna"]`)
	p.sees("oauth-order", servicetest.Follow(`a[href="?customer=anna"]`), `button.main`)
	p.presses("Refuse")
	p.wants(s, waiting.ID, "rejected")
}

func (p *bankPerson) opensApp(s *shopper) {
	p.t.Helper()
	redirects := newShopper(p.t, s.Instance, s.banks, "redirect")
	app := pagesOf(*redirects.pay(longNames()).ValidateURI, "redirect")
	app = strings.TrimSuffix(app, "redirect/") + "decoupled/app"
	waiting := s.pay(longNames())
	s.update(waiting.ID, map[string]any{"fields": s.values(waiting, "approve")})
	p.sees("app-sign-in", servicetest.Navigate(app), `a[href$="app?customer=anna"]`)
	p.sees("app-order", servicetest.Follow(`a[href$="app?customer=anna"]`), `button.main`)
	p.presses("Approve")
	p.wants(s, waiting.ID, "pending", "done", "accepted", "validating")
	p.sees("app-empty", servicetest.Navigate(app+"?customer=anna"), `h1`)
	s.update(waiting.ID, map[string]any{"resume": true})
	p.wants(s, waiting.ID, "pending", "done", "accepted")
}

func pagesOf(page, bank string) string {
	before, _, _ := strings.Cut(page, "/"+bank+"/")
	return before + "/" + bank + "/"
}

func (p *bankPerson) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	for _, step := range steps {
		if err := chromedp.Do(p.ctx, step); err != nil {
			servicetest.Picture(p.ctx, p.t, p.pictures+"-failed")
			p.t.Fatal(err)
		}
	}
}

func (p *bankPerson) sees(name string, step chromedp.Action[chromedp.Void], shown string) {
	p.t.Helper()
	p.do(step, servicetest.Shown(shown))
	servicetest.Inspect(p.ctx, p.t, p.pictures+"-"+name)
}

// presses reaches a button with the Tab key, and presses it with the Enter key.
func (p *bankPerson) presses(button string) {
	p.t.Helper()
	const focused = `(() => { const e = document.activeElement, s = getComputedStyle(e); return e.checkVisibility() && s.outlineStyle === "solid" ? e.textContent.trim() : "" })()`
	for range 20 {
		p.do(chromedp.KeyEvent("\t"))
		text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](focused))
		if err != nil {
			p.t.Fatal(err)
		}
		if text == button {
			p.do(chromedp.KeyEvent("\r"), servicetest.Shown(`body:not(:has(button.main))`))
			return
		}
	}
	p.t.Fatalf("the keyboard does not reach the button %s", button)
}

func (p *bankPerson) wants(s *shopper, id int64, states ...string) {
	p.t.Helper()
	got := ""
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		if got = s.payment(id).State; strings.Contains(fmt.Sprint(states), got) {
			return
		}
	}
	p.t.Errorf("payment %d is %s, want one of %v", id, got, states)
}
