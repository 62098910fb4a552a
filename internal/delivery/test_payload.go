package delivery

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"passerelle"
)

// TestPayload reads a test payload that a person has typed. The payload must be a JSON object of at
// most MaxTestBody bytes. It removes white space outside strings. It fails with an Invalid error
// that names the field and, for wrong JSON, the line.
func TestPayload(field, text string) ([]byte, error) {
	if len(text) > MaxTestBody {
		return nil, passerelle.InvalidField(field, "has %d bytes; the maximum for a test is %d", len(text), MaxTestBody)
	}
	if !utf8.ValidString(text) {
		return nil, passerelle.InvalidField(field, "must be valid UTF-8")
	}
	var (
		compact bytes.Buffer
		mistake *json.SyntaxError
	)
	var whole json.RawMessage
	err := json.Unmarshal([]byte(text), &whole) // json.Compact does not report the position of a mistake
	if errors.As(err, &mistake) {
		line := 1 + strings.Count(text[:min(int(mistake.Offset), len(text))], "\n")
		return nil, passerelle.InvalidField(field, "line %d is not JSON: %s", line, mistake)
	}
	if err == nil {
		err = json.Compact(&compact, whole)
	}
	if err != nil || compact.Bytes()[0] != '{' {
		return nil, passerelle.InvalidField(field, "must be a JSON object")
	}
	return compact.Bytes(), nil
}
