package connectortest

import (
	"context"
	"strings"
	"testing"

	"passerelle"
	"passerelle/connector"
)

// TestQuestionsCannotHaveTheNamesOfParameters checks the fields that a connector requests during a
// read. An answer to a question with the name of a parameter never reaches the connector.
func TestQuestionsCannotHaveTheNamesOfParameters(t *testing.T) {
	customer := customerOf(scripted{readProfile(), func(context.Context, connector.DataRequest, connector.Sink) (connector.Outcome, error) {
		return connector.Outcome{State: passerelle.AdditionalInformationNeeded, Fields: []connector.Field{{Name: "resume", Label: "Continue?", Type: "text"}}}, nil
	}})
	err := agreedIsRead(t.Context(), customer)
	if want := "the name of field resume is the name of a parameter"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error %v does not say: %s", err, want)
	}
}
