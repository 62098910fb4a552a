package aggregation_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/aggregation"
	"passerelle/internal/store/storetest"
)

// sealedFor returns a value that looks encrypted for a key.
func sealedFor(kid string) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return strings.Join([]string{part(`{"alg":"RSA-OAEP-256","enc":"A256GCM","kid":"` + kid + `"}`), part("key"), part("iv"), part("text"), part("tag")}, ".")
}

// TestCredentialsThatCannotBe checks that the service refuses invalid values. The error must name
// the field, and must not contain a value of more than 5 bytes.
func TestCredentialsThatCannotBe(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		eyes := storetest.Inspect(t, h.url)
		before := eyes.Rows()
		sound := map[string]string{"login": "anna", "password": "1234"}
		for name, test := range map[string]struct {
			connector, source, field, value, names string
		}{
			"no such connector":       {connector: "9d1f6f3c-0000-4000-8000-000000000000", names: "connector_uuid"},
			"no such number":          {connector: "999999", names: "connector_uuid"},
			"no connector":            {connector: "-", names: "connector_uuid"},
			"no such source":          {source: "backdoor", names: "source"},
			"no login":                {field: "login", names: "login"},
			"no password":             {field: "password", names: "password"},
			"a login too long":        {field: "login", value: strings.Repeat("x", 4097), names: "login"},
			"a password of 10 MB":     {field: "password", value: strings.Repeat("x", 10<<20), names: "password"},
			"a login with a NUL":      {field: "login", value: "an\x00na", names: "login"},
			"half a surrogate":        {field: "password", value: "12\xed\xa0\xbd", names: "password"},
			"none of the list":        {field: "website", value: "elsewhere", names: "website"},
			"sealed for another key":  {field: "password", value: sealedFor("nobody"), names: "password"},
			"sealed for no key":       {field: "login", value: sealedFor(""), names: "login"},
			"the password is refused": {field: "password", value: "wrong", names: "password is wrong"},
		} {
			r := aggregation.Request{Connector: sandbox.TestConnector, Source: "directaccess", Values: map[string]string{}}
			for field, value := range sound {
				r.Values[field] = value
			}
			if test.connector != "" {
				r.Connector = test.connector
			}
			if test.source != "" {
				r.Source = test.source
			}
			if test.field != "" {
				r.Values[test.field] = test.value
			}
			_, err := h.Connect(t.Context(), h.domain, h.user.ID, r)
			var refused *passerelle.Error
			if !errors.As(err, &refused) || !errors.Is(err, passerelle.Invalid) || !strings.Contains(refused.Error(), test.names) || len(test.value) > 5 && strings.Contains(err.Error(), test.value) {
				t.Errorf("%s: %.200v", name, err)
			}
		}
		must(t, h.EraseWithdrawn(t.Context()))
		after := eyes.Rows()
		for table := range tellTale {
			delete(before, table)
			delete(after, table)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("rows (-before +after):\n%s", diff)
		}
		if got := names(h.events()); got != "CONNECTION_SYNCED CONNECTION_DELETED" {
			t.Errorf("events %s, want those of the refused password alone", got)
		}
	})
}
