package passerelle_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"passerelle"
)

func TestErrors(t *testing.T) {
	tests := []struct {
		err  *passerelle.Error
		kind passerelle.Kind
		code string
	}{
		{passerelle.InvalidField("amount", "must be positive"), passerelle.Invalid, "invalidValue"},
		{passerelle.MissingField("scope", "is required"), passerelle.Invalid, "missingParameter"},
		{passerelle.Missing(), passerelle.NotFound, "notFound"},
		{passerelle.Conflicting("the payment is %s", "done"), passerelle.Conflict, "conflict"},
	}
	for _, test := range tests {
		if !errors.Is(test.err, test.kind) || test.err.Code != test.code {
			t.Errorf("%v is not of kind %s and code %s", test.err, test.kind, test.code)
		}
	}
}

func TestErrorTellsItsCauseToLogsOnly(t *testing.T) {
	err := &passerelle.Error{Kind: passerelle.Unavailable, Code: "websiteUnavailable", Message: "try later", Cause: io.ErrUnexpectedEOF}
	if !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(err, passerelle.Unavailable) {
		t.Error("kind or cause is lost")
	}
	if !strings.Contains(err.Error(), io.ErrUnexpectedEOF.Error()) || strings.Contains(err.Message, "EOF") {
		t.Errorf("%v with message %q", err, err.Message)
	}
}
