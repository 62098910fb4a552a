package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
	"testing"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/initiation"
	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/payment"
)

// TestThePageAfterAnAct checks that the page after an act shows a confirmation once.
func TestThePageAfterAnAct(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		id := d.register("PAYMENT_STATE_UPDATED", "http://127.0.0.1:1/hook", nil)
		token := d.Token("payments:admin")
		hook, payment, other := d.webhookPath(id), d.paymentPath(d.Create(token, servicetest.Draft())), d.paymentPath(d.Create(token, servicetest.Draft()))
		client, receiver := d.domainPath("/clients/"+d.ClientID), d.domainPath("/simulation/receiver")
		user, _ := d.user()
		for _, act := range []struct {
			page, to, leads string
			values          []string
			done            string
		}{
			{hook, hook, hook, []string{"act", "disable webhook"}, "The webhook was disabled."},
			{hook, hook, hook, []string{"act", "enable webhook"}, "The webhook was enabled."},
			{hook, hook, hook, []string{"act", "delete webhook"}, "The webhook was deleted."},
			{hook, hook, hook, []string{"act", "restore webhook"}, "The webhook was restored."},
			{payment, payment, payment, []string{"act", "simulate payment", "state", "validating"}, "The change of state was simulated."},
			{other, other, other, []string{"act", "cancel payment"}, "The cancellation is in progress."},
			{client, client, client, []string{"name", "Renamed"}, "The application was changed."},
			{receiver, receiver + "/empty", receiver, nil, "The receiver has been emptied."},
			{d.userPath(user, ""), d.userPath(user, "/delete"), d.domainPath("/users"), []string{"number", fmt.Sprint(user)}, fmt.Sprintf("User %d was deleted.", user)},
		} {
			d.shows(act.page, nil, act.done)
			if a := d.submit(act.page, act.to, act.values...); a.location != act.leads {
				t.Fatalf("%q leads to %s: %d %s", act.values, a.location, a.status, a.body)
			}
			d.shows(act.leads, []string{act.done})
			d.shows(act.leads, nil, act.done)
		}
	})
}

// TestConfirmingIsAskedAbout checks that a page asks before an operator confirms a payment.
func TestConfirmingIsAskedAbout(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		d.OK(d.Call("POST", "/config", d.ConfigToken, map[string]any{"payment.auto_confirmation": "0"}))
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		_, err := d.Initiation.Validate(t.Context(), d.Domain, passerelle.PaymentID(id), initiation.Choice{
			Connector: sandbox.TestConnector, Fields: map[string]string{"use_case_pay": "decoupled"}, Validated: true, WebviewURL: d.Origin + "/before",
		})
		must(t, err)
		d.submit(d.paymentPath(id), d.paymentPath(id), "act", "resume payment")
		body := d.get(d.paymentPath(id)).body
		if !strings.Contains(body, "/confirm?act=confirm%20payment") || strings.Contains(body, `name="act" value="confirm payment"`) {
			t.Fatalf("there is no page that asks: %s", body)
		}
		d.shows(d.paymentPath(id)+"/confirm?act=confirm+payment", []string{"Confirm payment?", "12.50 EUR", "money moves"})
		d.submit(d.paymentPath(id)+"/confirm?act=confirm+payment", d.paymentPath(id), "act", "confirm payment")
		d.shows(d.paymentPath(id), []string{"The payment was confirmed."})
		if got := d.state(id); got != "done" {
			t.Errorf("the payment is %s", got)
		}
	})
}

// validated creates a payment and sends its order to the simulated bank. The payment can be
// cancelled.
func (d *fixture) validated() int64 {
	draft := servicetest.Draft()
	line(draft)["execution_date_type"] = "first_open_day"
	id := d.Create(d.Token("payments:admin"), draft)
	_, err := d.Initiation.Validate(d.t.Context(), d.Domain, passerelle.PaymentID(id), initiation.Choice{Connector: sandbox.TestConnector, Validated: true, WebviewURL: d.Origin + "/before"})
	must(d.t, err)
	return id
}

func TestACancellationThatWaits(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		id := d.validated()
		d.shows(d.paymentPath(id), nil, `id="approve-at"`)
		confirm := d.paymentPath(id) + "/confirm?act=cancel+payment"
		d.shows(confirm, []string{"The service asks the bank to cancel the payment. The bank may ask the payer to approve the cancellation."}, "The payment ends")
		d.submit(confirm, d.paymentPath(id), "act", "cancel payment")
		p, err := d.DB.Payment(t.Context(), d.Domain.ID, passerelle.PaymentID(id), false)
		must(t, err)
		address := html.EscapeString(p.ValidateURI)
		if p.Detail != payment.Cancelling || address == "" {
			t.Fatalf("the payment is %s, %s at %q", p.State, p.Detail, address)
		}
		const next = "The bank is waiting for the payer to confirm or refuse the cancellation on the bank&#39;s page."
		d.shows(d.paymentPath(id), []string{next, ">" + address + "</pre>", `data-copy="approve-at"`}, "has not responded")
		viewer := newFixture(t, d.Instance)
		viewer.enter(operators.Viewer)
		viewer.shows(d.paymentPath(id), []string{next}, address, `data-copy="approve-at"`)
	})
}

// TestACancellationWithoutABank checks what the console says before an operator cancels a payment
// whose states were only simulated: no bank has an order, so the payment ends at once.
func TestACancellationWithoutABank(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		draft := servicetest.Draft()
		draft["connector_uuid"], line(draft)["execution_date_type"] = sandbox.TestConnector, "first_open_day"
		id := d.Create(d.Token("payments:admin"), draft)
		d.simulate(id, "validating", "pending")
		confirm := d.paymentPath(id) + "/confirm?act=cancel+payment"
		d.shows(confirm, []string{"The payment ends, and no money moves."}, "asks the bank")
		d.submit(confirm, d.paymentPath(id), "act", "cancel payment")
		if got := d.state(id); got != "rejected" {
			t.Errorf("the payment is %s", got)
		}
	})
}

// forgetful is a bank that loses its response to an order, and later does not know the order.
type forgetful struct{ connector.Initiator }

func (f forgetful) Profile() connector.Profile {
	p := f.Initiator.Profile()
	p.Idempotent, p.Data = false, nil
	return p
}

func (forgetful) Initiate(context.Context, connector.Order) (payment.Report, error) {
	return payment.Report{}, errors.New("the answer is lost")
}

func (forgetful) Status(context.Context, connector.Order) (payment.Report, error) {
	return payment.Report{}, connector.ErrUnknownOrder
}

// TestSettling checks that an operator can settle a payment with an unknown outcome.
func TestSettling(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		bank, _ := d.Initiation.Connectors.Initiator(sandbox.TestConnector)
		must(t, d.Initiation.Connectors.Replace(forgetful{bank}))
		d.enter(operators.Acting)
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		d.shows(d.paymentPath(id), nil, "The bank executed it")
		_, err := d.Initiation.Validate(t.Context(), d.Domain, passerelle.PaymentID(id), initiation.Choice{Connector: sandbox.TestConnector, Validated: true, WebviewURL: d.Origin + "/before"})
		must(t, err)
		confirm := d.paymentPath(id) + "/confirm?act=settle+payment+as+done"
		d.shows(d.paymentPath(id), []string{"The bank did not confirm the order.", "The key of the order is ", "The bank executed it…", "The bank has it…", "The bank does not have it…", ">outcome unknown<"}, "has not chosen a bank", ">waits for the payer</span>")
		for _, list := range []string{"/payments", "/payments/unknown", fmt.Sprint("/search?q=", id)} {
			d.shows(d.domainPath(list), []string{`title="unknown">outcome unknown<`}, ">waits for the payer</span>")
		}
		d.shows(confirm, []string{"The bank executed it?", "12.50 EUR", "cannot be undone", `name="reason" required maxlength`})
		d.submit(confirm, d.paymentPath(id), "act", "settle payment as done")
		if got := d.state(id); got != "created" {
			t.Errorf("without a reason the payment is %s", got)
		}
		d.submit(confirm, d.paymentPath(id), "act", "settle payment as done", "reason", "Booked on 20 November, says the bank's desk.")
		d.shows(d.paymentPath(id), []string{"The payment was settled.", "Booked on 20 November", "settled"}, "The bank executed it")
		if got := d.state(id); got != "done" || !slices.Contains(d.acts(), fmt.Sprint("settle payment as done payment ", id)) {
			t.Errorf("the payment is %s, and on record is %v", got, d.acts())
		}
	})
}

// TestRefunds checks that a refund is a payment in the other direction, with at most the paid
// amount.
func TestRefunds(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		draft := servicetest.Draft()
		draft["payer"] = map[string]any{"scheme_name": "iban", "identification": "DE89370400440532013000", "label": "Erika M."}
		token := d.Token("payments:admin")
		id := d.Create(token, draft)
		form := d.paymentPath(id) + "/refund"
		if a := d.get(form); a.location != d.paymentPath(id) {
			t.Errorf("what is not paid is refunded: %d", a.status)
		}
		d.simulate(id, "validating", "pending", "done")
		d.shows(d.paymentPath(id), []string{`href="` + form + `"`})
		d.shows(form, []string{"12.50 EUR", "Erika M.", "No money moves until", `href="/docs/guides/payment-pages#the-link"`}, "DE89370400440532013000")
		if a := d.submit(form, form, "amount", "12.51", "label", "Sorry"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "Amount: must be more than 0 and at most 12.50") {
			t.Errorf("more than was paid: %d %s", a.status, a.body)
		}
		if a := d.submit(form, form, "amount", "0", "label", "Sorry"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "Amount: must be more than 0 and at most 12.50") {
			t.Errorf("nothing is refunded: %d %s", a.status, a.body)
		}
		if a := d.submit(form, form, "amount", "much", "label", "Sorry"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "Amount: ") {
			t.Errorf("no number as an amount: %d %s", a.status, a.body)
		}
		a := d.submit(form, form, "amount", "2.50", "label", "Sorry")
		made := idAt(t, a.location)
		var p struct {
			State        string
			Instructions []struct {
				Amount      json.Number
				Label       string
				Beneficiary struct{ Identification string }
			}
			Payer struct{ Identification string }
		}
		d.JSON(d.OK(d.Call("GET", fmt.Sprint("/payments/", made), d.Token("payments:read-only"), nil)), &p)
		got := fmt.Sprint(p.State, " ", p.Instructions[0].Amount, " ", p.Instructions[0].Label, " ", p.Instructions[0].Beneficiary.Identification, " ", p.Payer.Identification)
		if got != "created 2.50 Sorry DE89370400440532013000 FR7630006000011234567890189" {
			t.Errorf("the refund is %s", got)
		}
		d.shows(a.location, []string{fmt.Sprintf("The refund of payment %d was created.", id), "This payment refunds", `href="` + d.paymentPath(id) + `"`})
		if acts := d.acts(); len(acts) != 1 || acts[0] != fmt.Sprint("refund payment payment ", made) {
			t.Errorf("on record: %q", acts)
		}
		d.shows(d.paymentPath(id), []string{"Refunds", `href="` + d.paymentPath(made) + `"`, "2.50 EUR", "Left: <span class=\"digits\">10.00 EUR"})
		d.shows(form, []string{`value="10.00"`, "at most 10.00 EUR"})
		if a := d.submit(form, form, "amount", "10.01", "label", "Sorry"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "at most 10.00") {
			t.Errorf("more than is left: %d %s", a.status, a.body)
		}
		rest := idAt(t, d.submit(form, form, "amount", "10.00", "label", "Sorry").location)
		d.shows(d.paymentPath(id), []string{`href="` + d.paymentPath(rest) + `"`, "Left: <span class=\"digits\">0.00 EUR"}, `href="`+form+`"`)
		if a := d.submit(d.paymentPath(id), form, "amount", "0.01", "label", "Sorry"); a.status != http.StatusUnprocessableEntity {
			t.Errorf("what is refunded already is refunded once more: %d %s", a.status, a.body)
		}
		d.simulate(rest, "rejected")
		d.shows(d.paymentPath(id), []string{`href="` + d.paymentPath(rest) + `"`, "Left: <span class=\"digits\">10.00 EUR", `href="` + form + `"`})
		viewer := newFixture(t, d.Instance)
		viewer.enter(operators.Viewer)
		if a := viewer.submit("/console/account", form, "amount", "1.00", "label", "Mine"); a.status != http.StatusForbidden {
			t.Errorf("a viewer refunds: %d", a.status)
		}
	})
}

// paid creates a payment of 12.50 EUR with a known payer, and simulates that the bank executed it.
func (d *fixture) paid() int64 {
	draft := servicetest.Draft()
	draft["payer"] = map[string]any{"scheme_name": "iban", "identification": "DE89370400440532013000", "label": "Erika M."}
	id := d.Create(d.Token("payments:admin"), draft)
	d.simulate(id, "validating", "pending", "done")
	return id
}

func (d *fixture) simulate(id int64, states ...string) {
	for _, state := range states {
		d.OK(d.Call("POST", fmt.Sprintf("/sandbox/payments/%d/simulate", id), d.ConfigToken, map[string]any{"state": state}))
	}
}

// TestExpiredRefunds: a refund can expire although the bank may still execute its order. Such a
// refund must stay in the refunded amount. Otherwise, an operator could refund the same amount
// twice.
func TestExpiredRefunds(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		bank, _ := d.Initiation.Connectors.Initiator(sandbox.TestConnector)
		must(t, d.Initiation.Connectors.Replace(forgetful{bank}))
		d.enter(operators.Administrator)
		id := d.paid()
		page, form := d.paymentPath(id), d.paymentPath(id)+"/refund"
		left := func(amount string) string { return "Left: <span class=\"digits\">" + amount + " EUR" }
		refund := func(amount string) int64 {
			return idAt(t, d.submit(form, form, "amount", amount, "label", "Sorry").location)
		}
		d.simulate(refund("12.50"), "expired")
		d.shows(page, []string{left("12.50")}, "expired refunds")
		d.simulate(refund("10.00"), "validating", "pending", "expired")
		d.shows(page, []string{left("2.50"), "contains expired refunds"})
		d.shows(form, []string{"at most 2.50 EUR", "contains expired refunds"})
		if a := d.submit(form, form, "amount", "2.51", "label", "Sorry"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "at most 2.50") {
			t.Errorf("more than is left: %d %s", a.status, a.body)
		}
		unknown := refund("2.00")
		_, err := d.Initiation.Validate(t.Context(), d.Domain, passerelle.PaymentID(unknown), initiation.Choice{Connector: sandbox.TestConnector, Validated: true, WebviewURL: d.Origin + "/before"})
		must(t, err)
		clock := d.domainPath("/simulation/clock")
		d.submit(d.domainPath("/simulation"), clock, "freeze", "yes")
		d.submit(d.domainPath("/simulation"), clock, "advance", "40d")
		if got := d.state(unknown); got != "expired" {
			t.Fatalf("the refund with an unknown outcome is %s", got)
		}
		d.shows(page, []string{left("0.50")})
	})
}

func TestChangedRedirectURIs(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		done, waiting, created := d.paid(), d.validated(), d.Create(d.Token("payments:admin"), servicetest.Draft())
		d.OK(d.Call("PUT", "/clients/"+d.ClientID, d.ConfigToken, map[string]any{"redirect_uris": []string{"https://new.example/back"}}))
		for _, id := range []int64{waiting, created} {
			d.submit(d.paymentPath(id), d.paymentPath(id), "act", "cancel payment")
		}
		d.shows(d.paymentPath(waiting), []string{"waiting for the payer to confirm or refuse the cancellation"})
		if got := d.state(created); got != "rejected" {
			t.Errorf("the cancelled payment is %s", got)
		}
		form := d.paymentPath(done) + "/refund"
		a := d.submit(form, form, "amount", "2.50", "label", "Sorry")
		d.shows(d.paymentPath(idAt(t, a.location)), []string{"This payment refunds", "https://new.example/back"}, "https://shop.example/back")
	})
}

func TestSignInsAreInTheAuditLog(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		d.shows(d.domainPath("/audit"), []string{"of the deployment: sign-ins"}, ">sign in<")
		d.shows(d.domainPath("/audit?of=deployment"), []string{">sign in<", "some-viewer"})
	})
}

func TestTheReceiverIsFiltered(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Developer)
		d.Subscribe("PAYMENT_STATE_UPDATED", "shop")
		d.pay()
		d.Received("shop")
		for range 12 {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.Origin+"/sandbox/receiver/odd", strings.NewReader(`{"a":{"b":[1.50]}}`))
			must(t, err)
			d.do(request)
		}
		list := d.domainPath("/simulation/receiver")
		first := d.shows(list, []string{"<b>&#34;a&#34;</b>", "1.50", `rel="next"`}, `rel="prev"`)
		second := d.shows(list+link(t, first, "next"), []string{"shop <small>", `rel="prev"`})
		d.shows(list+link(t, second, "prev"), []string{"odd <small>"}, "shop <small>")
		d.shows(list+"?name=shop", []string{"shop <small>"}, "odd <small>")
		d.shows(list+"?signature=valid", []string{"shop <small>"}, "odd <small>")
		d.shows(list+"?signature=other", []string{"odd <small>"}, "shop <small>")
		d.shows(list+"?name=nobody", []string{"No requests match."})
	})
}

func TestColumnsAndViews(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		d.shop()
		d.shows(d.domainPath("/payments"), []string{"<strong>3</strong> payments", ">Bank</th>"}, ">End-to-end id</th>")
		d.shows(d.domainPath("/payments?column=reference"), []string{">End-to-end id</th>", "MAY-1"}, ">Bank</th>")
		d.shows(d.domainPath("/payments?column=nothing"), []string{">Bank</th>"})
		d.shows(d.domainPath("/payments?state=rejected"), []string{`aria-current="page">Rejected</a>`, "<strong>0</strong> payments"})
	})
}
