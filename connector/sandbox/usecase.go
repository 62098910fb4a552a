package sandbox

import (
	"fmt"

	"passerelle/payment"
)

// useCaseField is the payment field by which a client picks how the payer is
// to approve.
const useCaseField = "use_case_pay"

// useCase is one way in which the bank has the payer approve an order.
type useCase struct {
	value, label string
	// action is what the payer has to do first.
	action payment.Action
	// page says that the action is done on the bank's page.
	page bool
}

// useCases are what the field offers. The first is what no value means.
var useCases = []useCase{
	{value: "redirect", label: "Approve on the bank's page", action: payment.Redirect, page: true},
}

// paymentFields describes the choice of a use case to whoever pays.
func paymentFields() []payment.Field {
	field := payment.Field{Name: useCaseField, Type: "list", Label: "What the test bank does"}
	for _, u := range useCases {
		field.Values = append(field.Values, payment.FieldValue{Label: u.label, Value: u.value})
	}
	return []payment.Field{field}
}

// chooseUseCase finds the use case of a field value; an unknown one is a
// *payment.Refusal.
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
