package reference

import (
	"encoding/json"
	"fmt"
)

// document has the parts of the OpenAPI document that the documentation pages use.
type document struct {
	Info struct {
		Version, Description string
	}
	Servers    []struct{ URL string }
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]schema }
}

type operation struct {
	Summary, Description string
	Parameters           []struct {
		Name, In, Description string
		Required              bool
		Schema                schema
	}
	RequestBody content
	Responses   map[string]content
	Security    []map[string][]string
}

type content struct {
	Description string
	Content     map[string]struct{ Schema schema }
}

// schema describes a value. Type is empty when another member, such as Ref or AnyOf, describes the
// value.
type schema struct {
	Ref                         string `json:"$ref"`
	Type                        oneOrMore
	Description, Format         string
	Enum                        []string
	Const, Default              any
	Examples                    []any
	AnyOf                       []schema
	Items                       *schema
	AdditionalProperties        *schema
	Properties                  map[string]schema
	Required                    []string
	MaxLength, Minimum, Maximum *int64
}

// oneOrMore is one word or a list of words.
type oneOrMore []string

// UnmarshalJSON reads one word or a list.
func (o *oneOrMore) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		*o = make(oneOrMore, 1)
		return json.Unmarshal(raw, &(*o)[0])
	}
	return json.Unmarshal(raw, (*[]string)(o))
}

func mustRead(openAPI []byte) document {
	var d document
	if err := json.Unmarshal(openAPI, &d); err != nil {
		panic(fmt.Sprintf("reference: read the OpenAPI document: %v", err))
	}
	return d
}
