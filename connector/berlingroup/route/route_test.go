package route_test

import (
	"testing"

	"passerelle/connector/berlingroup/route"
)

// TestOwn checks the address of the loopback interface, and that the operator's address replaces
// it.
func TestOwn(t *testing.T) {
	for own, want := range map[string]string{"": "127.0.0.1", "203.0.113.7": "203.0.113.7"} {
		if got, err := route.New("https://127.0.0.1:9443/xs2a", own).Own(t.Context()); err != nil || got.String() != want {
			t.Errorf("with %q: %v, %v, want %s", own, got, err, want)
		}
	}
	if got, err := route.New("https://bank.invalid", "").Own(t.Context()); err == nil {
		t.Errorf("a bank that does not exist is reached from %v", got)
	}
}
