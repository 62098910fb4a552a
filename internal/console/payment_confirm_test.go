package console_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
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

// TestAReasonWithAMistake checks that the form about an unknown outcome appears again with the
// reason that the operator typed.
func TestAReasonWithAMistake(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		bank, _ := d.Initiation.Connectors.Initiator(sandbox.TestConnector)
		must(t, d.Initiation.Connectors.Replace(forgetful{bank}))
		d.enter(operators.Acting)
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		_, err := d.Initiation.Validate(t.Context(), d.Domain, passerelle.PaymentID(id), initiation.Choice{Connector: sandbox.TestConnector, Validated: true, WebviewURL: d.Origin + "/before"})
		must(t, err)
		confirm := d.paymentPath(id) + "/confirm?act=settle+payment+as+done"
		typed := strings.Repeat("Booked on 20 November. ", 60)
		body := d.wants(confirm, d.paymentPath(id), http.StatusUnprocessableEntity, "The bank executed it?", "act", "settle payment as done", "reason", typed).body
		if !strings.Contains(body, `value="`+typed+`" aria-invalid="true" aria-describedby="problem">`) || !strings.Contains(body, `name="act" value="settle payment as done"`) {
			t.Errorf("the form has not the reason: %s", body)
		}
		if d.state(id) != "created" || len(d.acts()) != 0 {
			t.Errorf("the payment is %s, and on record is %v", d.state(id), d.acts())
		}
	})
}

// persistent is a bank that asks twice whether to cancel an order.
type persistent struct {
	doubtful
	answers *int
}

func (b persistent) Answer(ctx context.Context, o connector.Order, said connector.Answer) (payment.Report, error) {
	if *b.answers++; *b.answers == 1 {
		return b.Cancel(ctx, o)
	}
	return b.doubtful.Answer(ctx, o, said)
}

var questionOf = regexp.MustCompile(`name="question" value="(\d+)"`)

// TestAConfirmationSentTwice checks that a form does not answer a question that the bank asked after
// the operator opened the form.
func TestAConfirmationSentTwice(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		const act = "confirm cancellation"
		d.enter(operators.Acting)
		id, answers := d.doubted(payment.Confirm), 0
		bank, _ := d.Initiation.Connectors.Initiator(sandbox.TestConnector)
		must(t, d.Initiation.Connectors.Replace(persistent{bank.(doubtful), &answers}))
		page := d.paymentPath(id)
		confirm := page + "/confirm?act=" + strings.ReplaceAll(act, " ", "+")
		question := func() string {
			found := questionOf.FindStringSubmatch(d.get(confirm).body)
			if found == nil {
				t.Fatal("the form has no number of its question")
			}
			return found[1]
		}
		first := question()
		d.wants(confirm, page, http.StatusSeeOther, "", "act", act, "question", first)
		d.wants(confirm, page, http.StatusUnprocessableEntity, "already received an answer", "act", act, "question", first)
		if d.state(id) != "validating" || answers != 1 {
			t.Fatalf("the payment is %s after %d answers", d.state(id), answers)
		}
		d.wants(confirm, page, http.StatusSeeOther, "", "act", act, "question", question())
		if d.state(id) != "rejected" || answers != 2 || !slices.Contains(d.acts(), fmt.Sprint(act, " payment ", id)) {
			t.Errorf("the payment is %s after %d answers, and on record is %v", d.state(id), answers, d.acts())
		}
	})
}
