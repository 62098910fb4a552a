package page

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// JSONNode is a JSON value in the form that pages show: a text, or a list of values that can be
// collapsed.
type JSONNode struct {
	// Name is the name of the object member with this value, in quotes. It is empty for a value
	// that is not a member of an object.
	Name string
	// Text is the JSON text of a value without children. Kind is the value's type.
	Text, Kind string
	// Open and Close are the texts before and after Children.
	Open, Close string
	Children    []JSONNode
	// Last is set for the last value of a list or an object. Folded is set for a value that the
	// page shows collapsed at first.
	Last, Folded bool
}

const (
	// jsonDepth is the largest depth of nesting. jsonOpen is the number of levels that the page
	// shows expanded at first.
	jsonDepth = 50
	jsonOpen  = 2
)

// JSONTree parses a JSON text. It returns false for invalid JSON, and when values are nested too
// deeply.
func JSONTree(text string) (*JSONNode, bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	node, err := readJSON(decoder, 0)
	if err != nil {
		return nil, false
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, false
	}
	node.Last = true
	return &node, true
}

var errDeepJSON = errors.New("the JSON text goes too deep")

// readJSON reads the next value.
func readJSON(decoder *json.Decoder, depth int) (JSONNode, error) {
	token, err := decoder.Token()
	if err != nil {
		return JSONNode{}, err
	}
	delimiter, composed := token.(json.Delim)
	if !composed {
		return jsonLeaf(token)
	}
	if depth > jsonDepth {
		return JSONNode{}, errDeepJSON
	}
	node := JSONNode{Open: delimiter.String(), Close: map[json.Delim]string{'{': "}", '[': "]"}[delimiter], Folded: depth >= jsonOpen}
	for decoder.More() {
		child, err := readMember(decoder, delimiter, depth)
		if err != nil {
			return node, err
		}
		node.Children = append(node.Children, child)
	}
	if n := len(node.Children); n > 0 {
		node.Children[n-1].Last = true
	}
	_, err = decoder.Token() // read the closing token
	return node, err
}

// readMember reads the next value of an object or a list. In an object, it also reads the member's
// name.
func readMember(decoder *json.Decoder, of json.Delim, depth int) (JSONNode, error) {
	var name string
	if of == '{' {
		token, err := decoder.Token()
		if err != nil {
			return JSONNode{}, err
		}
		leaf, err := jsonLeaf(token)
		if err != nil {
			return JSONNode{}, err
		}
		name = leaf.Text
	}
	node, err := readJSON(decoder, depth+1)
	node.Name = name
	return node, err
}

// jsonLeaf returns the node for a value without children.
func jsonLeaf(token json.Token) (JSONNode, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(token); err != nil {
		return JSONNode{}, err
	}
	kind := "word"
	switch token.(type) {
	case string:
		kind = "text"
	case json.Number:
		kind = "number"
	}
	return JSONNode{Text: strings.TrimSpace(text.String()), Kind: kind}, nil
}
