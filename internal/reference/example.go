package reference

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// answersJSON has requests that succeeded, with their responses, by method and path. TestFacts in
// package contract writes it.
//
//go:embed answers.json
var answersJSON []byte

// sample is a recorded request that succeeded.
type sample struct {
	Status int
	Kind   string
	Body   string
	Answer json.RawMessage
}

func mustReadSamples() map[string]sample {
	all := map[string]sample{}
	if err := json.Unmarshal(answersJSON, &all); err != nil {
		panic(fmt.Sprintf("reference: read the responses: %v", err))
	}
	return all
}

// sampleOf returns the sample of a call. The sample may have any of the call's paths and methods.
func sampleOf(all map[string]sample, c Call) (sample, bool) {
	for _, method := range c.Methods {
		for _, path := range append([]string{c.Path}, c.Also...) {
			if one, is := all[method+" "+path]; is {
				return one, true
			}
		}
	}
	return sample{}, false
}

// example is a request in one programming language.
type example struct{ Language, Text string }

// request is a call with everything that the client sends.
type request struct {
	method, address, body string
	// token is set when the call needs a token.
	token bool
}

// examples returns the request in each programming language.
func (r request) examples() []example {
	return []example{{"curl", r.curl()}, {"Go", r.goText()}, {"TypeScript", r.typeScript()}}
}

// quoted returns a text in quotes, as one word for a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func (r request) curl() string {
	lines := []string{"curl " + quoted(r.address)}
	if r.method != "GET" {
		lines[0] = "curl -X " + r.method + " " + quoted(r.address)
	}
	if r.token {
		lines = append(lines, `-H "Authorization: Bearer $TOKEN"`)
	}
	if r.body != "" {
		lines = append(lines, `-H 'Content-Type: application/json'`, "-d "+quoted(r.body))
	}
	return strings.Join(lines, " \\\n  ")
}

func (r request) goText() string {
	var text strings.Builder
	body := "nil"
	if r.body != "" {
		body = "strings.NewReader(`" + r.body + "`)"
	}
	fmt.Fprintf(&text, "request, err := http.NewRequest(%q, %q, %s)\nif err != nil {\n\treturn err\n}\n", r.method, r.address, body)
	if r.token {
		text.WriteString("request.Header.Set(\"Authorization\", \"Bearer \"+os.Getenv(\"TOKEN\"))\n")
	}
	if r.body != "" {
		text.WriteString("request.Header.Set(\"Content-Type\", \"application/json\")\n")
	}
	text.WriteString("response, err := http.DefaultClient.Do(request)\nif err != nil {\n\treturn err\n}\ndefer response.Body.Close()\n_, err = io.Copy(os.Stdout, response.Body)\nreturn err")
	return text.String()
}

func (r request) typeScript() string {
	var text strings.Builder
	fmt.Fprintf(&text, "const response = await fetch(%q, {\n", r.address)
	if r.method != "GET" {
		fmt.Fprintf(&text, "  method: %q,\n", r.method)
	}
	var headers []string
	if r.token {
		headers = append(headers, "Authorization: `Bearer ${process.env.TOKEN}`")
	}
	if r.body != "" {
		headers = append(headers, `"Content-Type": "application/json"`)
	}
	if len(headers) > 0 {
		fmt.Fprintf(&text, "  headers: { %s },\n", strings.Join(headers, ", "))
	}
	if r.body != "" {
		fmt.Fprintf(&text, "  body: JSON.stringify(%s),\n", strings.ReplaceAll(r.body, "\n", "\n  "))
	}
	text.WriteString("});\nif (!response.ok) throw new Error(await response.text());\nconsole.log(await response.text());")
	return text.String()
}

// indented formats a JSON text with one line for each member.
func indented(text string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}

// sampleBody returns a body that the schema allows. An object has its required members. Without
// required members, it has at most one member.
func (d document) sampleBody(s schema) string {
	value := d.sampleValue(s, 0)
	text, err := json.Marshal(value)
	if err != nil || value == nil {
		return ""
	}
	return string(text)
}

// sampleDepth is the largest depth of nested objects in a sample.
const sampleDepth = 6

// sampleValue returns a value that the schema allows.
func (d document) sampleValue(s schema, depth int) any {
	if depth > sampleDepth {
		return nil
	}
	switch {
	case s.Ref != "":
		return d.sampleValue(d.Components.Schemas[s.name()], depth+1)
	case len(s.Examples) > 0:
		return s.Examples[0]
	case s.Const != nil:
		return s.Const
	case s.Default != nil:
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AnyOf) > 0:
		return d.sampleValue(s.AnyOf[0], depth+1)
	case s.Items != nil:
		return []any{d.sampleValue(*s.Items, depth+1)}
	case len(s.Properties) > 0:
		return d.sampleObject(s, depth)
	}
	return plainSample(s)
}

func (d document) sampleObject(s schema, depth int) any {
	object := map[string]any{}
	for _, name := range s.Required {
		object[name] = d.sampleValue(s.Properties[name], depth+1)
	}
	if len(object) > 0 {
		return object
	}
	for _, f := range fields(s) {
		if one := s.Properties[f.Name]; len(one.Examples) > 0 || slices.Contains(one.Type, "boolean") || len(one.Enum) > 0 {
			object[f.Name] = d.sampleValue(one, depth+1)
			break
		}
	}
	return object
}

// plainSample returns a value of a simple JSON type.
func plainSample(s schema) any {
	for _, kind := range s.Type {
		switch kind {
		case "integer", "number":
			return 1
		case "boolean":
			return true
		case "string":
			return "…"
		case "object":
			return map[string]any{}
		}
	}
	return nil
}
