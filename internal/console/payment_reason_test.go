package console_test

import (
	"fmt"
	"html"
	"strings"
	"testing"

	"passerelle"
	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
)

// TestThePageHasOneReason checks that a rejected payment's page has the bank's message beside the
// meaning of the error code.
func TestThePageHasOneReason(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		d.OK(d.Call("POST", fmt.Sprintf("/sandbox/payments/%d/simulate", id), d.ConfigToken, map[string]any{"state": "rejected", "error_code": "invalidEmitter"}))
		p, err := d.DB.Payment(t.Context(), d.Domain.ID, passerelle.PaymentID(id), true)
		must(t, err)
		p.ErrorDescription = "The account to be debited is closed."
		must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error { return tx.UpdatePayment(p, nil, nil) }))
		body := html.UnescapeString(d.get(d.paymentPath(id)).body)
		if !strings.Contains(body, "<strong>The bank does not accept payments from the payer's account.</strong><p>The bank's message: “"+p.ErrorDescription+"”</p>") || !strings.Contains(body, "payer's account not accepted") {
			t.Errorf("the page has not the reason: %s", body)
		}
		if strings.Contains(body, "The bank says") || strings.Contains(body, "invalid emitter") {
			t.Errorf("the page has another reason: %s", body)
		}
	})
}
