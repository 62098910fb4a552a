package reference

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Object is a named object of the API. Within lists the objects that contain this object.
type Object struct {
	Name   string
	Fields []Field
	Within []string
}

// Field is a member of an object. It may also be a parameter of a call in the path, the query or
// the headers.
type Field struct {
	Name, In, About string
	Required        bool
	Value           []Word
}

// Word is a part of the description of a value: a text, the name of an object, or a literal.
type Word struct {
	Text, Object, Literal string
}

// paragraph is a text or a list of texts.
type paragraph struct {
	Text  string
	Items []string
}

// paragraphs splits a text of the document into paragraphs. The only markup in such a text is empty
// lines and dashes.
func paragraphs(text string) []paragraph {
	var all []paragraph
	for block := range strings.SplitSeq(text, "\n\n") {
		if items, isList := strings.CutPrefix(block, "- "); isList {
			all = append(all, paragraph{Items: strings.Split(items, "\n- ")})
		} else if block != "" {
			all = append(all, paragraph{Text: block})
		}
	}
	return all
}

func (d document) object(name string) Object {
	o := Object{Name: name, Fields: fields(d.Components.Schemas[name])}
	for _, other := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		if other != name && d.Components.Schemas[other].mentions(name) {
			o.Within = append(o.Within, other)
		}
	}
	return o
}

// mentions reports whether a value may contain the object.
func (s schema) mentions(object string) bool {
	holds := func(inner schema) bool { return inner.mentions(object) }
	return s.name() == object ||
		s.Items != nil && holds(*s.Items) || s.AdditionalProperties != nil && holds(*s.AdditionalProperties) ||
		slices.ContainsFunc(s.AnyOf, holds) || slices.ContainsFunc(slices.Collect(maps.Values(s.Properties)), holds)
}

// name returns the name of the object that the schema refers to, or an empty text for a schema
// without a reference.
func (s schema) name() string { return strings.TrimPrefix(s.Ref, "#/components/schemas/") }

// fields returns the fields of an object. The required fields come first.
func fields(s schema) []Field {
	var first, rest []Field
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if slices.Contains(s.Required, name) {
			first = append(first, field(name, "", true, s.Properties[name]))
		} else {
			rest = append(rest, field(name, "", false, s.Properties[name]))
		}
	}
	return append(first, rest...)
}

func field(name, in string, required bool, s schema) Field {
	f := Field{Name: name, In: in, About: s.Description, Required: required, Value: words(s)}
	if s.Default != nil {
		f.Value = append(f.Value, Word{Text: "; unless given, "}, literal(s.Default))
	}
	return f
}

func literal(value any) Word { return Word{Literal: fmt.Sprint(value)} }

// words describes the values that a schema allows. It returns nothing for a schema that allows any
// value.
func words(s schema) []Word {
	switch {
	case s.Ref != "":
		return []Word{{Object: s.name()}}
	case len(s.AnyOf) > 0:
		var each [][]Word
		for _, one := range s.AnyOf {
			each = append(each, words(one))
		}
		return either(each)
	case s.Const != nil:
		return []Word{literal(s.Const)}
	case len(s.Enum) > 0:
		return choice(s.Enum)
	}
	var each [][]Word
	for _, kind := range s.Type {
		each = append(each, s.kind(kind))
	}
	return either(each)
}

// either joins alternatives with "or".
func either(each [][]Word) []Word {
	var all []Word
	for i, one := range each {
		if i > 0 {
			all = append(all, Word{Text: " or "})
		}
		all = append(all, one...)
	}
	return all
}

func choice(values []string) []Word {
	all := []Word{{Text: "one of "}}
	for i, value := range values {
		if i > 0 {
			all = append(all, Word{Text: ", "})
		}
		all = append(all, Word{Literal: value})
	}
	return all
}

// kind returns the description of a value with one JSON type.
func (s schema) kind(kind string) []Word {
	switch {
	case kind == "array" && s.Items != nil:
		return append([]Word{{Text: "list of "}}, words(*s.Items)...)
	case kind == "object" && s.AdditionalProperties != nil:
		return append([]Word{{Text: "object whose members are each "}}, words(*s.AdditionalProperties)...)
	case kind == "null":
		return []Word{{Literal: kind}}
	case kind == "string" && s.Format == "binary":
		return []Word{{Text: "bytes"}}
	case kind == "string" && s.MaxLength != nil:
		return []Word{{Text: fmt.Sprintf("text of at most %d characters", *s.MaxLength)}}
	case kind == "integer":
		return []Word{{Text: "whole number" + s.bounds()}}
	}
	names := map[string]string{"string": "text", "boolean": "true or false", "array": "list"}
	if name, known := names[kind]; known {
		return []Word{{Text: name}}
	}
	return []Word{{Text: kind}}
}

func (s schema) bounds() string {
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf(", %d to %d", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		return fmt.Sprintf(", %d or more", *s.Minimum)
	case s.Maximum != nil:
		return fmt.Sprintf(", at most %d", *s.Maximum)
	}
	return ""
}
