package sandbox_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/payment"
)

// TestTheBankSpeaksToThePayer checks the language of pages and messages for each language of the
// payer's device.
func TestTheBankSpeaksToThePayer(t *testing.T) {
	for accept, want := range map[string][]string{
		"fr,en;q=0.5": {`<html lang="fr">`, "Valider ce paiement ?", "Pas d’argent réel.", "12,50", "Le solde du compte est insuffisant."},
		"de":          {`<html lang="de">`, "Diese Zahlung freigeben?", "Kein echtes Geld.", "12,50", "Der Saldo des Kontos ist zu niedrig."},
		"es":          {`<html lang="es">`, "¿Aprobar este pago?", "Sin dinero real.", "12,50", "El saldo de la cuenta es insuficiente."},
		"it-CH":       {`<html lang="it">`, "Approvare questo pagamento?", "Niente denaro vero.", "12,50", "Il saldo del conto è insufficiente."},
		"nl":          {`<html lang="nl">`, "Deze betaling goedkeuren?", "Geen echt geld.", "12,50", "Het saldo van de rekening is te laag."},
		"pt":          {`<html lang="pt">`, "Aprovar este pagamento?", "Sem dinheiro real.", "12,50", "O saldo da conta é insuficiente."},
		"ja":          {`<html lang="en">`, "Approve this payment?", "No real money.", "12.50", "The balance of the account is too low."},
		"":            {`<html lang="en">`, "Approve this payment?", "No real money.", "12.50", "The balance of the account is too low."},
	} {
		t.Run(accept, func(t *testing.T) {
			bank := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
			c, o := initiator(t, bank, testConnector), newOrder(t, labelled("rjct(insufficientFunds) - x"))
			o.Device = connector.Device{AcceptLanguage: accept}
			page := send(t, c, o).ValidateURI
			expectText(t, get(t, bank, page), want[:4]...)
			mustPress(t, bank, page, "approve")
			if r := ask(t, c, o, noon); r.Description != want[4] || r.Code != payment.InsufficientFunds {
				t.Errorf("the bank says %q", r.Description)
			}
		})
	}
}

// TestPagesInTheBrowsersLanguage checks that pages use the browser's language when there is no
// order, or when the payer's device requested no language with the order.
func TestPagesInTheBrowsersLanguage(t *testing.T) {
	bank, page := opened(t, instruction())
	for target, want := range map[string]string{page: "Diese Zahlung freigeben?", "/sandbox/bank/none": "Diese Seite gibt es nicht"} {
		request := httptest.NewRequestWithContext(t.Context(), "GET", target, nil)
		request.Header.Set("Accept-Language", "de-AT")
		w := httptest.NewRecorder()
		bank.Pages().ServeHTTP(w, request)
		expectText(t, w, want, `<html lang="de">`)
		if strings.Contains(w.Body.String(), "No real money") {
			t.Errorf("the page is half English: %s", w.Body)
		}
	}
}
