package console_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/operators"
	"passerelle/payment"
)

// doubtful is a bank that asks whether to cancel an order. It executes the order after "no".
type doubtful struct {
	connector.Initiator
	asks payment.Action
}

func (b doubtful) Profile() connector.Profile {
	p := b.Initiator.Profile()
	p.Data = nil
	return p
}

func (b doubtful) Cancel(context.Context, connector.Order) (payment.Report, error) {
	return payment.Report{Status: payment.Awaiting, Cancellation: payment.CancellationAwaiting, Action: b.asks}, nil
}

func (doubtful) Answer(_ context.Context, _ connector.Order, said connector.Answer) (payment.Report, error) {
	if said.Yes {
		return payment.Report{Status: payment.Declined, Cancellation: payment.CancellationGranted}, nil
	}
	return payment.Report{Status: payment.Settled, Cancellation: payment.CancellationRefused}, nil
}

// doubted returns a payment whose bank asks whether to cancel it.
func (d *fixture) doubted(asks payment.Action) int64 {
	d.t.Helper()
	bank, _ := d.Initiation.Connectors.Initiator(sandbox.TestConnector)
	must(d.t, d.Initiation.Connectors.Replace(doubtful{bank, asks}))
	id := d.validated()
	d.submit(d.paymentPath(id), d.paymentPath(id), "act", "cancel payment")
	p, err := d.DB.Payment(d.t.Context(), d.Domain.ID, passerelle.PaymentID(id), false)
	must(d.t, err)
	if p.Detail != payment.Cancelling || p.Action != asks {
		d.t.Fatalf("the payment is %s, %s with the action %s", p.State, p.Detail, p.Action)
	}
	return id
}

// TestConfirmingACancellation: while a bank asks whether to cancel a payment, "yes" cancels it and
// "no" continues it. The console must say so, and must refuse a form about the payment.
func TestConfirmingACancellation(t *testing.T) {
	for act, want := range map[string]struct{ label, effect, done, state string }{
		"confirm cancellation": {"Confirm cancellation", "The bank cancels the order", "The cancellation was confirmed.", "rejected"},
		"refuse cancellation":  {"Refuse cancellation", "The bank continues with the order, and money may move.", "The cancellation was refused.", "done"},
	} {
		t.Run(act, func(t *testing.T) {
			each(t, func(t *testing.T, d *fixture) {
				d.enter(operators.Acting)
				id := d.doubted(payment.Confirm)
				page := d.paymentPath(id)
				d.shows(page, []string{"The application must confirm or refuse the cancellation.", ">" + want.label + "</a>"}, "Confirm payment", "Refuse payment")
				for _, other := range []string{"confirm payment", "refuse payment"} {
					if a := d.submit(page, page, "act", other); a.status != http.StatusUnprocessableEntity || d.state(id) != "validating" {
						t.Fatalf("%s: %d, and the payment is %s", other, a.status, d.state(id))
					}
				}
				confirm := page + "/confirm?act=" + strings.ReplaceAll(act, " ", "+")
				d.shows(confirm, []string{want.label + "?", want.effect}, "The bank executes the order", "no money moves")
				if grave := strings.Contains(d.get(confirm).body, `class="grave small"`); grave != (want.state == "rejected") {
					t.Errorf("the button is grave: %t", grave)
				}
				d.submit(confirm, page, "act", act)
				d.shows(page, []string{want.done}, "The payment was confirmed.", "The payment was refused.")
				if got := d.state(id); got != want.state || !slices.Contains(d.acts(), fmt.Sprint(act, " payment ", id)) {
					t.Errorf("the payment is %s, and on record is %v", got, d.acts())
				}
			})
		})
	}
}

// TestThePayerConfirmsACancellation checks that the next step names the cancellation, which the
// payer confirms in the webview.
func TestThePayerConfirmsACancellation(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		id := d.doubted(payment.PSUValidation)
		d.shows(d.paymentPath(id), []string{"The payer must confirm or refuse the cancellation in the webview."}, "Confirm cancellation")
	})
}
