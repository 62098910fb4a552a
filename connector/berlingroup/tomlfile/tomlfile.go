// Package tomlfile reads configuration files in TOML strictly.
//
// It owns the positions of fields, so that each complaint names line and column. It does not own
// the meaning of fields: its callers check the values. It fails with Complaints.
package tomlfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxSize limits the size of a file, in bytes.
const maxSize = 1 << 20

// A Complaint is one mistake in a file. Line and Column count from 1. Both are zero when the
// position is unknown.
type Complaint struct {
	Path         string
	Line, Column int
	// Field is the dotted name of the field, such as profile.sca.
	Field   string
	Message string
}

// Error returns the file, line and column in the form that compilers use, followed by the field and
// the message.
func (c *Complaint) Error() string {
	place := c.Path
	if c.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", c.Path, c.Line, c.Column)
	}
	if c.Field == "" {
		return place + ": " + c.Message
	}
	return fmt.Sprintf("%s: %s: %s", place, c.Field, c.Message)
}

// Read decodes a file and returns the places of its fields. Its error consists of Complaints: one
// for each unknown field, or a single one for another mistake. If all mistakes are unknown fields,
// Read also returns the places, so that the caller can check the known fields.
func Read(path string, into any) (*Places, error) {
	content, err := Bounded(path)
	if err != nil {
		return nil, &Complaint{Path: path, Message: err.Error()}
	}
	decoder := toml.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	unknown := decoder.Decode(into)
	var strict *toml.StrictMissingError
	if unknown != nil && !errors.As(unknown, &strict) {
		return nil, complain(path, unknown)
	}
	where, err := locate(path, content)
	if err == nil && unknown != nil {
		err = complain(path, unknown)
	}
	return where, err
}

// Bounded reads a file of at most 1 MiB. Its error does not name the file, because callers add the
// path.
func Bounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxSize {
		return nil, fmt.Errorf("is larger than %d bytes", maxSize)
	}
	content, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	var failure *os.PathError
	if errors.As(err, &failure) {
		return nil, failure.Err
	}
	return content, err
}

// complain converts the decoder's error into a complaint with position and field.
func complain(path string, err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) {
		var all []error
		for i := range strict.Errors {
			line, column := strict.Errors[i].Position()
			all = append(all, &Complaint{path, line, column, strings.Join(strict.Errors[i].Key(), "."), "is no field of a bank file"})
		}
		return errors.Join(all...)
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		line, column := wrong.Position()
		return &Complaint{path, line, column, strings.Join(wrong.Key(), "."), plain(strings.TrimPrefix(wrong.Error(), "toml: "))}
	}
	return &Complaint{Path: path, Message: err.Error()}
}

// plain returns a message with the type that a field needs, if the decoder's message is about a
// value of a different type. It returns other messages unchanged.
func plain(message string) string {
	if found := mismatch.FindStringSubmatch(message); found != nil {
		return cmp.Or(types[found[1]], "must be a table")
	}
	return message
}

// mismatch matches the decoder's messages about a value of a different type. The last word of a
// message is the type of the field.
var mismatch = regexp.MustCompile(`^cannot (?:decode|store) .* ([^ ]+)$`)

var types = map[string]string{
	"string": "must be text in quotes", "bool": "must be true or false", "int": "must be a whole number", "int64": "must be a whole number",
	"[]string": `must be a list of texts, such as ["one", "two"]`,
}

// Places holds the positions of the fields in a file.
type Places struct {
	Path string
	at   map[string]unstable.Position // by the dotted names of the fields
}

// Has reports whether the file contains a field.
func (p *Places) Has(field string) bool {
	_, found := p.at[field]
	return found
}

// Beside returns the path of a file that a field names. A relative name is relative to the folder
// of p.Path.
func (p *Places) Beside(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(p.Path), name)
}

// locate finds the positions of all fields in a valid document.
func locate(path string, content []byte) (*Places, error) {
	found := &Places{Path: path, at: map[string]unstable.Position{}}
	parser, table := &unstable.Parser{}, ""
	parser.Reset(content)
	for parser.NextExpression() {
		e := parser.Expression()
		if e.Kind == unstable.KeyValue {
			found.note(parser, table, e)
			continue
		}
		table = found.note(parser, "", e)
	}
	if err := parser.Error(); err != nil {
		return nil, &Complaint{Path: path, Message: err.Error()}
	}
	return found, nil
}

// note records the position of the expression's key, and of the keys in the table that is its
// value. It returns the complete name of the key. The argument table is the name of the enclosing
// table.
func (p *Places) note(parser *unstable.Parser, table string, e *unstable.Node) string {
	name, first := dotted(e.Key())
	name = strings.TrimPrefix(table+"."+name, ".")
	p.at[name] = parser.Shape(parser.Range(first.Data)).Start
	if e.Kind != unstable.KeyValue || e.Value().Kind != unstable.InlineTable {
		return name
	}
	for inside := e.Value().Children(); inside.Next(); {
		if inside.Node().Kind == unstable.KeyValue {
			p.note(parser, name, inside.Node())
		}
	}
	return name
}

func dotted(key unstable.Iterator) (string, *unstable.Node) {
	var first *unstable.Node
	var parts []string
	for key.Next() {
		if first == nil {
			first = key.Node()
		}
		parts = append(parts, string(key.Node().Data))
	}
	return strings.Join(parts, "."), first
}

// Complaint returns a complaint about a field. It has the position of the field or, if the field is
// absent, the position of the enclosing table.
func (p *Places) Complaint(field, message string) *Complaint {
	c := &Complaint{Path: p.Path, Field: field, Message: message}
	for name := field; name != ""; {
		if at, found := p.at[name]; found {
			c.Line, c.Column = at.Line, at.Column
			break
		}
		cut := strings.LastIndex(name, ".")
		name = name[:max(cut, 0)]
	}
	return c
}

// Complaints returns the Complaints in an error, which may join several errors.
func Complaints(err error) []*Complaint {
	var all []*Complaint
	var one *Complaint
	if joined, several := err.(interface{ Unwrap() []error }); several {
		for _, part := range joined.Unwrap() {
			all = append(all, Complaints(part)...)
		}
		return all
	}
	if errors.As(err, &one) {
		all = append(all, one)
	}
	return all
}
