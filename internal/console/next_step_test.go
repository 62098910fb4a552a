package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/operators"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
)

// TestEmptyListsOfANewDomain checks that lists of a new domain do not suggest to clear a filter that
// nobody has set, and that the list of banks says how to add banks.
func TestEmptyListsOfANewDomain(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		live, err := service.EnsureDomain(t.Context(), d.DB, passerelle.Domain{Name: "shop", Kind: passerelle.Live, BaseURL: "https://shop.example/2.0", Created: d.Domain.Created})
		must(t, err)
		at := func(path string) string { return fmt.Sprint("/console/domains/", live.ID, path) }
		d.shows(at("/tokens"), []string{"No config or users tokens yet."}, "Clear the filter", "No tokens match")
		d.shows(at("/tokens?all=1"), []string{"No tokens match.", "Clear the filter"})
		d.shows(at("/audit"), []string{"No acts yet."}, "Clear the filter", "No acts match")
		d.shows(at("/audit?act=x"), []string{"No acts match.", "Clear the filter"})
		d.shows(at("/connections"), []string{"No connection fails."}, "No connections match")
		d.shows(at("/connectors"), []string{`href="/docs/guides/banks"`, `href="/console/programs"`})
	})
}

// TestAnEmptyReceiver checks that the page of the receiver without requests says how to get some.
func TestAnEmptyReceiver(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Developer)
		receiver, register := d.domainPath("/simulation/receiver"), d.domainPath("/webhooks/new")
		d.shows(receiver, []string{"No requests yet.", register})
		d.shows(register, []string{"Register webhook"})
	})
}

// TestMistakesNameTheFieldOnThePage checks that a mistake in a search names the field as the page
// does.
func TestMistakesNameTheFieldOnThePage(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		for _, list := range []string{"/tokens", "/users"} {
			if a := d.get(d.domainPath(list + "?id=x")); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, ">Number: must be") || !strings.Contains(a.body, "<title>That did not work: ") {
				t.Errorf("%s: %d %s", list, a.status, a.body)
			}
		}
	})
}

// TestAPaymentWithAChosenBank checks that the page of a payment names the next step when the
// application has chosen the bank.
func TestAPaymentWithAChosenBank(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		draft := servicetest.Draft()
		draft["connector_uuid"] = sandbox.TestConnector
		id := d.Create(d.Token("payments:admin"), draft)
		d.shows(d.paymentPath(id), []string{"The payer has not ordered the payment yet."}, "has not chosen a bank")
	})
}

// TestFormsKeepInput checks that a form with a mistake still has the operator's input.
func TestFormsKeepInput(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		clock := d.domainPath("/simulation")
		d.wants(clock, clock+"/clock", http.StatusUnprocessableEntity, `name="advance" value="soon"`, "advance", "soon")
		d.wants(clock, clock+"/clock", http.StatusUnprocessableEntity, `name="set" value="tomorrow"`, "set", "tomorrow")
		d.Subscribe("PAYMENT_STATE_UPDATED", "first")
		hooks, err := d.DB.Webhooks(t.Context(), store.WebhookFilter{Domain: d.Domain.ID}, store.Window{Limit: 1})
		must(t, err)
		hook := d.webhookPath(int64(hooks[0].ID))
		d.wants(hook, hook, http.StatusUnprocessableEntity, `name="since" value="yesterday"`, "act", "recover webhook", "since", "yesterday")
		if body := d.get(hook).body; strings.Contains(body, "0 in a row") {
			t.Errorf("a webhook without failures counts them: %s", body)
		}
		bank, known := d.Initiation.Connectors.Initiator(sandbox.TestConnector)
		if !known {
			t.Fatal("the test bank is not there")
		}
		connector := d.domainPath(fmt.Sprint("/connectors/", bank.Profile().ID))
		d.wants(connector, connector, http.StatusUnprocessableEntity, `<option value="1" selected>hidden`, "hidden", "1", "mechanism", "", "days", "x")
	})
}

// TestDeliveriesLeadToTheirPayments checks that the list of a webhook's deliveries links to the
// payments that the deliveries are about.
func TestDeliveriesLeadToTheirPayments(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		d.Subscribe("PAYMENT_STATE_UPDATED", "first")
		hooks, err := d.DB.Webhooks(t.Context(), store.WebhookFilter{Domain: d.Domain.ID}, store.Window{Limit: 1})
		must(t, err)
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		d.simulate(id, "validating")
		d.shows(d.webhookPath(int64(hooks[0].ID)), []string{fmt.Sprintf(`<a href="%s">payment %d</a>`, d.paymentPath(id), id)})
	})
}

// TestForgottenPasswords checks that the sign-in page says what to do without a password.
func TestForgottenPasswords(t *testing.T) {
	each(t, func(_ *testing.T, d *fixture) {
		d.shows("/console/sign-in", []string{"Forgot your password?", "passerelle operator password"})
	})
}
