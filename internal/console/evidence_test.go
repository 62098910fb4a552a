package console_test

import (
	"html"
	"strings"
	"testing"

	"passerelle"
	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
	"passerelle/payment"
)

func TestWhatThePayerSawIsShown(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		if page := d.get(d.paymentPath(id)); strings.Contains(page.body, "What the payer saw") {
			t.Errorf("the payer has seen nothing yet: %s", page.body)
		}
		must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error {
			return tx.Witness(payment.Evidence{
				Payment: passerelle.PaymentID(id), Domain: d.Domain.ID, Act: payment.ActOrder, Language: "fr",
				Shown: payment.ShownPayment{Application: "Boutique", Amount: "12,50 €", Lines: []payment.ShownLine{{Name: hostile, Account: "FR76 3000 6000 0112 3456 7890 189", Amount: "12,50 €"}}},
			})
		}))
		page := d.get(d.paymentPath(id))
		for _, want := range []string{"What the payer saw", "Boutique · 12,50 €", hostile + " · FR76 **** 0189"} {
			if !strings.Contains(html.UnescapeString(page.body), want) {
				t.Errorf("the page lacks %s: %s", want, page.body)
			}
		}
		if strings.Contains(page.body, hostile) {
			t.Errorf("what a client wrote became part of the page: %s", page.body)
		}
		if strings.Contains(page.body, "7890 189") {
			t.Errorf("the page shows the account number: %s", page.body)
		}
		revealed := d.submit(d.paymentPath(id), d.paymentPath(id)+"/reveal")
		if want := hostile + " · FR76 3000 6000 0112 3456 7890 189"; !strings.Contains(html.UnescapeString(revealed.body), want) {
			t.Errorf("the page with personal data lacks %s: %s", want, revealed.body)
		}
	})
}
