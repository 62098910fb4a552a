package connector_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"passerelle/connector"
)

// TestGuard checks that errors.Is recognises the original error, and that the text of the returned
// error omits the connector's own text.
func TestGuard(t *testing.T) {
	const person = "Zyzzyva FR7630006000011234567890189"
	inner := &url.Error{Op: "Get", URL: "https://bank.example/" + person, Err: context.DeadlineExceeded}
	index := func() error { return []error{}[len(person)] }
	for _, test := range []struct {
		name string
		ask  func() error
		is   error
		says string
	}{
		{"words", func() error { return errors.New(person) }, nil, "an error of the connector"},
		{"a request", func() error { return fmt.Errorf("ask for %s: %w", person, inner) }, context.DeadlineExceeded, "an error of the connector: *url.Error, context deadline exceeded"},
		{"a line that was cut", func() error { return fmt.Errorf("%s: %w", person, syscall.ECONNRESET) }, syscall.ECONNRESET, "an error of the connector: connection reset by peer"},
		{"several", func() error { return errors.Join(errors.New(person), connector.ErrNotSent, inner) }, connector.ErrNotSent, "an error of the connector: nothing was sent to the bank, *url.Error, context deadline exceeded"},
		{"a panic", func() error { panic(person) }, connector.ErrPanicked, "the connector panicked: a string\n"},
		{"another", func() error { panic(inner) }, connector.ErrPanicked, "the connector panicked: a *url.Error\n"},
		{"a fault", index, connector.ErrPanicked, "the connector panicked: runtime error: index out of range [35] with length 0\n"},
	} {
		err := connector.Guard(test.ask)
		if err == nil || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: %v is not %v", test.name, err, test.is)
			continue
		}
		if got := err.Error(); got != test.says && !strings.HasPrefix(got, test.says) || strings.Contains(got, "Zyzzyva") || strings.Contains(got, "FR76") {
			t.Errorf("%s: %s, want %s", test.name, got, test.says)
		}
		if both := fmt.Sprintf("%v %+v", err, fmt.Errorf("wrapped: %w", err)); strings.Contains(both, "Zyzzyva") {
			t.Errorf("%s, wrapped: %s", test.name, both)
		}
	}
	if err := connector.Guard(func() error { return nil }); err != nil {
		t.Errorf("without a fault: %v", err)
	}
}
