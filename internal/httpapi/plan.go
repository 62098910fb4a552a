package httpapi

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// plan describes the input that an endpoint accepts. The service compiles it once when it starts,
// so requests do not read struct tags.
//
// The source of a field is one of the tags path, query, header and body. The tag has the name of
// the field and optionally ",required". A path field with ",optional" is zero for the patterns that
// do not contain it. Other tags:
//
//	default  the value of a missing query parameter
//	min, max the range of an integer; for a string, max is the largest length in code points
//	names    for a map, the largest length of a name in code points
//	enum     the allowed words, separated by commas; a type may have a
//	         method Values() []string instead
//	doc      a sentence for the OpenAPI document
//	example  an example for the OpenAPI document
//	raw      the media types of a body that the field, an UploadedFile, receives as a whole
//
// The fields of an embedded struct are fields of the input. If the embedded struct has a method
// settle, this method runs after the request has filled all fields. Paging, DateRange, Expand and
// SensitiveInput have this method.
//
// The fields of a struct with the tag inner are fields of the input, too.
//
// A body or a query may have a field "*", which is a map. The map receives the names that have no
// other field. A body field "*" with ",query" also receives query parameters without another field.
//
// A body field with ",whole" is a list. The complete body may be this list.
//
// If an endpoint accepts several variants of a body, the input has one field for each variant. The
// field is a pointer to a struct of body fields. The tag variant has the name of the variant's
// schema in the OpenAPI document (see variant.go).
type plan struct {
	path, query, header fields
	body                *fields
	variants            []variant
	settlers            []settlement
}

// fields holds the members of an object, or the parameters from one source.
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
	// optional is set for a path field that some patterns of the endpoint do not contain.
	optional bool
	// whole is set for a list when the complete body may be this list.
	whole bool
	// queried is set when a field "*" also receives query parameters.
	queried  bool
	standard *node // the default value
	rules    rules
	set      setter
	// scalar is set for a field that a form or a query can contain.
	scalar bool
	// nullable is set for a field whose type is a nodeReader. Such a field receives null.
	nullable bool
	typ      reflect.Type
	members  *fields // for an object, or for the items of a list of objects
}

// rules holds what the tags of a field say about its values.
type rules struct {
	min, max     *int64
	names        *int64 // the largest length of a name in a map; nil is maxName
	enum         []string
	doc, example string
	// raw lists media types. A body of such a type is the value of the field.
	raw []string
}

// settlement identifies an embedded struct with a method settle, which runs after the request has
// filled the input.
type settlement struct {
	index []int
	tag   reflect.StructTag
}

// settler is the interface of embedded structs that need more than their own parameters. Such a
// struct needs the caller, the address, or the tag of the embedded field.
type settler interface {
	settle(x *exchange, tag reflect.StructTag) error
}

// describer is the interface of embedded structs whose documentation depends on the tag of the
// embedded field.
type describer interface {
	describe(tag reflect.StructTag) string
}

// maxFields is the largest number of fields from one source, or of one object. One integer marks
// the fields that are present, with one bit for each field.
const maxFields = 64

var sources = []string{"path", "query", "header", "body"}

// newPlan compiles an input type. It panics for an invalid declaration. The panic happens when the
// service starts.
func newPlan(in reflect.Type) *plan {
	if in.Kind() != reflect.Struct {
		panic(fmt.Sprintf("httpapi: input %s is not a struct", in))
	}
	p := &plan{body: &fields{}}
	p.collect(in, nil)
	for _, f := range []*fields{&p.path, &p.query, &p.header, p.body} {
		f.close(in)
	}
	if len(p.variants) > 0 && len(p.body.list) > 0 {
		panic(fmt.Sprintf("httpapi: input %s has a body besides its variants", in))
	}
	if rest := p.body.find(anyKey); rest != nil && rest.typ.Kind() != reflect.Map {
		panic(fmt.Sprintf("httpapi: the field %q of input %s is not a map", anyKey, in))
	}
	return p
}

// anyKey is the name of the field that receives all keys without a field of their own.
const anyKey = "*"

func (p *plan) collect(in reflect.Type, at []int) {
	for i := range in.NumField() {
		f := in.Field(i)
		index := append(slices.Clone(at), i)
		switch {
		case f.Anonymous:
			p.embed(f, index)
		case f.Tag.Get("inner") != "":
			p.collect(f.Type, index)
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
			panic(fmt.Sprintf("httpapi: %s lends its settle method and is not exported: embed what it embeds", f.Name))
		}
		p.settlers = append(p.settlers, settlement{index: index, tag: f.Tag})
	}
	if about, reported := reflect.New(f.Type).Interface().(describer); reported && !inherits[describer](f.Type) {
		p.query.list[len(p.query.list)-1].rules.doc += about.describe(f.Tag)
	}
}

// inherits reports whether a struct has the methods of an interface from an embedded struct.
func inherits[methods any](of reflect.Type) bool {
	for i := range of.NumField() {
		if f := of.Field(i); f.Anonymous && reflect.PointerTo(f.Type).Implements(reflect.TypeFor[methods]()) {
			return true
		}
	}
	return false
}

func (p *plan) declare(in reflect.Type, f reflect.StructField, index []int) {
	source := slices.IndexFunc(sources, func(name string) bool { return f.Tag.Get(name) != "" })
	if source < 0 {
		panic(fmt.Sprintf("httpapi: field %s.%s has no tag of %v", in, f.Name, sources))
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
	r := rules{doc: f.Tag.Get("doc"), example: f.Tag.Get("example"), min: bound(f, "min"), max: bound(f, "max"), names: bound(f, "names")}
	if words := f.Tag.Get("enum"); words != "" {
		r.enum = strings.Split(words, ",")
	}
	if types := f.Tag.Get("raw"); types != "" {
		r.raw = strings.Split(types, ",")
	}
	return r
}

// rawField returns the field whose value can be the complete body, or nil.
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
		panic(fmt.Sprintf("httpapi: field %s: tag %s: %s", f.Name, tag, err))
	}
	return &value
}

// close builds the index of fields by name. The caller calls it after adding the last field.
func (f *fields) close(in reflect.Type) {
	f.byName = make(map[string]int, len(f.list))
	for i := range f.list {
		name := f.list[i].name
		if _, twice := f.byName[name]; twice {
			panic(fmt.Sprintf("httpapi: input %s has two fields named %q", in, name))
		}
		f.byName[name] = i
		f.names = append(f.names, name)
	}
	if len(f.list) > maxFields {
		panic(fmt.Sprintf("httpapi: input %s has more than %d fields", in, maxFields))
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
		panic(fmt.Sprintf("httpapi: %s is part of a body and has fields from elsewhere", t))
	}
	p.body.close(t)
	return p.body
}
