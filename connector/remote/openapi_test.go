package remote

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

var update = flag.Bool("update", false, "write docs/connector-protocol.json anew")

const documentPath = "../../docs/connector-protocol.json"

// calls lists the calls of the protocol with their bodies. A call with the response type record
// responds with a stream of records.
var calls = []struct {
	name, summary  string
	body, answered any
}{
	{callProfile, "Describe the connector.", struct{ Deadline time.Time }{}, profileAnswer{}},
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
	// described holds the descriptions that the document contains, by the same names.
	described map[string]string
}

func TestProtocolDocument(t *testing.T) {
	d := documents{map[string]any{}, comments(t), map[string]string{}}
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
	for field, description := range d.described {
		if found := foreignName.FindString(description); found != "" {
			t.Errorf("the comment of %s has the name %s, which readers of the document do not know", field, found)
		}
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
	if words := wordsOf(t); words != nil {
		return map[string]any{"type": "string", "enum": words}
	}
	return d.kind(t)
}

// wordsOf returns the allowed values of a type of texts, or nil when any text is allowed.
func wordsOf(t reflect.Type) []string {
	if listed, ok := reflect.Zero(t).Interface().(interface{ Values() []string }); ok {
		return listed.Values()
	}
	return typeWords[t]
}

// typeWords has the allowed values of types that have no method Values.
var typeWords = map[reflect.Type][]string{
	reflect.TypeFor[payment.Actor]():              texts(payment.Actors()),
	reflect.TypeFor[passerelle.AccountType]():     accountTypes(),
	reflect.TypeFor[passerelle.Usage]():           texts(passerelle.Usages()),
	reflect.TypeFor[passerelle.AuthMechanism]():   texts([]passerelle.AuthMechanism{passerelle.ByCredentials, passerelle.ByWebauth}),
	reflect.TypeFor[passerelle.TransactionType](): texts(passerelle.TransactionTypes()),
	reflect.TypeFor[passerelle.ConnectionState](): slices.DeleteFunc(texts(passerelle.ConnectionStates()), func(s string) bool { return s == string(passerelle.Validating) }),
}

// fieldWords has the allowed values of fields that are plain texts.
var fieldWords = map[string][]string{
	"passerelle/connector.DataSettings.Capabilities": connector.Capabilities(),
	"passerelle/connector.DataSettings.Documents":    passerelle.DocumentTypes(),
	"passerelle/connector.Field.Type":                connector.FieldTypes(),
	"passerelle/payment.Field.Type":                  payment.FieldTypes(),
	"passerelle.DocumentDetails.Type":                passerelle.DocumentTypes(),
	"passerelle/connector/remote.failure.Kind":       {refused, notSent, unknownOrder, failed},
	"passerelle/connector/remote.testCall.Act":       {ActBegin, ActApprove, ActRefuse},
}

func texts[T ~string](words []T) []string {
	var all []string
	for _, word := range words {
		all = append(all, string(word))
	}
	return all
}

func accountTypes() []string {
	var names []string
	for _, t := range passerelle.AccountTypes() {
		names = append(names, string(t.Type))
	}
	return names
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
		named := map[string]any{"type": "object", "additionalProperties": d.schema(t.Elem())}
		if words := wordsOf(t.Key()); words != nil {
			named["propertyNames"] = map[string]any{"enum": words}
		}
		return named
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
		property, of := d.schema(m.field.Type), t
		if last := len(m.index) - 1; last > 0 {
			of = t.FieldByIndex(m.index[:last]).Type // the embedded struct that declares the field
		}
		field := of.PkgPath() + "." + of.Name() + "." + m.field.Name
		if comment := d.comments[field]; comment != "" {
			d.described[field] = plain(t, comment)
			property["description"] = d.described[field]
		}
		if words := fieldWords[field]; words != nil {
			one := property
			if items, list := property["items"].(map[string]any); list {
				one = items
			}
			one["enum"] = words
		}
		properties[m.name] = property
	}
	return map[string]any{"type": "object", "properties": properties}
}

// constants maps names of constants in comments to their values. A nil value is absent in JSON.
var constants = map[string]any{
	"MaxAccountLabel": passerelle.MaxAccountLabel, "LongestLabel": payment.LongestLabel, "MaxFieldImage": payment.MaxFieldImage,
	"CancellationAwaiting": payment.CancellationAwaiting, "Awaiting": payment.Awaiting, "Redirect": payment.Redirect,
	"NoSpecifiedReason": payment.NoSpecifiedReason, "WebauthRequired": passerelle.WebauthRequired,
	"AdditionalInformationNeeded": passerelle.AdditionalInformationNeeded, "Wrongpass": passerelle.Wrongpass,
	"Warning": payment.Warning, "Nil": "Absent", "nil": "absent",
}

// goName matches a word in a comment that may be the name of a field or a constant.
var goName = regexp.MustCompile(`\b([A-Z][A-Za-z]+|nil)\b`)

// foreignName matches names that only readers of the Go code know.
var foreignName = regexp.MustCompile(`\b[A-Z]+[a-z]+[A-Z]\w*\b`)

// plain returns a comment about a field of a type for readers who do not know the Go code: fields
// have their names in JSON, and constants their values.
func plain(t reflect.Type, comment string) string {
	fields := map[string]string{}
	for _, m := range membersOf(t) {
		fields[m.field.Name] = m.name
	}
	return goName.ReplaceAllStringFunc(comment, func(word string) string {
		if name, known := fields[word]; known {
			return "`" + name + "`"
		}
		if value, known := constants[word]; known {
			return fmt.Sprint(value)
		}
		return word
	})
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
