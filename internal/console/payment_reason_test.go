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

// TestTheMessageOfTheBankIsOnThePage checks that a page with the bank's message does not send the
// operator to look for it, and that each text about an instruction has its own line.
func TestTheMessageOfTheBankIsOnThePage(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		d.simulateMessage(id, "The balance is too low.")
		d.shows(d.paymentPath(id), []string{
			"The bank's message: “The balance is too low.”", "The message says why.",
			`>rejected</span><br><small title="bankMessage">refused with a message</small><br><small>The balance is too low.</small></td>`,
		}, "message below", "to see the complete message")
	})
}

// simulateMessage simulates that the bank refuses a payment with a message.
func (d *fixture) simulateMessage(id int64, message string) {
	d.t.Helper()
	d.OK(d.Call("POST", fmt.Sprintf("/sandbox/payments/%d/simulate", id), d.ConfigToken, map[string]any{"state": "rejected", "error_code": "bankMessage"}))
	p, err := d.DB.Payment(d.t.Context(), d.Domain.ID, passerelle.PaymentID(id), true)
	must(d.t, err)
	p.ErrorDescription, p.Instructions[0].ErrorDescription = message, message
	must(d.t, d.DB.Write(d.t.Context(), func(tx *store.Tx) error { return tx.UpdatePayment(p, nil, nil) }))
}

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
