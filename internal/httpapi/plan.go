package httpapi

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// plan describes the input that an endpoint accepts. It is compiled once when the service
// starts, so that requests do not read struct tags.
//
// One of the tags path, query, header and body defines the source of a field, followed by its
// name and optionally ",required". A field of the path with ",optional" is zero for patterns
// that do not contain it. Other tags:
//
//	default  the value of a missing query parameter
//	min, max the range of an integer; max alone is the length of a string in code points
//	enum     the allowed words, separated by commas; a type may have a
//	         method Values() []string instead
//	doc      a sentence for the OpenAPI document
//	example  an example for it
//	raw      the media types of bodies that are the field, an UploadedFile
//
// The fields of an embedded struct are fields of the input. When the struct has a method settle
// (Paging, DateRange, Expand, SensitiveInput), it runs after everything is bound.
//
// For a body with unknown keys, a field "*" is a map of the keys that have no other field. With
// ",query", the map also contains query parameters without another field.
//
// A body field with ",whole" is a list that may also be the complete body.
//
// A body that may have several forms has a field for each form. The field is a pointer to a struct
// of body fields. It has the tag variant with a name for the document (see variant.go).
type plan struct {
	path, query, header fields
	body                *fields
	variants            []variant
	settlers            []settlement
}

// fields are the members of an object, or the parameters from one source.
type fields struct {
	list   []field
	byName map[string]int
	names  []string
}

// field is one member of an input.
type field struct {
	name     string
	index    []int
	required bool
	// optional is set for a field of the path that some patterns of the endpoint lack.
	optional bool
	// whole is set for a list that may be the complete body.
	whole bool
	// queried is set when a field "*" also takes query parameters.
	queried  bool
	standard *node // the default value
	rules    rules
	set      setter
	// scalar is set for a field that can be in a form or a query.
	scalar bool
	// nullable is set for a field that distinguishes null from absence.
	nullable bool
	typ      reflect.Type
	members  *fields // for an object, or for the items of a list of objects
}

// rules are the limits in a value's tags.
type rules struct {
	min, max     *int64
	enum         []string
	doc, example string
	// raw are media types. A body of one of these types is the value of the field.
	raw []string
}

// settlement identifies an embedded convention that runs after the input is filled.
type settlement struct {
	index []int
	tag   reflect.StructTag
}

// settler is implemented by embedded conventions that need more than their own parameters: the
// caller, the address, or the tag of the embedding.
type settler interface {
	settle(x *exchange, tag reflect.StructTag) error
}

// describer is implemented by embedded conventions whose documentation depends on the tag of the
// embedding.
type describer interface {
	describe(tag reflect.StructTag) string
}

// maxFields is how many fields one integer can mark as present, one bit for each.
const maxFields = 64

var sources = []string{"path", "query", "header", "body"}

// newPlan compiles an input type. It panics on an invalid declaration, which happens when the
// service starts and in every test.
func newPlan(in reflect.Type) *plan {
	if in.Kind() != reflect.Struct {
		panic(fmt.Sprintf("protocol: input %s is not a struct", in))
	}
	p := &plan{body: &fields{}}
	p.collect(in, nil)
	for _, f := range []*fields{&p.path, &p.query, &p.header, p.body} {
		f.close(in)
	}
	if len(p.variants) > 0 && len(p.body.list) > 0 {
		panic(fmt.Sprintf("protocol: input %s has a body besides its variants", in))
	}
	if rest := p.body.find(anyKey); rest != nil && rest.typ.Kind() != reflect.Map {
		panic(fmt.Sprintf("protocol: the field %q of input %s is not a map", anyKey, in))
	}
	return p
}

// anyKey is the name of a field with all keys of a body that have no field of their own.
const anyKey = "*"

func (p *plan) collect(in reflect.Type, at []int) {
	for i := range in.NumField() {
		f := in.Field(i)
		index := append(slices.Clone(at), i)
		switch {
		case f.Anonymous:
			p.embed(f, index)
		case f.Tag.Get("variant") != "":
			p.variants = append(p.variants, newVariant(f, index))
		case f.IsExported():
			p.declare(in, f, index)
		}
	}
}

func (p *plan) embed(f reflect.StructField, index []int) {
	p.collect(f.Type, index)
	if reflect.PointerTo(f.Type).Implements(reflect.TypeFor[settler]()) {
		if !f.IsExported() {
			panic(fmt.Sprintf("protocol: %s lends its settle method and is not exported: embed what it embeds", f.Name))
		}
		p.settlers = append(p.settlers, settlement{index: index, tag: f.Tag})
	}
	if about, reported := reflect.New(f.Type).Interface().(describer); reported {
		p.query.list[len(p.query.list)-1].rules.doc += about.describe(f.Tag)
	}
}

func (p *plan) declare(in reflect.Type, f reflect.StructField, index []int) {
	source := slices.IndexFunc(sources, func(name string) bool { return f.Tag.Get(name) != "" })
	if source < 0 {
		panic(fmt.Sprintf("protocol: field %s.%s has no tag of %v", in, f.Name, sources))
	}
	set := []*fields{&p.path, &p.query, &p.header, p.body}[source]
	set.list = append(set.list, newField(f, sources[source], index))
}

func newField(f reflect.StructField, source string, index []int) field {
	name, option, _ := strings.Cut(f.Tag.Get(source), ",")
	out := field{name: name, index: index, required: option == "required", optional: option == "optional", whole: option == "whole", queried: option == "query", rules: newRules(f), typ: f.Type}
	if value, ok := f.Tag.Lookup("default"); ok {
		out.standard = &node{shape: loose, text: value}
	}
	compile(&out, f.Type)
	if source == "path" {
		out.set = pathSetter(f.Type, out.set)
	}
	return out
}

func newRules(f reflect.StructField) rules {
	r := rules{doc: f.Tag.Get("doc"), example: f.Tag.Get("example"), min: bound(f, "min"), max: bound(f, "max")}
	if words := f.Tag.Get("enum"); words != "" {
		r.enum = strings.Split(words, ",")
	}
	if types := f.Tag.Get("raw"); types != "" {
		r.raw = strings.Split(types, ",")
	}
	return r
}

// rawField returns the field that can be the complete body, or nil.
func (p *plan) rawField() *field {
	at := slices.IndexFunc(p.body.list, func(f field) bool { return len(f.rules.raw) > 0 })
	if at < 0 {
		return nil
	}
	return &p.body.list[at]
}

func bound(f reflect.StructField, tag string) *int64 {
	written, ok := f.Tag.Lookup(tag)
	if !ok {
		return nil
	}
	value, err := strconv.ParseInt(written, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("protocol: field %s: tag %s: %s", f.Name, tag, err))
	}
	return &value
}

// close builds the index by name. It is called after the last field.
func (f *fields) close(in reflect.Type) {
	f.byName = make(map[string]int, len(f.list))
	for i := range f.list {
		name := f.list[i].name
		if _, twice := f.byName[name]; twice {
			panic(fmt.Sprintf("protocol: input %s has two fields named %q", in, name))
		}
		f.byName[name] = i
		f.names = append(f.names, name)
	}
	if len(f.list) > maxFields {
		panic(fmt.Sprintf("protocol: input %s has more than %d fields", in, maxFields))
	}
}

func (f *fields) find(name string) *field {
	if i, ok := f.byName[name]; ok {
		return &f.list[i]
	}
	return nil
}

// objectPlan compiles a struct inside a body. All fields of the struct must have body tags.
func objectPlan(t reflect.Type) *fields {
	p := plan{body: &fields{}}
	p.collect(t, nil)
	if len(p.path.list)+len(p.query.list)+len(p.header.list)+len(p.settlers)+len(p.variants) > 0 {
		panic(fmt.Sprintf("protocol: %s is part of a body and has fields from elsewhere", t))
	}
	p.body.close(t)
	return p.body
}
