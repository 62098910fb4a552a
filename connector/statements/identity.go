package statements

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// identities makes keys for the transactions of one account to which an institution gives no id
// that lasts. The key comes from what stays the same, and from a number where several
// transactions are alike. A reader has one for each account and read, and passes transactions
// of a day in the institution's order and completely, so that the numbers stay the same.
type identities map[string]int

// key returns the key of the next transaction with that content. Case and blanks do not count.
func (n identities) key(kind string, content ...string) string {
	words := make([]string, len(content))
	for i, part := range content {
		words[i] = strings.Join(strings.Fields(strings.ToUpper(part)), " ")
	}
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	name := kind + "/" + hex.EncodeToString(sum[:16])
	n[name]++
	return name + "/" + strconv.Itoa(n[name])
}
