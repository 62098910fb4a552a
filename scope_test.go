package passerelle_test

import (
	"errors"
	"testing"

	"passerelle"
)

func TestParseScopes(t *testing.T) {
	tests := []struct {
		name  string
		words []string
		want  string
	}{
		{"one", []string{"payments:admin"}, "payments:admin"},
		{"deprecated alias", []string{"payments"}, "payments:admin"},
		{"alias and its meaning", []string{"payments payments:admin"}, "payments:admin"},
		{"spaces and commas", []string{"payments:validate, payments:cancel"}, "payments:validate payments:cancel"},
		{"array", []string{"payments:cancel", "payments:read-only"}, "payments:cancel payments:read-only"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, err := passerelle.ParseScopes(test.words...); err != nil || got.String() != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
	for _, word := range []string{"", " , ", "payments:everything", "config", "users", "PAYMENTS"} {
		_, err := passerelle.ParseScopes(word)
		wantField(t, err, "scope")
	}
}

func FuzzParseScopes(f *testing.F) {
	for _, s := range []string{"payments", "payments:admin,payments:cancel", " payments:validate  payments:validate", "config", ","} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		scopes, err := passerelle.ParseScopes(s)
		if err != nil {
			if !errors.Is(err, passerelle.Invalid) {
				t.Fatal(err)
			}
			return
		}
		again, err := passerelle.ParseScopes(scopes.String())
		if err != nil || again.String() != scopes.String() {
			t.Fatalf("%q reads as %q, and that as %q, %v", s, scopes, again, err)
		}
		seen := map[passerelle.Scope]bool{}
		for _, scope := range scopes {
			if seen[scope] || !scopes.Has(scope) {
				t.Fatalf("%q holds %s twice or not at all", scopes, scope)
			}
			seen[scope] = true
		}
	})
}
