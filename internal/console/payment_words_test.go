package console

import (
	"strings"
	"testing"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/payment"
)

// capitals occur in codes, and not in words.
const capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

func TestEveryStateAndCodeHasWords(t *testing.T) {
	for _, state := range payment.States() {
		if nextByState[state] == "" {
			t.Errorf("nothing says what %s means", state)
		}
		if strings.ContainsAny(page.StateWord(state).Word(), capitals) {
			t.Errorf("%s has no words", state)
		}
	}
	for _, state := range passerelle.ConnectionStates() {
		if word := page.ConnectionWord(state).Word(); word == string(state) {
			t.Errorf("%s has no words", state)
		}
	}
	for _, code := range payment.ErrorCodes() {
		if a := adviceByCode[code]; a.Meaning == "" || a.Remedy == "" {
			t.Errorf("nothing says what %s means, or what to do", code)
		}
		if word := page.Code(code).Word(); word == string(code) || strings.ContainsAny(word, capitals) {
			t.Errorf("the words of %s are %q", code, word)
		}
	}
}
