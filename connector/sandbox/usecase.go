package sandbox

import (
	"fmt"

	"passerelle/payment"
)

// These are the payment fields of the test connectors. The second field exists only because the
// public test connector of this API family has it. The bank ignores its value.
const (
	useCaseField = "use_case_pay"
	websiteField = "openapiwebsite"
)

// useCase is one behaviour of the bank.
type useCase struct {
	value, label string
	// script defines the bank's behaviour. If it is empty, the order's own script applies.
	script string
	// text is the bank's text for a refusal.
	text string
}

// useCases lists the choices of useCaseField. An empty field value selects the first.
var useCases = []useCase{
	{value: "legacy", label: "Approved in the bank's usual way, with the result that the label sets"},
	{value: "redirect", label: "Approved when the bank's page is loaded", script: "actn(loaded)/done"},
	{value: "decoupled", label: "Approved in the bank's app", script: "actn(decoupled)/done"},
	{
		value: "decoupled_cancelled", label: "Refused in the bank's app", script: "actn(decoupled)/canc",
		text: "The transaction has been cancelled by the PSU.",
	},
	{
		value: "decoupled_expired", label: "Not answered in the bank's app", script: "actn(unanswered)/rjct(authenticationFailed)",
		text: "The decoupled validation has expired.",
	},
	{value: "otp_sms", label: "Approved with a code sent by SMS", script: "actn(otp)/done"},
	{value: "otp_plus_decoupled", label: "Approved with a code, then in the bank's app", script: "actn(otp)/actn(decoupled)/done"},
	{value: "account_choice", label: "The payer chooses an account", script: "actn(account)/done"},
	{value: "redirect_no_confirmation", label: "Approved when the bank's page is loaded, never confirmed by the client", script: "auto/actn(loaded)/done"},
}

// paymentFields describes the choices to the payer.
func paymentFields() []payment.Field {
	field := payment.Field{Name: useCaseField, Type: "list", Label: "What the test bank does"}
	for _, u := range useCases {
		field.Values = append(field.Values, payment.FieldValue{Label: u.label, Value: u.value})
	}
	return []payment.Field{field, {Name: websiteField, Type: "text", Label: "Website (has no effect)"}}
}

// chooseUseCase finds the use case of a field value. It fails with a *payment.Refusal for an
// unknown value.
func chooseUseCase(value string) (useCase, error) {
	if value == "" {
		return useCases[0], nil
	}
	var known []string
	for _, u := range useCases {
		if u.value == value {
			return u, nil
		}
		known = append(known, u.value)
	}
	return useCase{}, &payment.Refusal{
		Code:        payment.InvalidValue,
		Description: fmt.Sprintf("%s must be one of %v.", useCaseField, known),
	}
}
