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

// Position is the beginning or the end of a page: the values of an item's sort keys. The last key
// is unique. A value is an int64, a string, a bool, or nil. In the order of a list, nil comes last.
type Position []any

// cursor is the content of a link from one page to another.
type cursor struct {
	Position Position `json:"p"`
	// Backward is set when the page ends before the position.
	Backward bool `json:"b,omitempty"`
	// Total is the size of the list when the client read the first page. Later pages repeat it.
	Total int64 `json:"t"`
}

// cursorPurpose separates the MACs of cursors from all other MACs. The purpose must change when the
// content of cursors changes.
const cursorPurpose = "api cursor 1"

var cursorText = base64.RawURLEncoding.Strict()

// seal returns the opaque text of a cursor. The text contains the cursor's content, and a MAC over
// content and place. The cursor is valid only for the list that place identifies.
func (c cursor) seal(mac func(string, []byte) []byte, place []byte) (string, error) {
	content, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("render cursor: %w", err)
	}
	tag := mac(cursorPurpose, joined(content, place))
	return cursorText.EncodeToString(content) + "." + cursorText.EncodeToString(tag), nil
}

// openCursor reads a cursor that seal made for the same place. For any other text, it fails with
// Invalid and no details.
func openCursor(sealed string, mac func(string, []byte) []byte, place []byte) (cursor, error) {
	var c cursor
	fault := passerelle.InvalidField("cursor", "not a cursor of this list; use the links in a response unchanged")
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

// joined combines content and place. Two different pairs never give the same result.
func joined(content, place []byte) []byte {
	both := strconv.AppendInt(nil, int64(len(content)), 10)
	both = append(both, ' ')
	return append(append(both, content...), place...)
}

// restore converts each json.Number in a position to an int64.
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
