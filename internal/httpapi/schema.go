package httpapi

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// schema is the part of JSON Schema 2020-12 that the OpenAPI document uses. The package generates
// schemas without a library. No library can read the compiled plans that describe inputs. The
// schemas of outputs need only these few members.
type schema struct {
	Ref                  string             `json:"$ref,omitempty"`
	Type                 any                `json:"type,omitempty"` // one word or several words
	Format               string             `json:"format,omitempty"`
	Description          string             `json:"description,omitempty"`
	Enum                 []string           `json:"enum,omitempty"`
	AnyOf                []*schema          `json:"anyOf,omitempty"`
	Const                string             `json:"const,omitempty"`
	Properties           map[string]*schema `json:"properties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	AdditionalProperties *schema            `json:"additionalProperties,omitempty"`
	Items                *schema            `json:"items,omitempty"`
	Minimum              *int64             `json:"minimum,omitempty"`
	Maximum              *int64             `json:"maximum,omitempty"`
	MaxLength            *int64             `json:"maxLength,omitempty"`
	Default              any                `json:"default,omitempty"`
	Examples             []any              `json:"examples,omitempty"`
}

// anyType lists the types of JSON, for values that may have any type.
var anyType = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// schemas collects the named schemas of a document.
type schemas struct {
	named map[string]*schema
	types map[string]reflect.Type
}

// output returns the schema of the JSON that encoding/json renders for a type.
func (s *schemas) output(t reflect.Type) *schema {
	if t == reflect.TypeFor[json.Number]() {
		return &schema{Type: "number"}
	}
	switch {
	case t.Kind() == reflect.Pointer:
		return nullable(s.output(t.Elem()))
	case t.Implements(reflect.TypeFor[json.Marshaler]()), t == reflect.TypeFor[RawJSON]():
		return &schema{}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return &schema{Type: "string"}
	}
	return s.outputKind(t)
}

func (s *schemas) outputKind(t reflect.Type) *schema {
	switch kind := t.Kind(); {
	case kind == reflect.Struct:
		return s.component(t, func() *schema { return s.object(t) })
	case kind == reflect.Slice:
		return &schema{Type: "array", Items: s.output(t.Elem())}
	case kind == reflect.Map:
		return &schema{Type: "object", AdditionalProperties: s.output(t.Elem())}
	case kind == reflect.Interface:
		return &schema{}
	}
	return scalar(t, nil)
}

// scalars maps kinds of Go types to JSON types. It contains no float: amounts in responses have the
// type json.Number.
var scalars = map[reflect.Kind]string{
	reflect.String: "string", reflect.Bool: "boolean",
	reflect.Int: "integer", reflect.Int32: "integer", reflect.Int64: "integer",
}

func scalar(t reflect.Type, words []string) *schema {
	name := scalars[t.Kind()]
	if name == "" {
		panic(fmt.Sprintf("httpapi: a %s cannot be part of the interface", t))
	}
	if own, ok := reflect.Zero(t).Interface().(valued); ok && words == nil {
		words = own.Values()
	}
	out := &schema{Type: name, Enum: words}
	if t.Kind() == reflect.Int64 {
		out.Format = "int64"
	}
	return out
}

// nullable returns a schema that also permits null.
func nullable(s *schema) *schema {
	name, single := s.Type.(string)
	if !single || s.Ref != "" || s.Enum != nil {
		return &schema{AnyOf: []*schema{s, {Type: "null"}}}
	}
	out := *s
	out.Type = []string{name, "null"}
	return &out
}

// component gives a struct type a name in the document. When two types have the same name, the name
// of the package distinguishes them.
func (s *schemas) component(t reflect.Type, describe func() *schema) *schema {
	if t.Name() == "" {
		return describe()
	}
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if taken := s.types[name]; taken != nil && taken != t {
		at := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
		name = strings.ToUpper(at[:1]) + at[1:] + name
	}
	if s.types[name] == nil {
		s.types[name] = t
		s.named[name] = describe()
	}
	return &schema{Ref: "#/components/schemas/" + name}
}

func (s *schemas) object(t reflect.Type) *schema {
	out := &schema{Type: "object", Properties: map[string]*schema{}}
	s.members(out, t)
	return out
}

func (s *schemas) members(out *schema, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Pointer:
			s.optionalMembers(out, f.Type.Elem())
		case f.Anonymous && name == "":
			s.members(out, f.Type)
		case f.IsExported() && name != "-":
			out.property(s.output(f.Type), f, name, options)
		}
	}
}

// optionalMembers adds the members of an embedded pointer. A response has all of these members, or
// lacks all of them.
func (s *schemas) optionalMembers(out *schema, t reflect.Type) {
	required := out.Required
	s.members(out, t)
	out.Required = required
}

func (s *schema) property(value *schema, f reflect.StructField, name, options string) {
	if name == "" {
		name = f.Name
	}
	if !strings.Contains(options, "omit") {
		s.Required = append(s.Required, name)
	}
	s.Properties[name] = newRules(f).describe(value)
}

// describe returns the schema with the rules from the tags.
func (r rules) describe(s *schema) *schema {
	out := *s
	if r.doc != "" {
		out.Description = r.doc
	}
	if r.example != "" {
		out.Examples = []any{r.example}
	}
	if r.enum != nil {
		out.Enum = r.enum
	}
	if s.text() {
		out.MaxLength = r.max
	} else if out.Items == nil && out.AdditionalProperties == nil {
		out.Minimum, out.Maximum = r.min, r.max
	}
	return &out
}

// input returns the schema of a plan's field.
func (s *schemas) input(f *field) *schema {
	out := f.rules.describe(s.inputType(f, f.typ))
	if !takesFile(f.typ) {
		f.rules.bound(out)
	}
	if f.standard != nil {
		out.Default = json.RawMessage(f.standard.text)
		if out.Type == "string" {
			out.Default = f.standard.text
		}
	}
	return out
}

// bound adds the length limit of texts to the schema. It does the same for the items of a list and
// the values of a map.
func (r rules) bound(s *schema) {
	if s.text() && s.Enum == nil && s.Format == "" {
		most := r.longest()
		s.MaxLength = &most
	}
	for _, inner := range []*schema{s.Items, s.AdditionalProperties} {
		if inner != nil {
			r.bound(inner)
		}
	}
}

// text reports whether the type of the schema is or includes "string".
func (s *schema) text() bool {
	types, several := s.Type.([]string)
	return s.Type == "string" || several && slices.Contains(types, "string")
}

func (s *schemas) inputType(f *field, t reflect.Type) *schema {
	if reader, ok := reflect.New(t).Interface().(nodeReader); ok {
		return reader.schema()
	}
	if implements[encoding.TextUnmarshaler](t) {
		return &schema{Type: "string"}
	}
	switch kind := t.Kind(); {
	case kind == reflect.Pointer:
		return s.inputType(f, t.Elem())
	case kind == reflect.Slice:
		return &schema{Type: "array", Items: s.inputType(f, t.Elem())}
	case kind == reflect.Map:
		return &schema{Type: "object", AdditionalProperties: s.inputType(f, t.Elem())}
	case kind == reflect.Struct:
		return s.component(t, func() *schema { return s.inputs(f.members) })
	}
	return scalar(t, f.rules.enum)
}

// inputs returns the schema of a request's body, or of an object inside the body.
func (s *schemas) inputs(f *fields) *schema {
	out := &schema{Type: "object", Properties: map[string]*schema{}}
	for i := range f.list {
		if f.list[i].name == anyKey {
			out.AdditionalProperties = s.input(&f.list[i]).AdditionalProperties
			if f.list[i].queried { // see readable
				out.AdditionalProperties = &schema{Type: anyType, Description: "a text; values of other types have no effect, except that the digits of a number become a text"}
			}
			continue
		}
		out.Properties[f.list[i].name] = s.input(&f.list[i])
		if f.list[i].required {
			out.Required = append(out.Required, f.list[i].name)
		}
	}
	return out
}

// variant adds one of several possible bodies as a named schema.
func (s *schemas) variant(v variant) *schema {
	s.named[v.name] = s.inputs(v.fields)
	return &schema{Ref: "#/components/schemas/" + v.name}
}

// flat reports whether a form can contain every field.
func (f *fields) flat() bool {
	for i := range f.list {
		if !f.list[i].scalar && f.list[i].name != anyKey {
			return false
		}
	}
	return true
}
