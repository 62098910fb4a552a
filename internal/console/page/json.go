package page

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// JSONNode is a value of a JSON text in the form that pages show: a text, or a list of values
// that can be collapsed. All texts of a tree, one after the other, are the JSON text without its
// spaces.
type JSONNode struct {
	// Name is the name of the object's member with this value, with its quotes; empty for other
	// values.
	Name string
	// Text is a value without children in JSON syntax, and Kind its type.
	Text, Kind string
	// Open and Close surround Children.
	Open, Close string
	Children    []JSONNode
	// Last is set for the last value of a list, and Folded for a value that is collapsed at
	// first.
	Last, Folded bool
}

const (
	// jsonDepth is the largest nesting depth of values, and jsonOpen the number of levels that
	// are expanded at first.
	jsonDepth = 50
	jsonOpen  = 2
)

// JSONTree parses a JSON text. It returns false for invalid JSON, and when the nesting is too
// deep.
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
	_, err = decoder.Token() // the end token
	return node, err
}

// readMember reads the next value of an object or a list, with its name.
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

// jsonLeaf is a value without children.
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
