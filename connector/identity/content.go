package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// OfContent is what something without an id is named by: a kind and what stays the same of
// it. Case and blanks do not count.
func OfContent(kind string, content ...string) string {
	parts := make([]string, len(content))
	for i, part := range content {
		parts[i] = strings.Join(strings.Fields(strings.ToUpper(part)), " ")
	}
	return kind + "/" + Hash(strings.Join(parts, "\x00"))
}

// Alike numbers the transactions of an account whose contents are the same. They come in the
// institution's order, and those of a day completely, so that the numbers stay.
type Alike map[string]int

// Next is the name of the next transaction with a content.
func (a Alike) Next(content string) string {
	a[content]++
	return content + "/" + strconv.Itoa(a[content])
}

// Hash is a short text for a long one.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
