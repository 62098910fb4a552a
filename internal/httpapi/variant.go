package httpapi

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"passerelle"
)

// variant is one of the bodies that a call accepts. The keys of the body select the variant. A
// variant matches when it has all known keys of the body. When several variants match, the API uses
// the first one whose required keys are all present.
type variant struct {
	// name is the name of the schema in the OpenAPI document.
	name   string
	index  []int
	typ    reflect.Type
	fields *fields
}

func newVariant(f reflect.StructField, index []int) variant {
	if f.Type.Kind() != reflect.Pointer || f.Type.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("httpapi: the variant %s is not a pointer to a struct", f.Name))
	}
	made := variant{name: f.Tag.Get("variant"), index: index, typ: f.Type.Elem(), fields: objectPlan(f.Type.Elem())}
	if len(made.fields.required()) == 0 {
		panic(fmt.Sprintf("httpapi: the variant %s has no required field", f.Name))
	}
	return made
}

// bodies returns the sets of fields that a body may have.
func (p *plan) bodies() []*fields {
	if len(p.variants) == 0 {
		return []*fields{p.body}
	}
	sets := make([]*fields, len(p.variants))
	for i := range p.variants {
		sets[i] = p.variants[i].fields
	}
	return sets
}

// takesBody reports whether the input has body fields.
func (p *plan) takesBody() bool { return len(p.body.list)+len(p.variants) > 0 }

// bindBody fills the input from a body. With variants, it fills only the selected variant and
// leaves the other variants nil.
func (p *plan) bindBody(b *binding, in reflect.Value, body *node) error {
	if p.body.find(anyKey) != nil {
		return p.body.setOpen(b, in, body)
	}
	if len(p.variants) == 0 {
		return p.body.set(b, in, body)
	}
	chosen, err := p.choose(body)
	if err != nil {
		return err
	}
	into := reflect.New(chosen.typ)
	in.FieldByIndex(chosen.index).Set(into)
	return chosen.fields.set(b, into.Elem(), body)
}

func (p *plan) choose(body *node) (variant, error) {
	came := p.knownKeys(body)
	var fitting []variant
	for _, v := range p.variants {
		if missing(came, v.fields.names) == nil {
			fitting = append(fitting, v)
		}
	}
	if len(fitting) == 0 {
		return variant{}, passerelle.InvalidField("body", "%s belong to different requests; send one of them at a time%s", strings.Join(came, ", "), p.companions(came))
	}
	for _, v := range fitting {
		if missing(v.fields.required(), came) == nil {
			return v, nil
		}
	}
	if len(came) == 0 {
		return variant{}, p.nothing()
	}
	return fitting[0], nil
}

// companions says which keys go only with another key, the first required key of their variant. It
// returns "" when there are none.
func (p *plan) companions(came []string) string {
	var text strings.Builder
	for _, name := range came {
		var with []string
		for _, v := range p.variants {
			if first := v.fields.required()[0]; v.fields.find(name) != nil && !slices.Contains(with, first) {
				with = append(with, first)
			}
		}
		if !slices.Contains(with, name) {
			fmt.Fprintf(&text, "; %s goes with %s", name, strings.Join(with, " or "))
		}
	}
	return text.String()
}

// knownKeys returns those keys of a body that at least one variant has. It ignores members with the
// value null.
func (p *plan) knownKeys(body *node) []string {
	var names []string
	for i := range body.nodes {
		name := body.nodes[i].name
		known := func(f *fields) bool { return f.find(name) != nil }
		if body.nodes[i].shape != null && slices.ContainsFunc(p.bodies(), known) {
			names = append(names, name)
		}
	}
	return names
}

// nothing returns the error for a body without a known key. The error lists the required keys of
// all variants.
func (p *plan) nothing() error {
	required := make([]string, len(p.variants))
	for i, v := range p.variants {
		names := v.fields.required()
		required[i] = names[0]
		if len(names) > 1 {
			required[i] += " (with " + strings.Join(names[1:], ", ") + ")"
		}
	}
	return passerelle.MissingField(required[0], "is required, or one of "+strings.Join(required[1:], ", "))
}

func (f *fields) required() []string {
	var names []string
	for i := range f.list {
		if f.list[i].required {
			names = append(names, f.list[i].name)
		}
	}
	return names
}

// missing returns those names that the second list does not contain.
func missing(names, among []string) []string {
	var absent []string
	for _, name := range names {
		if !slices.Contains(among, name) {
			absent = append(absent, name)
		}
	}
	return absent
}
