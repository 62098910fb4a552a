package connectortest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// TestFaultsAreInTheWordsOfTheProtocol checks that the suite describes responses as programs in any
// language send them.
func TestFaultsAreInTheWordsOfTheProtocol(t *testing.T) {
	accepts := func(context.Context, connector.Order) (payment.Report, error) {
		return payment.Report{Status: payment.Processing, BankPaymentID: "7"}, nil
	}
	fails := func(context.Context, connector.Order) (payment.Report, error) {
		return payment.Report{}, errors.New("no such file")
	}
	const unknown = ` instead of {"error":{"kind":"unknownOrder"}}`
	for _, test := range []struct {
		rule, want string
		faulty     faulty
	}{
		{"an order never sent is unknown", `{"report":{"status":"processing","bank_payment_id":"7"}}` + unknown, faulty{status: accepts}},
		{"an order never sent is unknown", `{"error":{"kind":"failed"}} (no such file)` + unknown, faulty{status: fails}},
		{"an order never sent cannot be asked", `{"report":{"status":"processing","bank_payment_id":"7"}}` + unknown, faulty{cancel: accepts}},
		{"a kept order goes on", `the report does not mention the cancellation: {"report":{"status":"processing","bank_payment_id":"7"}}`, faulty{cancel: accepts}},
	} {
		s := correct(t)
		test.faulty.Initiator = s.Initiator
		s.Initiator = &test.faulty
		if err := checkOf(t, test.rule)(t.Context(), s); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.rule, err, test.want)
		}
	}
}

// TestAnExcludedOrderIsInTheWordsOfTheProtocol checks what the suite says about a profile that
// excludes the order of the test.
func TestAnExcludedOrderIsInTheWordsOfTheProtocol(t *testing.T) {
	s := correct(t)
	s.Initiator = &faulty{Initiator: s.Initiator, profile: func(p *connector.Profile) { p.Payments.Currencies = []passerelle.Currency{"GBP"} }}
	err := checkOf(t, "the profile is coherent")(t.Context(), s)
	if want := "the profile excludes the order of the test: nspCurrency: This bank does not pay in this currency."; err == nil || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "{}") {
		t.Errorf("%v, want %s", err, want)
	}
}
