package payment_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"passerelle"
	"passerelle/payment"
)

// TestExpects checks each possible combination of a state, a current action and an answered action.
// testdata/expectations.txt contains the messages that clients get.
func TestExpects(t *testing.T) {
	actions := []payment.Action{"", payment.Redirect, payment.Decoupled, payment.FillFields, payment.Confirm, payment.PSUValidation}
	var matrix strings.Builder
	for _, state := range payment.States() {
		for _, current := range actions {
			if current != "" && state != payment.Validating && state != payment.Pending {
				continue
			}
			for _, answered := range actions {
				p := payment.Payment{State: state, Action: current}
				fmt.Fprintf(&matrix, "%-10s %-27s <- %-27s : %s\n", state, current, answered, outcome(t, p.Expects(answered)))
			}
		}
	}
	wantFile(t, "testdata/expectations.txt", matrix.String())
}

func outcome(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return "expected"
	}
	var reported *passerelle.Error
	if !errors.As(err, &reported) || reported.Kind != passerelle.Conflict {
		t.Errorf("%v is no conflict", err)
		return ""
	}
	return reported.Message
}
