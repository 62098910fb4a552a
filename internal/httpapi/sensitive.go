package httpapi

import (
	"reflect"

	"passerelle"
)

// SensitiveInput contains the parameter that requests personal data. An endpoint that can show such
// data embeds SensitiveInput in its input.
type SensitiveInput struct {
	ShowSensitive bool `query:"show_sensitive" doc:"return sensitive identity fields; needs payments:validate or payments:allow-sensitive. A token for one payment shows the payer's fields, and those of beneficiaries only with payments:allow-sensitive"`
}

// settle refuses the flag unless the token has the right to validate or to see these fields. The
// administration scope alone is not enough.
func (s *SensitiveInput) settle(x *exchange, _ reflect.StructTag) error {
	if !s.ShowSensitive || x.caller.Scopes.Has(passerelle.ScopePaymentsValidate, passerelle.ScopePaymentsSensitive) {
		return nil
	}
	return Lacking(passerelle.ScopePaymentsValidate, passerelle.ScopePaymentsSensitive)
}
