package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/initiation"
	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
)

func arrive(t *testing.T, role operators.Role, width, height int64) *person {
	t.Helper()
	return arriveAt(t, servicetest.Start(t, storetest.SQLite(t), servicetest.Options{}), role, width, height)
}

func arriveAt(t *testing.T, s *servicetest.Instance, role operators.Role, width, height int64) *person {
	t.Helper()
	p := newPerson(t, s, width, height)
	_, password, err := p.Operators.Create(t.Context(), "zoe", role)
	must(t, err)
	p.open("/console/")
	p.typeAndGo("main button", "#name", "zoe", "#password", password)
	p.do(servicetest.Shown(`.figures`))
	return p
}

// The script updates lists and payments in place. The focus stays, screen readers get an
// announcement, and typed text does not change.
func TestPagesAreRenewedInABrowser(t *testing.T) {
	t.Parallel()
	p := arrive(t, operators.Developer, 1280, 900)
	token := p.Token("payments:admin")
	first := p.Create(token, servicetest.Draft())
	p.open(p.domainPath("/payments"))
	p.do(servicetest.Shown(fmt.Sprintf(`a[href$="/payments/%d"]`, first)), chromedp.Click(`.selection summary`), chromedp.SendKeys(`#label`, "half a wo"))
	p.value(fmt.Sprintf(`document.querySelector('a[href$="/payments/%d"]').focus()`, first))
	second := p.Create(token, servicetest.Draft())
	p.do(servicetest.Shown(fmt.Sprintf(`a[href$="/payments/%d"]`, second)))
	for script, want := range map[string]string{
		`document.getElementById("label").value`:                   "half a wo",
		`document.activeElement.getAttribute("href")`:              p.paymentPath(first),
		`performance.getEntriesByType("navigation").length`:        "1",
		`document.getElementById("said").getAttribute("role")`:     "status",
		`document.querySelectorAll("[data-live] tbody tr").length`: "2",
	} {
		if got := p.value(script); got != want {
			t.Errorf("%s is %q, want %q", script, got, want)
		}
	}
	p.open(p.paymentPath(first))
	p.do(servicetest.Shown(`.state[data-state="created"]`))
	p.OK(p.Call("POST", fmt.Sprintf("/sandbox/payments/%d/simulate", first), p.ConfigToken, map[string]any{"state": "validating"}))
	p.do(servicetest.Shown(`.state[data-state="validating"]`), servicetest.Shown(`#said:not(:empty)`))
	if got, want := p.value(`document.getElementById("said").textContent`), fmt.Sprintf("Payment %d is now in this state: waits for approval.", first); got != want {
		t.Errorf("readers are told %q, want %q", got, want)
	}
	p.says.Silent(t)
}

func TestSavingAFileInABrowser(t *testing.T) {
	t.Parallel()
	p := arrive(t, operators.Acting, 1280, 900)
	p.shop()
	p.open(p.domainPath("/payments?label=rent"))
	p.value(`URL.createObjectURL = (file) => { file.text().then((text) => { window.saved = text; }); return "#"; }`)
	p.do(chromedp.Click(`form.file button[name="whole"]`), servicetest.Shown(`form.file output:not(:empty)`))
	for !strings.Contains(p.value(`document.querySelector("form.file output").textContent + " " + (window.saved ?? "")`), "saved. payment,registered") {
		if p.ctx.Err() != nil {
			t.Fatal("nothing was saved: " + p.value(`document.querySelector("form.file output").textContent`))
		}
	}
	saved := p.value(`window.saved`)
	if !strings.Contains(saved, "Rent May") || strings.Contains(saved, "=cmd") {
		t.Errorf("saved was %s", saved)
	}
	if got := p.acts(); len(got) != 1 || got[0] != "export personal data  0" {
		t.Errorf("on record: %q", got)
	}
}

func TestSimulationInABrowser(t *testing.T) {
	t.Parallel()
	for _, window := range []struct {
		name          string
		width, height int64
	}{{"desktop", 1280, 900}, {"phone", 390, 844}} {
		t.Run(window.name, func(t *testing.T) {
			t.Parallel()
			p := arrive(t, operators.Developer, window.width, window.height)
			p.Subscribe("PAYMENT_STATE_UPDATED", "shop")
			p.follow("/simulation")
			p.do(servicetest.Shown(`#advance`))
			p.checked(window.name + "-simulation")
			p.typeAndGo(`form:has(#advance) button`, "#advance", "36h")
			p.do(servicetest.Shown(`section[role="status"]`))
			p.checked(window.name + "-simulation-moved")
			p.follow("/scenarios")
			p.do(servicetest.Shown(`button[value="plain"]`))
			p.checked(window.name + "-scenarios")
			p.do(servicetest.Follow(`button[value="plain"]`), servicetest.Shown(`section[role="status"] a`))
			p.Received("shop")
			p.do(servicetest.Follow(`section[role="status"] a`), servicetest.Shown(`.state[data-state="done"]`))
			p.checked(window.name + "-payment-done")
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.Origin+"/sandbox/receiver/odd", strings.NewReader(hostile))
			must(t, err)
			p.fixture.do(request)
			p.open(p.domainPath("/simulation/receiver"))
			p.do(servicetest.Shown(`[data-live] pre`))
			p.checked(window.name + "-receiver")
			p.do(chromedp.Click(`details:has(form[action$="/empty"]) > summary`), servicetest.Follow(`form[action$="/empty"] button`), servicetest.Shown(`[data-live] p.card`))
			p.says.Silent(t)
		})
	}
}

// The console asks the operator before it confirms a payment. The form for a refund refuses an
// amount that is too high.
func TestActsOnMoneyInABrowser(t *testing.T) {
	t.Parallel()
	for _, window := range []struct {
		name          string
		width, height int64
	}{{"desktop", 1280, 900}, {"phone", 390, 844}} {
		t.Run(window.name, func(t *testing.T) {
			t.Parallel()
			p := arrive(t, operators.Acting, window.width, window.height)
			p.OK(p.Call("POST", "/config", p.ConfigToken, map[string]any{"payment.auto_confirmation": "0"}))
			token := p.Token("payments:admin")
			id := p.Create(token, servicetest.Draft())
			_, err := p.Initiation.Validate(t.Context(), p.Domain, passerelle.PaymentID(id), initiation.Choice{
				Connector: sandbox.TestConnector, Fields: map[string]string{"use_case_pay": "decoupled"}, Validated: true, WebviewURL: p.Origin + "/before",
			})
			must(t, err)
			_, err = p.Initiation.Answer(t.Context(), p.Domain, passerelle.PaymentID(id), payment.ByClient, initiation.ActionAnswer{Action: payment.Decoupled, Yes: true})
			must(t, err)
			p.open(p.paymentPath(id))
			p.do(servicetest.Follow(`a[href*="act=confirm"]`), servicetest.Shown(`.amount`))
			p.checked(window.name + "-payment-send")
			p.do(servicetest.Follow(`main .pair button`), servicetest.Shown(`.state[data-state="done"]`), chromedp.Click(`.timeline details summary`))
			p.checked(window.name + "-payment-sent")

			paid := servicetest.Draft()
			paid["payer"] = map[string]any{"scheme_name": "iban", "identification": "DE89370400440532013000", "label": hostile}
			id = p.Create(token, paid)
			for _, state := range []string{"validating", "pending", "done"} {
				p.OK(p.Call("POST", fmt.Sprintf("/sandbox/payments/%d/simulate", id), p.ConfigToken, map[string]any{"state": state}))
			}
			p.open(p.paymentPath(id))
			p.do(servicetest.Follow(`a[href$="/refund"]`), servicetest.Shown(`#amount`))
			p.checked(window.name + "-refund")
			p.says.Silent(t) // the browser logs the refusal that follows
			p.value(`document.getElementById("amount").value = "12.51"`)
			p.do(servicetest.Follow(`main form button`), servicetest.Shown(`.problem`))
			p.checked(window.name + "-refund-wrong")
			p.value(`document.getElementById("amount").value = "2.50"`)
			p.do(servicetest.Follow(`main form button`), servicetest.Shown(`.state[data-state="created"]`))
			p.checked(window.name + "-refund-made")
		})
	}
}
