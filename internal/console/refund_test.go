package console_test

import (
	"fmt"
	"net/http"
	"testing"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/initiation"
	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
)

// atBank is the bank of all accounts whose numbers begin with a prefix.
type atBank struct {
	connector.Initiator
	number int64
	prefix string
}

func (b atBank) Profile() connector.Profile {
	p := b.Initiator.Profile()
	settings := *p.Payments
	settings.Accounts.IBANs = []string{b.prefix}
	p.Payments, p.Data, p.Sources, p.ID = &settings, nil, nil, b.number
	p.UUID = fmt.Sprintf("%08d%s", b.number, p.UUID[8:])
	return p
}

// TestRefundFromAnotherAccount: the payee approves a refund from an account other than the one that
// received the payment. Without this refund in the refunded amount, an operator could refund twice.
func TestRefundFromAnotherAccount(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		id := d.paid()
		form := d.paymentPath(id) + "/refund"
		refund := idAt(t, d.submit(form, form, "amount", "10.00", "label", "Sorry").location)
		_, err := d.Initiation.Validate(t.Context(), d.Domain, passerelle.PaymentID(refund), initiation.Choice{
			Connector: sandbox.TestConnector, Validated: true, WebviewURL: d.Origin + "/before",
			Payer: &passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7699999000000000000000033", Label: "Second account"},
		})
		must(t, err)
		d.shows(d.paymentPath(id), []string{`href="` + d.paymentPath(refund) + `"`, "Left: <span class=\"digits\">2.50 EUR"})
		d.shows(d.paymentPath(refund), []string{"This payment refunds"})
		if a := d.submit(form, form, "amount", "10.00", "label", "Sorry"); a.status != http.StatusUnprocessableEntity {
			t.Errorf("the refund can be made again: %d %s", a.status, a.body)
		}
	})
}

// TestRefundAtAnotherBank: the payer and the payee of a payment have accounts at different banks.
// The refund must not require the payer's bank, because the payee approves the refund.
func TestRefundAtAnotherBank(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		able, _ := d.Initiation.Connectors.Initiator(sandbox.TestConnector)
		ofPayer, ofPayee := atBank{able, 1, "DE"}, atBank{able, 2, "FR"}
		must(t, d.Initiation.Connectors.Replace(ofPayer, ofPayee))
		d.enter(operators.Acting)
		draft := servicetest.Draft()
		draft["connector_uuid"] = ofPayer.Profile().UUID
		draft["payer"] = map[string]any{"scheme_name": "iban", "identification": "DE89370400440532013000", "label": "Erika M."}
		id := d.Create(d.Token("payments:admin"), draft)
		d.simulate(id, "validating", "pending", "done")
		form := d.paymentPath(id) + "/refund"
		a := d.submit(form, form, "amount", "2.50", "label", "Sorry")
		if a.location == "" {
			t.Fatalf("the refund was answered with %d: %s", a.status, a.body)
		}
		_, err := d.Initiation.Validate(t.Context(), d.Domain, passerelle.PaymentID(idAt(t, a.location)), initiation.Choice{
			Connector: ofPayee.Profile().UUID, Validated: true, WebviewURL: d.Origin + "/before",
		})
		must(t, err)
	})
}
