package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"passerelle/internal/admission"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

func TestWebhooksInABrowser(t *testing.T) {
	for _, size := range []struct {
		name          string
		width, height int64
	}{{"desktop", 1280, 900}, {"phone", 390, 844}} {
		t.Run(size.name, func(t *testing.T) {
			s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
			p := newPerson(t, s, size.width, size.height)
			p.enterByForm()
			p.useWebhooks(size.name + "-webhook")
		})
	}
}

// enterByForm makes an administrator who signs in.
func (p *person) enterByForm() {
	p.t.Helper()
	_, password, err := p.Admission.Create(p.t.Context(), "zoe", admission.Administrator)
	must(p.t, err)
	p.open("/console/")
	p.typeAndGo("main button", "#name", "zoe", "#password", password)
	p.do(chromedp.WaitVisible(`.figures`))
}

// clear empties a field and types something else.
func (p *person) clear(field, text string) {
	p.t.Helper()
	p.value(fmt.Sprintf(`document.querySelector(%q).value = ""`, field))
	p.do(chromedp.SendKeys(field, text))
}

// useWebhooks goes through all pages of webhooks, with every form sent wrong and
// right.
func (p *person) useWebhooks(name string) {
	t := p.t
	to := newReceiver(t, 500, hostile)
	p.do(chromedp.Click(`header a[href$="/webhooks"]`), chromedp.WaitVisible(`main .button`))
	p.checked(name + "s-none")

	p.do(chromedp.Click(`a[href$="/auth"]`), chromedp.WaitVisible(`a[href$="/auth/new"]`), chromedp.Click(`a[href$="/auth/new"]`), chromedp.WaitVisible(`#name`))
	p.checked(name + "-provider-form")
	p.typeAndGo("main button", "#name", "<signer>")
	p.do(chromedp.WaitVisible(`.problem`))
	p.clear("#name", "signer")
	p.do(chromedp.Click("main button"), chromedp.WaitVisible(`.key`))
	p.checked(name + "-provider")
	p.clear("#overlap", "long")
	p.do(chromedp.Click(`form[action$="/rotate"] button`), chromedp.WaitVisible(`.problem`))
	p.clear("#overlap", "2d")
	p.do(chromedp.Click(`form[action$="/rotate"] button`), chromedp.WaitVisible(`.key`))
	p.open(p.webhooksPath("/auth"))
	p.checked(name + "-providers")

	p.open(p.webhooksPath("/new"))
	p.typeAndGo("main button", "#url", "nowhere", "#auth", "signer")
	p.do(chromedp.WaitVisible(`.problem`))
	p.checked(name + "-form-wrong")
	p.clear("#url", to.URL+"/hook?planted=<b>")
	p.do(chromedp.Click("main button"), chromedp.WaitVisible(`.problem`))
	p.clear("#url", to.URL+"/hook?planted=b")
	p.do(chromedp.Click("main button"), chromedp.WaitVisible(`.figures`))
	p.do(chromedp.Click(`a[href$="/edit"]`), chromedp.WaitVisible(`#event`))
	p.checked(name + "-form")
	p.do(chromedp.Click("main button"), chromedp.WaitVisible(`.figures`))

	p.do(chromedp.Click(`a[href$="/test"]`), chromedp.WaitVisible(`#data`))
	p.checked(name + "-test")
	p.clear("#data", "{\n\"a\": }")
	p.do(chromedp.Click("main button"), chromedp.WaitVisible(`.problem`))
	if told := p.value(`document.querySelector(".problem").textContent`); !strings.Contains(told, "line 2") {
		t.Errorf("the mistake is told as %s", told)
	}
	p.checked(name + "-test-wrong")
	p.clear("#data", `{"label": "`+strings.NewReplacer(`"`, `\"`).Replace(hostile)+`"}`)
	p.do(chromedp.Click("main button"), chromedp.WaitVisible(`pre.bytes`))
	p.checked(name + "-delivery")
	if shown := p.value(`document.querySelector("main").innerText`); strings.Count(shown, hostile) != 1 || !strings.Contains(shown, "planted") {
		t.Errorf("the hostile answer is not shown as it is: %s", shown)
	}
	p.do(chromedp.Click(`form[action$="/resend"] button`), chromedp.WaitVisible(`tbody tr:nth-child(2)`))
	if got := len(to.all()); got != 2 {
		t.Errorf("%d requests", got)
	}
	p.checkBox(name, to.all()[1])
	p.actInTheBrowser(name)
}

// checkBox pastes a request that arrived into the form that checks its signature.
func (p *person) checkBox(name string, got received) {
	p.t.Helper()
	p.open(p.webhooksPath("/verify"))
	p.typeAndGo("main button", "#auth", "signer", "#url", got.path, "#date", got.header.Get("SVC-Signature-Date"),
		"#signature", got.header.Get("SVC-Signature"), "#body", got.body+"x")
	p.do(chromedp.WaitVisible(`.problem`))
	p.checked(name + "-verify-wrong")
	p.clear("#body", got.body)
	p.do(chromedp.Click("main button"), chromedp.WaitVisible(`.message`))
	p.checked(name + "-verify")
}

// actInTheBrowser presses the buttons of the page of a webhook.
func (p *person) actInTheBrowser(name string) {
	p.t.Helper()
	p.pay()
	p.open(p.webhooksPath(""))
	p.checked(name + "s")
	p.do(chromedp.Click(`tbody a`), chromedp.WaitVisible(`.figures`))
	p.checked(name)
	p.typeAndGo(`form:has(#since) button`, "#since", "2026")
	p.do(chromedp.WaitVisible(`p[role="status"]`))
	p.typeAndGo(`form:has(#since) button`, "#since", "soon")
	p.do(chromedp.WaitVisible(`.problem`))
	press := func(act, state string) {
		p.t.Helper()
		p.do(chromedp.Click(fmt.Sprintf(`form:has([value=%q]) button`, act)), chromedp.WaitVisible(fmt.Sprintf(`h1 [data-state=%q]`, state)))
	}
	press("disable webhook", "disabled")
	press("enable webhook", "in use")
	press("delete webhook", "deleted")
	p.checked(name + "-deleted")
	press("restore webhook", "in use")
}

// No page about webhooks makes the browser complain.
func TestABrowserHasNothingToSayOfWebhooks(t *testing.T) {
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	p := newPerson(t, s, 1280, 900)
	to := newReceiver(t, 500, hostile)
	p.Subscribe("USER_CREATED", "signer")
	provider, err := p.DB.AuthProviderNamed(t.Context(), p.Domain.ID, "signer")
	must(t, err)
	id := p.register("PAYMENT_STATE_UPDATED", to.URL, "signer")
	p.pay()
	data := number(t, p.deliveries(id)[0]["id"])
	p.enterByForm()
	seen := []string{
		p.webhooksPath(""), p.webhooksPath("?all"), p.webhooksPath("/new"), p.webhookPath(id), p.webhookPath(id) + "/edit", p.webhookPath(id) + "/test",
		p.dataPath(id, data), p.webhooksPath("/auth"), p.webhooksPath("/auth/new"), p.webhooksPath(fmt.Sprint("/auth/", provider.ID)), p.webhooksPath("/verify"),
	}
	for _, path := range seen {
		p.open(path)
		p.do(chromedp.WaitVisible(`h1`))
	}
	p.silent(seen)
}
