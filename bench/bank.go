package main

import (
	"context"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// promptBank is a bank that responds immediately and stores nothing. A row about payments therefore
// measures the service, and not a simulated bank. The bank's link leads the payer directly back to
// the service.
type promptBank struct{}

const promptBankUUID = "0b9a1c52-6e0e-4a5f-8a36-0d4f6d3a9a02"

// Profile describes the bank to the service.
func (promptBank) Profile() connector.Profile {
	return connector.Profile{
		UUID: promptBankUUID, ID: 1, Name: "Prompt", Countries: []string{"FR"}, Sandbox: true,
		Payments: &payment.Settings{
			Mechanisms: []string{"webauth"}, Schemes: []passerelle.AccountScheme{passerelle.IBAN}, DateTypes: []payment.DateType{payment.Instant},
			Currencies: []passerelle.Currency{"EUR"}, PayerAccount: payment.PayerNotUsed,
		},
	}
}

// Initiate accepts every order. CheckAfter prevents scheduled status checks during a measurement.
func (promptBank) Initiate(_ context.Context, o connector.Order) (payment.Report, error) { //nolint:unparam // a connector may fail, so the method returns an error
	return payment.Report{Status: payment.Awaiting, Action: payment.Redirect, ValidateURI: o.ReturnURL, CheckAfter: 24 * time.Hour, Raw: "awaiting"}, nil
}

// Status reports every order as executed.
func (promptBank) Status(context.Context, connector.Order) (payment.Report, error) { //nolint:unparam // a connector may fail, so the method returns an error
	return payment.Report{Status: payment.Settled, Raw: "executed"}, nil
}
