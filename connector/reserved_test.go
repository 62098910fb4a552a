package connector_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"passerelle"
	"passerelle/connector"
)

// TestFieldsCannotHaveTheNamesOfParameters checks each parameter of the calls that take values of
// fields. A field with the name of a parameter would never get a value.
func TestFieldsCannotHaveTheNamesOfParameters(t *testing.T) {
	names := parameters(t)
	if !slices.Contains(names, "source") || !slices.Contains(names, "resume") {
		t.Fatalf("the document has only the parameters %q", names)
	}
	for _, name := range names {
		p := connector.Profile{
			UUID: "11111111-1111-4111-8111-111111111111", ID: 1, Name: "Bank", Countries: []string{"FR"},
			Data: &connector.DataSettings{Capabilities: []string{"bank"}, AccountTypes: []passerelle.AccountType{"checking"}, Fields: []connector.Field{{Name: name, Label: "A", Type: "text"}}},
		}
		want := "the name of field " + name + " is the name of a parameter"
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error %v does not say: %s", err, want)
		}
	}
}

// parameters returns the names of the parameters in the queries and bodies of calls that take
// values of fields.
func parameters(t *testing.T) (names []string) {
	t.Helper()
	type schema struct {
		Ref        string `json:"$ref"`
		Properties map[string]any
	}
	var document struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
			Body       struct {
				Content map[string]struct{ Schema schema }
			} `json:"requestBody"`
		}
		Components struct{ Schemas map[string]schema }
	}
	raw, err := os.ReadFile("../docs/openapi.json")
	if err := errors.Join(err, json.Unmarshal(raw, &document)); err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{"post /users/{userId}/connections", "post /users/{userId}/connections/{connectionId}", "put /users/{userId}/connections/{connectionId}"} {
		method, path, _ := strings.Cut(call, " ")
		described := document.Paths[path][method]
		for _, p := range described.Parameters {
			if p.In == "query" && p.Name != "values" { // values stands for the fields
				names = append(names, p.Name)
			}
		}
		body := strings.TrimPrefix(described.Body.Content["application/json"].Schema.Ref, "#/components/schemas/")
		for name := range document.Components.Schemas[body].Properties {
			names = append(names, name)
		}
	}
	return names
}
