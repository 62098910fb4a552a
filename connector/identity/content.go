package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// OfContent returns a name for an object without an id. The name consists of the object's kind and
// a hash of its constant content. Differences in case and blanks are ignored.
func OfContent(kind string, content ...string) string {
	parts := make([]string, len(content))
	for i, part := range content {
		parts[i] = strings.Join(strings.Fields(strings.ToUpper(part)), " ")
	}
	return kind + "/" + Hash(strings.Join(parts, "\x00"))
}

// Alike numbers an account's transactions that have equal content. The numbers are stable only if
// the caller supplies complete days in the institution's order.
type Alike map[string]int

// Next returns the name of the next transaction with this content.
func (a Alike) Next(content string) string {
	a[content]++
	return content + "/" + strconv.Itoa(a[content])
}

// Hash returns the first 16 bytes of the text's SHA-256, in hexadecimal.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
