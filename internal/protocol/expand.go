package protocol

import (
	"reflect"
	"strings"

	"passerelle"
)

// The bounds of an expansion; each name costs one query, whatever the size of
// the list.
const (
	maxExpandDepth = 4
	maxExpandNames = 20
)

// Expand is embedded by endpoints that can embed linked resources. The tag
// names says which, in the syntax of the parameter itself:
//
//	Expand `names:"accounts,connector[countries]"`
//
// Other names are ignored, since clients ask for some that no longer exist.
type Expand struct {
	Names string `query:"expand" doc:"linked resources to embed, separated by commas, nested ones in brackets"`

	asked Expansion
}

// Expansion is a set of names to embed, each with the names to embed in it.
type Expansion []Branch

// Branch is one name of an expansion.
type Branch struct {
	Name   string
	Nested Expansion
}

// Has reports whether the name is to be embedded.
func (e Expansion) Has(name string) bool { return e.find(name) != nil }

// In gives what is to be embedded in the resources of that name.
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

// String writes the expansion as the parameter is written.
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

// Expansion is what the request asked for, without the unknown names.
func (e Expand) Expansion() Expansion { return e.asked }

func (e *Expand) settle(x *exchange, tag reflect.StructTag) error {
	asked, err := parseExpansion(e.Names)
	if err != nil {
		return err
	}
	known, err := parseExpansion(tag.Get("names"))
	if err != nil {
		return err
	}
	e.asked, err = asked.among(known, x.caller.Strict)
	return err
}

// among keeps the names that are known at their place.
func (e Expansion) among(known Expansion, strict bool) (Expansion, error) {
	var kept Expansion
	for _, branch := range e {
		in := known.find(branch.Name)
		if in == nil && strict {
			return nil, passerelle.InvalidField("expand", "%q is unknown here%s", shown(branch.Name), hint(branch.Name, known.names()))
		}
		if in == nil {
			continue
		}
		nested, err := branch.Nested.among(in.Nested, strict)
		if err != nil {
			return nil, err
		}
		kept = append(kept, Branch{Name: branch.Name, Nested: nested})
	}
	return kept, nil
}

func (e Expansion) names() []string {
	names := make([]string, len(e))
	for i, branch := range e {
		names[i] = branch.Name
	}
	return names
}

// parseExpansion reads names separated by commas, each optionally followed by
// brackets around the names nested in it. A name given twice at one place
// counts once, with what both nest.
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
	// count is the number of names so far.
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

// with adds a branch, joining it with one of the same name.
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

// nameByte takes points too: some clients write connection.connector, which is a
// name that nothing has.
func nameByte(c byte) bool {
	return c == '.' || c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// take consumes the byte if it comes next.
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
