package httpapi

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"passerelle"
)

// These are the limits of an expansion. In a list, each name may cost one more query.
const (
	maxExpandDepth = 4
	maxExpandNames = 20
)

// Expand contains the parameter expand. Inputs embed it when the endpoint can embed linked
// resources in objects of the type Of. The linked resources are the members of that type with the
// tag expand:
//
//	Connector *Connector `json:"connector,omitempty" expand:"true"`
//
// In the same way, the type of a linked resource defines the resources that it can embed. In an
// input, the tag "without" of the embedded Expand lists the members that the endpoint does not
// embed, separated by commas. Unless the request is strict, the API ignores unknown names, because
// clients send names that no longer exist.
type Expand[Of any] struct {
	Names string `query:"expand" doc:"linked resources to embed, separated by commas (of more than 50,000, a read is refused and a change embeds none); nested resources in brackets"`

	asked Expansion
}

// Linked returns the types of the resources that objects of a type can embed, by name.
func Linked(of reflect.Type) map[string]reflect.Type {
	known, _ := linked.Load(of)
	if found, there := known.(map[string]reflect.Type); there {
		return found
	}
	found := map[string]reflect.Type{}
	if of.Kind() == reflect.Struct {
		collectLinked(of, found)
	}
	linked.Store(of, found)
	return found
}

// linked caches the results of Linked by type.
var linked sync.Map

func collectLinked(of reflect.Type, found map[string]reflect.Type) {
	for f := range of.Fields() {
		if f.Anonymous && element(f.Type).Kind() == reflect.Struct {
			collectLinked(element(f.Type), found)
		}
		if f.Tag.Get("expand") != "" {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			found[name] = element(f.Type)
		}
	}
}

// element returns the type behind a pointer, or the type of a list's items.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// Expansion is a set of names to embed. Each name has the names to embed inside it.
type Expansion []Branch

// Branch is one name of an expansion.
type Branch struct {
	Name   string
	Nested Expansion
}

// Has reports whether the expansion contains the name.
func (e Expansion) Has(name string) bool { return e.find(name) != nil }

// In returns the expansion that is nested in a name.
func (e Expansion) In(name string) Expansion {
	if branch := e.find(name); branch != nil {
		return branch.Nested
	}
	return nil
}

func (e Expansion) find(name string) *Branch {
	for i := range e {
		if e[i].Name == name {
			return &e[i]
		}
	}
	return nil
}

// String returns the expansion in the syntax of the parameter expand.
func (e Expansion) String() string {
	words := make([]string, len(e))
	for i, branch := range e {
		words[i] = branch.Name
		if len(branch.Nested) > 0 {
			words[i] += "[" + branch.Nested.String() + "]"
		}
	}
	return strings.Join(words, ",")
}

// Expansion returns the requested expansion, without unknown names.
func (e Expand[Of]) Expansion() Expansion { return e.asked }

func (e *Expand[Of]) settle(x *exchange, tag reflect.StructTag) error {
	asked, err := parseExpansion(e.Names)
	if err != nil || asked == nil {
		return err
	}
	e.asked, err = asked.among(e.known(tag), x.caller.Strict)
	return err
}

// known returns the names that the endpoint embeds. The tag may exclude some names.
func (e *Expand[Of]) known(tag reflect.StructTag) map[string]reflect.Type {
	known := maps.Clone(Linked(reflect.TypeFor[Of]()))
	for name := range strings.SplitSeq(tag.Get("without"), ",") {
		delete(known, name)
	}
	return known
}

// describe lists the names that the endpoint can embed. Brackets after a name contain the names
// that the named resource can embed.
func (e *Expand[Of]) describe(tag reflect.StructTag) string {
	known := e.known(tag)
	var words []string
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if nested := slices.Sorted(maps.Keys(Linked(known[name]))); len(nested) > 0 {
			name += "[" + strings.Join(nested, ",") + "]"
		}
		words = append(words, name)
	}
	return ": " + strings.Join(words, ", ")
}

// among drops the unknown names. In strict mode, it fails for an unknown name.
func (e Expansion) among(known map[string]reflect.Type, strict bool) (Expansion, error) {
	var kept Expansion
	for _, branch := range e {
		in, there := known[branch.Name]
		if !there && strict {
			return nil, passerelle.InvalidField("expand", "%q is unknown here%s", shown(branch.Name), hint(branch.Name, slices.Sorted(maps.Keys(known))))
		}
		if !there {
			continue
		}
		nested, err := branch.Nested.among(Linked(in), strict)
		if err != nil {
			return nil, err
		}
		kept = append(kept, Branch{Name: branch.Name, Nested: nested})
	}
	return kept, nil
}

// parseExpansion reads names separated by commas. Brackets after a name contain its nested names.
// The result contains a repeated name once, with the nested names of all its repetitions.
func parseExpansion(s string) (Expansion, error) {
	p := expandParser{rest: s}
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	parsed, err := p.names(1)
	if err == nil && p.rest != "" {
		err = p.fault("a comma or the end")
	}
	if err != nil {
		return nil, err
	}
	return parsed, nil
}

type expandParser struct {
	rest string
	read int
	// count is the number of names read so far.
	count int
}

func (p *expandParser) fault(wanted string) error {
	return passerelle.InvalidField("expand", "expected %s at character %d", wanted, p.read+1)
}

func (p *expandParser) names(depth int) (Expansion, error) {
	if depth > maxExpandDepth {
		return nil, passerelle.InvalidField("expand", "nested deeper than %d levels", maxExpandDepth)
	}
	var list Expansion
	for {
		branch, err := p.branch(depth)
		if err != nil {
			return nil, err
		}
		list = list.with(branch)
		if !p.take(',') {
			return list, nil
		}
	}
}

// with adds a branch, or merges it into the branch with the same name.
func (e Expansion) with(branch Branch) Expansion {
	same := e.find(branch.Name)
	if same == nil {
		return append(e, branch)
	}
	for _, nested := range branch.Nested {
		same.Nested = same.Nested.with(nested)
	}
	return e
}

func (p *expandParser) branch(depth int) (Branch, error) {
	name := p.name()
	if name == "" {
		return Branch{}, p.fault("a name")
	}
	if p.count++; p.count > maxExpandNames {
		return Branch{}, passerelle.InvalidField("expand", "more than %d names", maxExpandNames)
	}
	branch := Branch{Name: name}
	if !p.take('[') {
		return branch, nil
	}
	nested, err := p.names(depth + 1)
	if err != nil {
		return Branch{}, err
	}
	if !p.take(']') {
		return Branch{}, p.fault("a closing bracket")
	}
	branch.Nested = nested
	return branch, nil
}

func (p *expandParser) name() string {
	p.space()
	end := 0
	for end < len(p.rest) && nameByte(p.rest[end]) {
		end++
	}
	name := p.rest[:end]
	p.skip(end)
	return name
}

// nameByte reports whether a name may contain the byte. It accepts dots, because some clients send
// connection.connector. Unless the request is strict, the API then ignores that name.
func nameByte(c byte) bool {
	return c == '.' || c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// take consumes the next byte if it has this value.
func (p *expandParser) take(c byte) bool {
	p.space()
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.skip(1)
	p.space()
	return true
}

func (p *expandParser) space() {
	p.skip(len(p.rest) - len(strings.TrimLeft(p.rest, " ")))
}

func (p *expandParser) skip(n int) { p.rest, p.read = p.rest[n:], p.read+n }
