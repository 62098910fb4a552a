package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// mostClicks is the largest number of clicks for a new operator's task, from the first page of the
// domain. mostTime is the longest time for such a task.
const (
	mostClicks = 4
	mostTime   = 60 * time.Second
)

type task struct {
	*person
	clicks int
}

func (k *task) click(selector string) {
	k.t.Helper()
	k.clicks++
	k.do(servicetest.Follow(selector))
}

// choose clicks the first visible link or button with this text.
func (k *task) choose(text string) {
	k.t.Helper()
	k.value(fmt.Sprintf(`(() => {
		document.querySelectorAll("[data-chosen]").forEach((one) => delete one.dataset.chosen);
		const all = [...document.querySelectorAll("a, button")].filter((one) => one.checkVisibility() && one.textContent.trim() === %q);
		if (all.length > 0) all[0].dataset.chosen = "";
	})()`, text))
	k.click("[data-chosen]")
}

func (k *task) types(field, text string) { k.t.Helper(); k.do(chromedp.SendKeys(field, text)) }

func (k *task) reads(texts ...string) {
	k.t.Helper()
	k.do(servicetest.Shown("main h1"))
	shown := k.value(`document.querySelector("main").innerText`)
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			k.t.Errorf("%q is not on the page: %s", text, shown)
		}
	}
}

type troubled struct {
	paid, rejected, stopped int64
	endpoint                *receiver
	connection, user        int64
	token                   string
}

func (p *person) trouble() troubled {
	p.t.Helper()
	var in troubled
	p.Subscribe("PAYMENT_STATE_UPDATED", "shop")
	_, in.paid, _ = p.shop()
	in.rejected = p.Create(p.Token("payments:admin"), servicetest.Draft())
	p.OK(p.Call("POST", fmt.Sprintf("/sandbox/payments/%d/simulate", in.rejected), p.ConfigToken, map[string]any{"state": "rejected", "error_code": "insufficientFunds"}))
	in.endpoint = newReceiver(p.t, 500, "no")
	in.stopped = p.register("PAYMENT_STATE_UPDATED", in.endpoint.URL, "shop")
	for range 12 {
		p.pay()
	}
	in.user, in.token = p.user()
	in.connection = p.connect(in.token, "down")
	return in
}

// TestTasksOfOperators does the usual first tasks of operators through the pages, in a browser.
func TestTasksOfOperators(t *testing.T) {
	t.Parallel()
	time := newClock()
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{Now: time.now})
	p := newPerson(t, s, 1280, 900)
	_, password, err := p.Operators.Create(t.Context(), "zoe", operators.Administrator)
	must(t, err)
	in := p.trouble()
	p.open("/console/")
	p.typeAndGo("main button", "#name", "zoe", "#password", password)
	p.do(servicetest.Shown(`.figures`))
	for _, one := range []struct {
		name string
		do   func(k *task)
	}{
		{"find a payment from the last four of an IBAN", func(k *task) {
			k.types("#find", "0189")
			k.clicks++
			k.do(chromedp.KeyEvent("\r"), servicetest.Shown(`main table`))
			k.click(fmt.Sprintf(`main a[href$="/payments/%d"]`, in.paid))
			k.reads("99.00 EUR")
		}},
		{"say why a payment was rejected and what to do", func(k *task) {
			k.choose("Payments")
			k.choose("Rejected")
			k.click(fmt.Sprintf(`main a[href$="/payments/%d"]`, in.rejected))
			k.reads("The account does not have enough money.", "Have the payer choose another account")
		}},
		{"revive a stopped webhook", func(k *task) {
			in.endpoint.turn(200)
			k.reads("sends only retries after 10 failures in a row", "It sends all when the endpoint accepts one.")
			k.choose("Fix the endpoint, then send the waiting events")
			k.reads("The last 10 requests failed.", "Fix the endpoint, then send the waiting events.", "The next attempt is")
			k.choose("Send waiting events now")
			p.OK(p.Call("POST", "/sandbox/run", p.ConfigToken, nil))
			w, err := p.DB.Webhooks(t.Context(), store.WebhookFilter{Domain: p.Domain.ID, Failing: true}, store.Window{Limit: 10})
			must(t, err)
			if len(w) != 0 {
				t.Errorf("failing are %+v", w)
			}
		}},
		{"find the failing connection of a user, and its remedy", func(k *task) {
			k.choose("Failing connections")
			k.click(fmt.Sprintf(`main a[href$="/connections/%d"]`, in.connection))
			k.reads("What to do", "The bank cannot be reached. The service retries automatically.", fmt.Sprint("user ", in.user))
			if got := k.value(`document.querySelector(".tabs [aria-current]").textContent`); got != "Connections" {
				t.Errorf("the current tab is %q", got)
			}
		}},
		{"make a client and a webhook", func(k *task) {
			k.choose("Applications")
			k.types("#name", "Corner shop")
			k.choose("Create application")
			k.reads("Copy it now. It is shown only once")
			k.choose("Register webhook for this application")
			k.types("#url", in.endpoint.URL)
			k.choose("Register webhook")
			k.reads("The webhook was registered.")
		}},
		{"read what an event means", func(k *task) {
			k.choose("Webhooks")
			k.click(fmt.Sprintf(`main a[href$="/webhooks/%d"]`, in.stopped))
			k.reads("PAYMENT_STATE_UPDATED", "Sent", "after the state of a payment changes")
		}},
		{"search for an event", func(k *task) {
			k.types("#find", "account_found")
			k.clicks++
			k.do(chromedp.KeyEvent("\r"), servicetest.Shown(`main .found`))
			k.reads("ACCOUNT_FOUND: sent after a new bank account is discovered")
		}},
		{"turn the second factor on", func(k *task) {
			k.click(`header a[href$="/account"]`)
			k.types("#proof", password)
			k.choose("Set up second factor")
			k.do(servicetest.Shown(".qr"))
			k.types("#code", phoneCode(t, k.value(`document.querySelector(".key").textContent`), time.now()))
			k.choose("Turn on")
			k.reads("The second factor is on.")
		}},
	} {
		t.Run(one.name, func(t *testing.T) {
			p.open(p.domainPath(""))
			p.do(servicetest.Shown(`.figures`))
			k := &task{person: p}
			began := now()
			one.do(k)
			if took := now().Sub(began); k.clicks > mostClicks || took > mostTime {
				t.Errorf("it takes %d clicks and %v", k.clicks, took)
			}
			t.Logf("%d clicks", k.clicks)
		})
	}
}

func now() time.Time { return time.Now() }
