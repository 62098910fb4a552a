package httpapi

import (
	"bytes"
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"passerelle"
)

// Position is where a page begins or ends: the values of an item's sort keys. The last key is
// unique. A value is an int64, a string, a bool, or nil, which is sorted last.
type Position []any

// cursor is what a link from one page to another contains.
type cursor struct {
	Position Position `json:"p"`
	// Backward cursors lead to the page that ends before the position.
	Backward bool `json:"b,omitempty"`
	// Total was counted on the first page. Later pages repeat it.
	Total int64 `json:"t"`
}

// cursorPurpose separates the MACs of cursors from all other MACs. It must change when the content
// of cursors changes.
const cursorPurpose = "api cursor 1"

var cursorText = base64.RawURLEncoding.Strict()

// seal returns the opaque text of a cursor: its content, and a MAC over content and place. The MAC
// makes the cursor valid only for that place.
func (c cursor) seal(mac func(string, []byte) []byte, place []byte) (string, error) {
	content, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("render cursor: %w", err)
	}
	tag := mac(cursorPurpose, joined(content, place))
	return cursorText.EncodeToString(content) + "." + cursorText.EncodeToString(tag), nil
}

// openCursor reads a cursor that seal made for the same place. It fails with Invalid, without
// details, for any other text.
func openCursor(sealed string, mac func(string, []byte) []byte, place []byte) (cursor, error) {
	var c cursor
	fault := passerelle.InvalidField("cursor", "not a cursor of this list; use the links in an answer unchanged")
	first, second, _ := strings.Cut(sealed, ".")
	content, err := cursorText.DecodeString(first)
	if err != nil {
		return c, fault
	}
	tag, err := cursorText.DecodeString(second)
	if err != nil || !hmac.Equal(tag, mac(cursorPurpose, joined(content, place))) {
		return c, fault
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	if err := decoder.Decode(&c); err != nil {
		return c, fmt.Errorf("read a cursor of our own: %w", err)
	}
	return c, c.Position.restore()
}

// joined joins content and place. No other pair gives the same result.
func joined(content, place []byte) []byte {
	both := strconv.AppendInt(nil, int64(len(content)), 10)
	both = append(both, ' ')
	return append(append(both, content...), place...)
}

// restore converts the numbers of JSON back into int64.
func (p Position) restore() error {
	for i, value := range p {
		n, ok := value.(json.Number)
		if !ok {
			continue
		}
		whole, err := n.Int64()
		if err != nil {
			return fmt.Errorf("read a cursor of our own: %w", err)
		}
		p[i] = whole
	}
	return nil
}
