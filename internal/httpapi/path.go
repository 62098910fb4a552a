package httpapi

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"passerelle"
	"passerelle/internal/nearest"
)

// path is the position of a value in a request. It becomes text only when an error names it:
// "instructions[0].beneficiary.label", or "body[0].value" when the complete body is a list.
type path struct{ steps []step }

// step is an index of a list or, if index is negative, a key of an object.
type step struct {
	name  string
	index int
}

func memberStep(name string) step { return step{name: name, index: -1} }
func itemStep(index int) step     { return step{index: index} }

func (p *path) enter(s step) { p.steps = append(p.steps, s) }
func (p *path) leave()       { p.steps = p.steps[:len(p.steps)-1] }

// maxShownName limits the length of keys in errors, because clients choose the keys.
const maxShownName = 60

func (p *path) String() string {
	var b strings.Builder
	if len(p.steps) > 0 && p.steps[0].index >= 0 {
		b.WriteString("body")
	}
	for i, s := range p.steps {
		switch {
		case s.index >= 0:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case i > 0:
			b.WriteString("." + shown(s.name))
		default:
			b.WriteString(shown(s.name))
		}
	}
	if b.Len() == 0 {
		return "body"
	}
	return b.String()
}

// shown returns a name from a request in a form that an error can safely repeat.
func shown(name string) string {
	return passerelle.Excerpt(strings.ToValidUTF8(strings.ReplaceAll(name, "\x00", "?"), "?"), maxShownName)
}

func (p *path) invalid(format string, args ...any) error {
	return passerelle.InvalidField(p.String(), format, args...)
}

// wrong returns the error for a value that does not have the shape of its field.
func (p *path) wrong(want string, n *node) error {
	return p.invalid("must be %s, not %s", want, shapeNames[n.shape])
}

// checkText fails for invalid UTF-8, and for NUL characters, which PostgreSQL cannot store.
func (p *path) checkText(s string) error {
	if !utf8.ValidString(s) {
		return p.invalid("not valid UTF-8")
	}
	if strings.IndexByte(s, 0) >= 0 {
		return p.invalid("must not contain a NUL character")
	}
	return nil
}

// hint returns the last part of a message about an unknown name.
func hint(name string, known []string) string {
	if near := nearest.Name(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}
