package httpapi

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"passerelle"
)

// Number is a decimal with the digits of the request. The request has it as a JSON number or as a
// string. Amounts are Numbers, and so are identifiers that clients also send as strings. A Number
// is a valid json.Number, unless it is empty. The code that parses a Number checks its range.
type Number string

func (d *Number) readNode(_ rules, at *path, n *node) error {
	if n.shape == null {
		*d = ""
		return nil
	}
	if n.shape != number && n.shape != text && n.shape != loose {
		return at.wrong("a number", n)
	}
	if n.text == "" {
		return at.invalid("must be a number, but is empty")
	}
	if !passerelle.IsDecimal(n.text) && passerelle.IsDecimal(strings.Replace(n.text, ",", ".", 1)) {
		return at.invalid("must have a decimal point, not a comma")
	}
	if !passerelle.IsDecimal(n.text) {
		return at.invalid("must be a number without exponent or leading zeros")
	}
	if err := at.bounded(n); err != nil {
		return err
	}
	*d = Number(n.text)
	return nil
}

// Nullable is a field in which null and absence have different meanings. For example, null clears a
// value in an update, or selects missing values in a filter. In a query or a form, null is the word
// "null".
type Nullable[T ~string | ~int64 | ~bool] struct {
	// Present is false when the field is absent.
	Present bool
	// Null is true for null. Value is then zero.
	Null  bool
	Value T
}

func (o *Nullable[T]) readNode(r rules, at *path, n *node) error {
	o.Present = true
	if n.shape == null || n.shape == loose && n.text == "null" {
		o.Null = true
		return nil
	}
	return o.read(r, at, n)
}

func (o *Nullable[T]) read(r rules, at *path, n *node) error {
	if reader, ok := any(&o.Value).(nodeReader); ok {
		return reader.readNode(r, at, n)
	}
	var b binding
	v := reflect.ValueOf(&o.Value).Elem()
	var set setter
	switch v.Kind() {
	case reflect.Int64:
		set = setInteger(r)
	case reflect.Bool:
		set = setFlag
	default:
		set = setText(r)
	}
	b.path = *at
	return set(&b, v, n)
}

// WordList is a list that clients send as an array of strings or as one string. The code that uses
// the list splits that string.
type WordList []string

func (w *WordList) readNode(_ rules, at *path, n *node) error {
	switch n.shape {
	case null:
		return nil
	case text, loose:
		*w = WordList{n.text}
		return at.bounded(n)
	case list:
		return w.readItems(at, n)
	default:
		return at.wrong("a string or an array of strings", n)
	}
}

func (w *WordList) readItems(at *path, n *node) error {
	*w = make(WordList, 0, len(n.nodes))
	for i := range n.nodes {
		if n.nodes[i].shape != text {
			at.enter(itemStep(i))
			return at.wrong("a string", &n.nodes[i])
		}
		if err := at.bounded(&n.nodes[i]); err != nil {
			return err
		}
		*w = append(*w, n.nodes[i].text)
	}
	return nil
}

// Ignored is a parameter that clients of this API family send and that has no effect here.
type Ignored struct{}

func (*Ignored) readNode(_ rules, at *path, n *node) error { return at.bounded(n) }

func (*Ignored) schema() *schema { return &schema{Type: anyType} }

// IDOrName is an id or a name. An id is a number or a text. Null and the empty string both mean no
// value.
type IDOrName string

func (r *IDOrName) readNode(_ rules, at *path, n *node) error {
	switch n.shape {
	case null:
		*r = ""
	case number, text, loose:
		*r = IDOrName(n.text)
		return at.bounded(n)
	default:
		return at.wrong("an id or a name", n)
	}
	return nil
}

// RawObject is a JSON object in the client's own form. Its members keep their order, and its
// numbers keep their digits. A RawObject is nil when the request omits the object or has null.
type RawObject []byte

func (o *RawObject) readNode(_ rules, at *path, n *node) error {
	if n.shape == null {
		return nil
	}
	if n.shape != object {
		return at.wrong("an object", n)
	}
	*o = n.render(nil)
	return nil
}

// render appends a node as JSON to out.
func (n *node) render(out []byte) []byte {
	if n.shape == object || n.shape == list {
		return n.renderItems(out)
	}
	if n.shape == text || n.shape == loose {
		return quoted(out, n.text)
	}
	return append(out, n.text...)
}

func (n *node) renderItems(out []byte) []byte {
	brackets := map[shape]string{object: "{}", list: "[]"}[n.shape]
	out = append(out, brackets[0])
	for i := range n.nodes {
		if i > 0 {
			out = append(out, ',')
		}
		if n.shape == object {
			out = append(quoted(out, n.nodes[i].name), ':')
		}
		out = n.nodes[i].render(out)
	}
	return append(out, brackets[1])
}

func quoted(out []byte, s string) []byte {
	raw, err := encode(s)
	if err != nil {
		panic(fmt.Sprintf("httpapi: a string cannot be written as JSON: %s", err))
	}
	return append(out, raw...)
}

// FileContent is the content of a file. The content comes from a part of a multipart form, or from
// a base64 string.
type FileContent []byte

func (f *FileContent) readNode(_ rules, at *path, n *node) error {
	switch n.shape {
	case file:
		*f = FileContent(n.text)
		return nil
	case text, loose:
		content, err := base64.StdEncoding.DecodeString(n.text)
		if err != nil {
			return at.invalid("must be a file in a form, or base64")
		}
		*f = content
		return nil
	default:
		return at.wrong("a file", n)
	}
}

// UploadedFile is a file with its name. The name is empty unless the file came in a form. A field
// of this type may have the struct tag raw, which lists media types. The field then also accepts a
// complete body of such a type.
type UploadedFile struct {
	Name    string
	Content FileContent
}

func (u *UploadedFile) readNode(r rules, at *path, n *node) error {
	u.Name = plainName(n.fileName)
	return u.Content.readNode(r, at, n)
}

func (*UploadedFile) schema() *schema { return (*FileContent)(nil).schema() }

// takesFile reports whether a field is for a file.
func takesFile(t reflect.Type) bool {
	return t == reflect.TypeFor[FileContent]() || t == reflect.TypeFor[UploadedFile]()
}

func (*FileContent) schema() *schema {
	return &schema{Type: []string{"string"}, Description: "base64; in a form, a file"}
}

func (*Number) schema() *schema {
	return &schema{Type: []string{"number", "string"}, Description: "decimal number, as a number or a string, without rounding"}
}

func (*WordList) schema() *schema {
	return &schema{Type: []string{"string", "array"}, Items: &schema{Type: "string"}}
}

func (o *Nullable[T]) schema() *schema {
	if reader, ok := any(&o.Value).(nodeReader); ok {
		read := reader.schema()
		if types, several := read.Type.([]string); several && !slices.Contains(types, "null") {
			read.Type = append(types, "null")
		}
		return read
	}
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Int64:
		return &schema{Type: []string{"integer", "null"}}
	case reflect.Bool:
		return &schema{Type: []string{"boolean", "null"}}
	default:
		return &schema{Type: []string{"string", "null"}}
	}
}

func (*RawObject) schema() *schema {
	return &schema{Type: []string{"object", "null"}}
}

func (*IDOrName) schema() *schema {
	return &schema{Type: []string{"integer", "string", "null"}}
}

// Bit is a boolean. Clients may also send it as 0 or 1.
type Bit bool

func (b *Bit) readNode(_ rules, at *path, n *node) error {
	value, known := map[string]bool{"true": true, "1": true, "false": false, "0": false}[strings.ToLower(n.text)]
	if !known || n.shape == text {
		return at.invalid("must be true, false, 1 or 0")
	}
	*b = Bit(value)
	return nil
}

func (*Bit) schema() *schema {
	return &schema{Type: []string{"boolean", "integer"}}
}
