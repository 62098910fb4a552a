package console_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// hostile is a text that a page must show and must not execute.
const hostile = `<b id="planted">"x"</b><script>document.title="planted"</script>&amp;`

type person struct {
	*fixture
	ctx  context.Context
	says servicetest.Console
}

func newPerson(t *testing.T, s *servicetest.Instance, width, height int64) *person {
	t.Helper()
	ctx := servicetest.Browser(t, width, height)
	return &person{fixture: newFixture(t, s), ctx: ctx, says: servicetest.Listen(ctx, t)}
}

func (p *person) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		servicetest.Picture(p.ctx, p.t, "console-failed")
		p.t.Fatal(err)
	}
}

func (p *person) open(path string) { p.t.Helper(); p.do(servicetest.Navigate(p.Origin + path)) }

// follow follows a link in the menu. In a narrow window, the menu is hidden until someone opens it.
func (p *person) follow(end string) {
	p.t.Helper()
	if p.value(`matchMedia("(min-width: 64rem)").matches`) == "false" {
		p.do(chromedp.Click(".menu-button"))
	}
	p.do(servicetest.Follow(fmt.Sprintf(`#menu a[href$=%q]`, end)))
}

func (p *person) value(script string) string {
	p.t.Helper()
	got, err := chromedp.Run(p.ctx, chromedp.Evaluate[any](script))
	must(p.t, err)
	return fmt.Sprint(got)
}

func (p *person) typeAndGo(button string, fields ...string) {
	p.t.Helper()
	for i := 0; i+1 < len(fields); i += 2 {
		p.do(chromedp.SendKeys(fields[i], fields[i+1]))
	}
	p.do(servicetest.Follow(button))
}

// checked checks the page against the rules for all pages, and takes pictures of it.
func (p *person) checked(name string) {
	p.t.Helper()
	servicetest.Inspect(p.ctx, p.t, "console-"+name)
}

// phoneCode returns the code that an authenticator app shows for a key at an instant.
func phoneCode(t *testing.T, key string, now time.Time) string {
	t.Helper()
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ReplaceAll(key, " ", ""))
	must(t, err)
	mac := hmac.New(sha1.New, secret)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(now.Unix()/30)))
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[sum[19]&15:])&0x7fffffff%1000000)
}

type clock struct{ seconds atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.seconds.Store(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC).Unix())
	return c
}

func (c *clock) now() time.Time { return time.Unix(c.seconds.Load(), 0) }

func TestOperatorInABrowser(t *testing.T) {
	t.Parallel()
	for _, window := range []struct {
		name          string
		width, height int64
	}{{"desktop", 1280, 900}, {"phone", 390, 844}} {
		t.Run(window.name, func(t *testing.T) {
			t.Parallel()
			time := newClock()
			s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{Now: time.now})
			p := newPerson(t, s, window.width, window.height)
			p.work(window.name, time)
		})
	}
}

func (p *person) work(window string, time *clock) {
	t := p.t
	_, password, err := p.Operators.Create(t.Context(), "zoe", operators.Administrator)
	must(t, err)
	draft := servicetest.Draft()
	draft["client_state"] = hostile
	line := draft["instructions"].([]any)[0].(map[string]any)
	line["label"], line["beneficiary"].(map[string]any)["label"] = hostile, hostile
	token := p.Token("payments:admin")
	id := p.Create(token, draft)
	other := p.Create(token, servicetest.Draft())
	p.OK(p.Call("POST", fmt.Sprintf("/sandbox/payments/%d/simulate", other), p.ConfigToken, map[string]any{"state": "rejected", "error_code": "bankMessage"}))

	p.open("/console/")
	p.checked(window + "-sign-in")
	p.typeAndGo("main button", "#name", "zoe", "#password", "wrong")
	p.do(servicetest.Shown(`.problem`))
	p.typeAndGo("main button", "#password", password)
	p.do(servicetest.Shown(`.figures`))
	p.checked(window + "-home")
	p.follow("/payments")
	p.do(servicetest.Shown(`.selection`), chromedp.Click(`.selection summary`))
	p.checked(window + "-payments")
	p.open(p.paymentPath(id))
	p.checked(window + "-payment")
	if shown := p.value(`document.querySelector("main").innerText`); strings.Count(shown, hostile) != 4 {
		t.Errorf("the hostile text is not shown as it is: %s", shown)
	}
	p.do(servicetest.Follow(`a.grave`), servicetest.Shown(`.amount`))
	p.checked(window + "-payment-confirm")
	p.do(servicetest.Follow(`button.grave`), servicetest.Shown(`.state[data-state="rejected"]`))
	if got := p.state(id); got != "rejected" {
		t.Errorf("the payment is %s", got)
	}
	key := p.enrol(window, password, time)
	p.do(servicetest.Follow(`header form[action$="sign-out"] button`), servicetest.Shown(`#password`))
	p.typeAndGo("main button", "#name", "zoe", "#password", password)
	p.do(servicetest.Shown(`#code`))
	p.checked(window + "-second-factor")
	p.typeAndGo("main button", "#code", "000000x")
	p.do(servicetest.Shown(`.problem`))
	time.seconds.Add(60)
	p.typeAndGo("main button", "#code", phoneCode(t, key, time.now()))
	p.do(servicetest.Shown(`.figures`))
	p.open("/console/nothing")
	p.do(servicetest.Shown(`.centered`))
	p.checked(window + "-fault")
}

func (p *person) enrol(window, password string, time *clock) string {
	p.open("/console/account")
	p.checked(window + "-account")
	p.typeAndGo(`form[action$="second-factor"] button`, "#proof", password)
	p.do(servicetest.Shown(`.key`))
	p.checked(window + "-proposal")
	key := p.value(`document.querySelector(".key").textContent`)
	p.typeAndGo(`form[action$="confirm"] button`, "#code", phoneCode(p.t, key, time.now()))
	p.do(servicetest.Shown(`#proof`))
	return key
}

func TestNoPageCausesBrowserMessages(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	p := newPerson(t, s, 1280, 900)
	_, password, err := p.Operators.Create(t.Context(), "zoe", operators.Administrator)
	must(t, err)
	id := p.Create(p.Token("payments:admin"), servicetest.Draft())
	p.open("/console/")
	p.typeAndGo("main button", "#name", "zoe", "#password", password)
	p.do(servicetest.Shown(`.figures`))
	seen := []string{p.domainPath(""), p.domainPath("/payments"), p.paymentPath(id), "/console/account"}
	for _, path := range seen {
		p.open(path)
		p.do(servicetest.Shown(`h1`))
	}
	p.says.Silent(t)
}

// TestTheDesignInABrowser inspects the page that has every component.
func TestTheDesignInABrowser(t *testing.T) {
	t.Parallel()
	for name, width := range map[string]int64{"desktop": 1280, "phone": 390, "narrow": 320} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := arriveAt(t, servicetest.Start(t, storetest.SQLite(t), servicetest.Options{}), operators.Viewer, width, 900)
			p.open("/console/design")
			p.do(servicetest.Shown(`#dialog`))
			p.checked(name + "-design")
			if got := p.value(`document.documentElement.scrollWidth <= innerWidth`); got != "true" {
				t.Error("the page is wider than its window")
			}
			p.do(chromedp.Click(`.json details details summary`), servicetest.Shown(`.json details details:not([open])`))
			p.says.Silent(t)
		})
	}
}

func TestSigningInByKeyboard(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	p := newPerson(t, s, 1280, 900)
	_, password, err := p.Operators.Create(t.Context(), "zoe", operators.Viewer)
	must(t, err)
	p.open("/console/")
	p.do(servicetest.Shown(`#name`))
	p.do(chromedp.KeyEvent("\t\tzoe\t" + password + "\r"))
	p.do(servicetest.Shown(`.figures`))
	if got := p.value(`getComputedStyle(document.querySelector("header a")).outlineStyle`); got != "none" {
		t.Errorf("what has no focus has the outline %s", got)
	}
	p.do(chromedp.KeyEvent("\t\t"))
	if got := p.value(`getComputedStyle(document.activeElement).outlineStyle`); got != "solid" {
		t.Errorf("what has the focus has the outline %s", got)
	}
}
