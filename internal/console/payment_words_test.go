package console

import (
	"testing"

	"passerelle/payment"
)

// TestEveryStateAndCodeHasWords checks that every state and every code has a text for operators.
func TestEveryStateAndCodeHasWords(t *testing.T) {
	for _, state := range payment.States() {
		if nextByState[state] == "" {
			t.Errorf("nothing says what %s means", state)
		}
	}
	for _, code := range payment.ErrorCodes() {
		if a := adviceByCode[code]; a.Meaning == "" || a.Remedy == "" {
			t.Errorf("nothing says what %s means, or what to do", code)
		}
	}
}
