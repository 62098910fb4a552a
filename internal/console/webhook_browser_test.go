package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

func TestWebhooksInABrowser(t *testing.T) {
	t.Parallel()
	for _, size := range []struct {
		name          string
		width, height int64
	}{{"desktop", 1280, 900}, {"phone", 390, 844}} {
		for name, work := range map[string]func(p *person, name string){"tests": (*person).useTests, "acts": (*person).useActs} {
			t.Run(size.name+" "+name, func(t *testing.T) {
				t.Parallel()
				p := newPerson(t, servicetest.Start(t, storetest.SQLite(t), servicetest.Options{}), size.width, size.height)
				p.enterByForm()
				work(p, size.name+"-webhook")
			})
		}
	}
}

func (p *person) enterByForm() {
	p.t.Helper()
	_, password, err := p.Operators.Create(p.t.Context(), "zoe", operators.Administrator)
	must(p.t, err)
	p.open("/console/")
	p.typeAndGo("main button", "#name", "zoe", "#password", password)
	p.do(servicetest.Shown(`.figures`))
}

// clear empties a field and types a text into it.
func (p *person) clear(field, text string) {
	p.t.Helper()
	p.value(fmt.Sprintf(`document.querySelector(%q).value = ""`, field))
	p.do(chromedp.SendKeys(field, text))
}

func (p *person) useTests(name string) {
	t := p.t
	to := newReceiver(t, 500, hostile)
	p.Subscribe("USER_CREATED", "signer")
	id := p.register("PAYMENT_STATE_UPDATED", to.URL+"/hook", "signer")
	p.open(p.webhookPath(id))
	p.do(servicetest.Follow(`a[href$="/test"]`), servicetest.Shown(`#data`))
	p.checked(name + "-test")
	p.clear("#data", "{\n\"a\": }")
	p.do(servicetest.Follow("main button"), servicetest.Shown(`.problem`))
	if reported := p.value(`document.querySelector(".problem").textContent`); !strings.Contains(reported, "line 2") {
		t.Errorf("the mistake is told as %s", reported)
	}
	p.clear("#data", `{"label": "`+strings.ReplaceAll(hostile, `"`, `\"`)+`"}`)
	p.do(servicetest.Follow("main button"), servicetest.Shown(`pre.bytes`))
	p.checked(name + "-delivery")
	if shown := p.value(`document.querySelector("main").innerText`); strings.Count(shown, hostile) != 1 || !strings.Contains(shown, "planted") {
		t.Errorf("the hostile answer is not shown as it is: %s", shown)
	}
	p.do(servicetest.Follow(`form[action$="/resend"] button`), servicetest.Shown(`tbody tr:nth-child(2)`))
	if got := len(to.all()); got != 2 {
		t.Errorf("%d requests", got)
	}
	p.checkBox(name, to.all()[1])
}

// checkBox pastes a received request into the form that checks its signature.
func (p *person) checkBox(name string, got received) {
	p.t.Helper()
	p.open(p.webhooksPath("/verify"))
	p.typeAndGo("main button", "#auth", "signer", "#url", got.path, "#date", got.header.Get("SVC-Signature-Date"),
		"#signature", got.header.Get("SVC-Signature"), "#body", got.body+"x")
	p.do(servicetest.Shown(`.problem`))
	p.checked(name + "-verify-wrong")
	p.clear("#body", got.body)
	p.do(servicetest.Follow("main button"), servicetest.Shown(`.message`))
	p.checked(name + "-verify")
}

func (p *person) useActs(name string) {
	p.t.Helper()
	p.open(p.webhooksPath("/new"))
	p.typeAndGo("main button", "#url", "nowhere")
	p.do(servicetest.Shown(`.problem`))
	p.checked(name + "-form-wrong")
	p.clear("#url", newReceiver(p.t, 500, hostile).URL+"/hook?planted=b")
	p.do(servicetest.Follow("main button"), servicetest.Shown(`.figures`))
	p.do(servicetest.Follow(`a[href$="/edit"]`), servicetest.Shown(`#event`))
	p.checked(name + "-form")
	p.do(servicetest.Follow("main button"), servicetest.Shown(`.figures`))
	p.pay()
	p.open(p.webhooksPath(""))
	p.checked(name + "s")
	p.do(servicetest.Follow(`tbody a`), servicetest.Shown(`.figures`))
	p.checked(name)
	p.do(chromedp.Click(`details:has(#since) > summary`))
	p.clear("#since", "2026")
	p.do(servicetest.Follow(`form:has(#since) button`))
	p.do(servicetest.Shown(`p[role="status"]`), servicetest.Shown(`section.problem`)) // the page reloads until the service has sent the events
	p.do(chromedp.Click(`details:has(#since) > summary`))
	p.clear("#since", "soon")
	p.do(servicetest.Follow(`form:has(#since) button`))
	p.do(servicetest.Shown(`.problem`))
	press := func(act, state string) {
		p.t.Helper()
		p.do(servicetest.Follow(fmt.Sprintf(`form:has([value=%q]) button`, act)), servicetest.Shown(fmt.Sprintf(`h1 [data-state=%q]`, state)))
	}
	press("disable webhook", "disabled")
	press("enable webhook", "enabled")
	p.do(chromedp.Click(`details:has([value="delete webhook"]) > summary`))
	press("delete webhook", "deleted")
	p.checked(name + "-deleted")
	press("restore webhook", "enabled")
}

func TestNoWebhookPageCausesBrowserMessages(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	p := newPerson(t, s, 1280, 900)
	to := newReceiver(t, 500, hostile)
	p.Subscribe("USER_CREATED", "signer")
	id := p.register("PAYMENT_STATE_UPDATED", to.URL, "signer")
	p.pay()
	data := number(t, p.deliveries(id)[0]["id"])
	p.enterByForm()
	seen := []string{
		p.webhooksPath(""), p.webhooksPath("?all"), p.webhooksPath("/new"), p.webhookPath(id), p.webhookPath(id) + "/edit", p.webhookPath(id) + "/test",
		p.dataPath(id, data), p.webhooksPath("/verify"),
		p.providersPath(""), p.providersPath("/new?type=oauth"), p.providersPath(fmt.Sprint("/", p.onlyProvider().ID)),
	}
	for _, path := range seen {
		p.open(path)
		p.do(servicetest.Shown(`h1`))
	}
	p.says.Silent(t)
}
