package console_test

import (
	"fmt"
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
