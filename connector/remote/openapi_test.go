package remote

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/govalues/decimal"

	"passerelle"
)

var update = flag.Bool("update", false, "write docs/connector-protocol.json anew")

const documentPath = "../../docs/connector-protocol.json"

// calls lists the calls of the protocol with their bodies. A call with the response type record
// responds with a stream of records.
var calls = []struct {
	name, summary  string
	body, answered any
}{
	{callProfile, "Describe the connector.", struct{ Deadline time.Time }{}, Profile{}},
	{callInitiate, "Send an order to the bank, once.", orderCall{}, orderAnswer{}},
	{callStatus, "Ask for the state of an order. Never sends an order.", orderCall{}, orderAnswer{}},
	{callAnswer, "Pass on what the payer or the client answered.", orderCall{}, orderAnswer{}},
	{callCancel, "Ask the bank to cancel an order.", orderCall{}, orderAnswer{}},
	{callAccounts, "List the accounts and subscriptions of a person.", dataCall{}, accountsAnswer{}},
	{callRead, "Read what the person shares.", dataCall{}, record{}},
	{callFile, "Fetch a file.", dataCall{}, record{}},
	{callTerminate, "End the person's consent at the institution.", dataCall{}, accountsAnswer{}},
	{callTest, "Act in place of a payer or a person, for the conformance suite. A program in production must not offer this call.", testCall{}, Acted{}},
}

// documents generates the OpenAPI document from the types that are sent.
type documents struct {
	schemas map[string]any
	// comments holds the comments of fields, by package path, type and field.
	comments map[string]string
}

func TestProtocolDocument(t *testing.T) {
	d := documents{map[string]any{}, comments(t)}
	paths := map[string]any{}
	for _, c := range calls {
		media := "application/json"
		if reflect.TypeOf(c.answered) == reflect.TypeFor[record]() {
			media = "application/x-ndjson"
		}
		paths["/"+version+"/"+c.name] = map[string]any{"post": map[string]any{
			"operationId": c.name, "summary": c.summary,
			"requestBody": map[string]any{"required": true, "content": d.content("application/json", c.body)},
			"responses": map[string]any{
				"200": map[string]any{"description": "The answer, signed. A failure is in its member error.", "content": d.content(media, c.answered)},
				"401": map[string]any{"description": "The signature is wrong, or the request is a repetition."},
			},
		}}
	}
	raw, err := json.MarshalIndent(map[string]any{
		"openapi": "3.1.0", "paths": paths, "components": map[string]any{"schemas": d.schemas},
		"info": map[string]any{"title": "Connector protocol", "version": version, "description": "The calls that a program must serve to be a connector. docs/connectors-in-any-language.md explains signatures and streams."},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	raw = append(raw, '\n')
	if _, err := openapi3.NewLoader().LoadFromData(raw); err != nil {
		t.Fatalf("the document cannot be read: %v", err)
	}
	if *update {
		if err := os.WriteFile(documentPath, raw, 0o644); err != nil { //nolint:gosec // a page of the documentation, which anyone may read
			t.Fatal(err)
		}
	}
	if stored, err := os.ReadFile(documentPath); err != nil || !bytes.Equal(stored, raw) {
		t.Errorf("%s is not what the types make; run make generate (%v)", documentPath, err)
	}
}

func (d documents) content(media string, body any) map[string]any {
	return map[string]any{media: map[string]any{"schema": d.schema(reflect.TypeOf(body))}}
}

// schema describes the JSON that encode writes for a type.
func (d documents) schema(t reflect.Type) map[string]any {
	switch {
	case t.Kind() == reflect.Pointer:
		return d.schema(t.Elem())
	case t == reflect.TypeFor[passerelle.Money]():
		return d.schema(reflect.TypeFor[money]())
	case t == reflect.TypeFor[time.Duration]():
		return map[string]any{"type": "string", "pattern": `^\d+(\.\d+)?(h|m|s|ms)`, "examples": []string{"90s"}}
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[passerelle.Date]():
		return map[string]any{"type": "string", "format": "date"}
	case t == reflect.TypeFor[decimal.Decimal]():
		return map[string]any{"type": "string", "pattern": `^-?\d+(\.\d+)?$`}
	case t == reflect.TypeFor[[]byte]():
		return map[string]any{"type": "string", "contentEncoding": "base64"}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return map[string]any{"type": "string"}
	}
	return d.kind(t)
}

func (d documents) kind(t reflect.Type) map[string]any {
	switch kind := t.Kind(); {
	case kind == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case kind == reflect.Int || kind == reflect.Int64:
		return map[string]any{"type": "integer"}
	case kind == reflect.Slice:
		return map[string]any{"type": "array", "items": d.schema(t.Elem())}
	case kind == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": d.schema(t.Elem())}
	case kind != reflect.Struct:
		return map[string]any{"type": "string"}
	case t.Name() == "":
		return d.object(t)
	}
	name := t.Name()
	if t.PkgPath() == "passerelle/payment" {
		name = "payment" + name // package connector has other types with the same names
	}
	if d.schemas[name] == nil {
		d.schemas[name] = map[string]any{} // a type may refer to itself
		d.schemas[name] = d.object(t)
	}
	return map[string]any{"$ref": "#/components/schemas/" + name}
}

func (d documents) object(t reflect.Type) map[string]any {
	properties := map[string]any{}
	for _, m := range membersOf(t) {
		property := d.schema(m.field.Type)
		if comment := d.comments[t.PkgPath()+"."+t.Name()+"."+m.field.Name]; comment != "" {
			property["description"] = comment
		}
		properties[m.name] = property
	}
	return map[string]any{"type": "object", "properties": properties}
}

var packages = map[string]string{"../..": "passerelle", "../../payment": "passerelle/payment", "..": "passerelle/connector", ".": "passerelle/connector/remote"}

func comments(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for folder, path := range packages {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			note(all, path, file)
		}
	}
	return all
}

func note(all map[string]string, path string, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, isType := n.(*ast.TypeSpec)
		if !isType {
			return true
		}
		fields, isStruct := spec.Type.(*ast.StructType)
		for i := 0; isStruct && i < len(fields.Fields.List); i++ {
			f := fields.Fields.List[i]
			for _, name := range f.Names {
				all[path+"."+spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()+f.Comment.Text()), " ")
			}
		}
		return false
	})
}
