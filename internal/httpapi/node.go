package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"passerelle"
	"passerelle/internal/httpd"
)

// shape is the kind of a node. A loose node comes from a form, a query, a path or a header, where
// every value is text. The type of the field decides what a loose node means. A file comes from a
// multipart form or is the complete body. It may contain any bytes.
type shape uint8

const (
	null shape = iota
	boolean
	number
	text
	loose
	list
	object
	file
)

// shapeNames lists the names of the shapes in error messages.
var shapeNames = [...]string{null: "null", boolean: "a boolean", number: "a number", text: "a string", loose: "a string", list: "an array", object: "an object", file: "a file"}

// maxDepth limits the nesting of arrays and objects in a body, and maxValues limits its values. A
// payment with 1,000 instructions and all identities has 50,000 values. An event of 4 MiB, which
// sandboxes accept, has about 200,000 values.
const (
	maxDepth  = 32
	maxValues = 250000
)

// valueSize is the memory for a parsed value in bytes: a node, and unused places of the list that
// contains it.
const valueSize = 160

// node is a value in a request before the type of its field is known. A number keeps its digits and
// never becomes a float.
type node struct {
	shape shape
	// assigned is set when a loose node comes from a form in the body, or when it is an empty field of
	// the body that the query has with an equals sign.
	assigned bool
	// name is the key of a node that is a member of an object.
	name string
	// text is the content of a scalar. fileName is the name of a file in a form.
	text, fileName string
	// nodes holds the members of an object or the items of a list.
	nodes []node
}

func (n *node) member(name string) *node {
	for i := range n.nodes {
		if n.nodes[i].name == name {
			return &n.nodes[i]
		}
	}
	return nil
}

// parseJSON parses a JSON body. The standard library decides whether the text is valid JSON.
// parseJSON itself refuses repeated keys, invalid UTF-8 and half surrogates, each with its own
// message. The standard library would accept such bodies. parseJSON also refuses a body whose
// values would take too much memory, before it allocates memory for them.
func parseJSON(ctx context.Context, data []byte) (node, error) {
	values := countValues(data)
	if values > maxValues {
		return node{}, tooLarge("The body may contain at most %d JSON values.", maxValues)
	}
	if !json.Valid(data) {
		return node{}, syntaxError(data)
	}
	if err := httpd.Reserve(ctx, values*valueSize); err != nil {
		return node{}, err
	}
	p := parser{data: string(data)}
	root, err := p.value(0)
	if err != nil {
		return node{}, err
	}
	if root.shape != object && root.shape != list {
		return node{}, notAnObject(root)
	}
	return root, nil
}

// countValues returns the number of values in a JSON text. It counts an empty array or object as
// two values.
func countValues(data []byte) int64 {
	values, quoted := int64(1), false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ',' || c == '[' || c == '{'):
			values++
		}
	}
	return values
}

func notAnObject(body node) error {
	return passerelle.InvalidField("body", "must be an object, not %s", shapeNames[body.shape])
}

// syntaxError returns an error with the position at which the body stops being valid JSON.
func syntaxError(data []byte) error {
	var raw json.RawMessage
	var syntax *json.SyntaxError
	err := json.Unmarshal(data, &raw)
	if errors.As(err, &syntax) {
		return malformed("not JSON at byte %d: %s", syntax.Offset, syntax)
	}
	return malformed("not JSON: %v", err)
}

func malformed(format string, args ...any) error {
	return passerelle.InvalidField("body", format, args...)
}

// parser reads text that is known to be valid JSON. It therefore checks no grammar.
type parser struct {
	data string
	pos  int
	path path
}

func (p *parser) space() {
	for p.pos < len(p.data) && strings.IndexByte(" \t\r\n", p.data[p.pos]) >= 0 {
		p.pos++
	}
}

// next skips white space and returns the next byte. It returns zero at the end.
func (p *parser) next() byte {
	p.space()
	if p.pos >= len(p.data) {
		return 0
	}
	return p.data[p.pos]
}

func (p *parser) value(depth int) (node, error) {
	if depth > maxDepth {
		return node{}, p.path.invalid("nested deeper than %d levels", maxDepth)
	}
	switch p.next() {
	case '{':
		return p.object(depth)
	case '[':
		return p.list(depth)
	case '"':
		content, err := p.text()
		return node{shape: text, text: content}, err
	}
	return p.word(), nil
}

// word reads a number, true, false or null.
func (p *parser) word() node {
	start := p.pos
	for p.pos < len(p.data) && strings.IndexByte(" \t\r\n,]}", p.data[p.pos]) < 0 {
		p.pos++
	}
	word := p.data[start:p.pos]
	switch word {
	case "null":
		return node{shape: null, text: word}
	case "true", "false":
		return node{shape: boolean, text: word}
	}
	return node{shape: number, text: word}
}

// text reads a string. It refuses characters that databases or other JSON parsers treat
// differently.
func (p *parser) text() (string, error) {
	start := p.pos
	p.pos++
	for p.pos < len(p.data) && p.data[p.pos] != '"' {
		if p.data[p.pos] == '\\' {
			p.pos++
		}
		p.pos++
	}
	p.pos++
	raw := p.data[start:p.pos]
	content := raw[1 : len(raw)-1]
	if strings.IndexByte(content, '\\') < 0 {
		return content, p.path.checkText(content)
	}
	return p.unescape(raw)
}

func (p *parser) unescape(raw string) (string, error) {
	if err := p.path.checkText(raw); err != nil {
		return "", err
	}
	var content string
	if err := json.Unmarshal([]byte(raw), &content); err != nil {
		return "", malformed("not JSON at byte %d: %s", p.pos, err)
	}
	if halved(raw) {
		return "", p.path.invalid("half of a surrogate pair is not valid text")
	}
	return content, p.path.checkText(content)
}

// escapedHalf matches an escape for half of a surrogate pair at the beginning of a text.
// escapedPair matches the two escapes of a pair.
var (
	escapedHalf = regexp.MustCompile(`(?i)^\\ud[89a-f]`)
	escapedPair = regexp.MustCompile(`(?i)^\\ud[89ab][0-9a-f]{2}\\ud[c-f]`)
)

// escapedPairSize is the number of bytes in the two escapes of a surrogate pair.
const escapedPairSize = len(`\ud83d\ude00`)

// halved reports whether a JSON string contains an escape for only half of a surrogate pair.
func halved(raw string) bool {
	for at := strings.IndexByte(raw, '\\'); at >= 0; at = strings.IndexByte(raw, '\\') {
		raw = raw[at:]
		size := len(`\n`)
		switch {
		case escapedPair.MatchString(raw):
			size = escapedPairSize
		case escapedHalf.MatchString(raw):
			return true
		}
		raw = raw[size:]
	}
	return false
}

func (p *parser) list(depth int) (node, error) {
	n := node{shape: list}
	p.pos++
	for p.next() != ']' {
		p.path.enter(itemStep(len(n.nodes)))
		item, err := p.value(depth + 1)
		if err != nil {
			return node{}, err
		}
		p.path.leave()
		n.nodes = append(n.nodes, item)
		p.comma()
	}
	p.pos++
	return n, nil
}

func (p *parser) comma() {
	if p.next() == ',' {
		p.pos++
	}
}

func (p *parser) object(depth int) (node, error) {
	n := node{shape: object}
	var names names
	p.pos++
	for p.next() != '}' {
		member, err := p.member(depth, &names, &n)
		if err != nil {
			return node{}, err
		}
		if n.nodes == nil { // an empty object needs no memory
			n.nodes = make([]node, 0, usualMembers)
		}
		n.nodes = append(n.nodes, member)
		p.comma()
	}
	p.pos++
	return n, nil
}

func (p *parser) member(depth int, seen *names, of *node) (node, error) {
	name, err := p.text()
	if err != nil {
		return node{}, err
	}
	p.path.enter(memberStep(name))
	if seen.add(name, of) {
		return node{}, p.path.invalid("given twice")
	}
	p.next()
	p.pos++ // skip the colon
	member, err := p.value(depth + 1)
	if err != nil {
		return node{}, err
	}
	p.path.leave()
	member.name = name
	return member, nil
}

// names finds repeated keys. It compares the members of a small object with each other. For a large
// object it uses a set, because the cost of comparing grows with the square of the size.
type names struct{ many map[string]bool }

const (
	fewMembers   = 16
	usualMembers = 4
)

func (s *names) add(name string, of *node) bool {
	if len(of.nodes) < fewMembers {
		return of.member(name) != nil
	}
	if s.many == nil {
		s.many = make(map[string]bool, 2*fewMembers)
		for i := range of.nodes {
			s.many[of.nodes[i].name] = true
		}
	}
	supplied := s.many[name]
	s.many[name] = true
	return supplied
}
