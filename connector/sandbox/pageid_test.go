package sandbox

import (
	"crypto/sha256"
	"strings"
	"testing"

	"passerelle"
)

func plainBank() *Bank {
	return &Bank{MAC: func(purpose string, data []byte) []byte {
		sum := sha256.Sum256(append([]byte(purpose), data...))
		return sum[:]
	}}
}

func TestPageIDNamesOneOrder(t *testing.T) {
	b, seen := plainBank(), map[string]bool{}
	for _, domain := range []passerelle.DomainID{0, 1, 1 << 40} {
		for _, key := range []string{"", "a", "ab", "é/?", strings.Repeat("k", 64)} {
			id := b.pageID(domain, key)
			gotDomain, gotKey, ok := b.orderOf(id)
			if !ok || gotDomain != domain || gotKey != key {
				t.Errorf("orderOf(pageID(%d, %q)) = %d, %q, %t", domain, key, gotDomain, gotKey, ok)
			}
			seen[id] = true
		}
	}
	if len(seen) != 15 {
		t.Errorf("15 orders have %d pages", len(seen))
	}
}

// FuzzPageID checks that orderOf accepts only ids that pageID makes.
func FuzzPageID(f *testing.F) {
	b := plainBank()
	f.Add(b.pageID(1, "key"))
	f.Add(b.pageID(-1, ""))
	f.Add("")
	f.Add("AAAAAAAAAAE")
	id := b.pageID(1, "key")
	f.Add(id[:20] + "\n" + id[20:])
	f.Add(id + "\r")
	f.Add(strings.Repeat("A", 2000))
	f.Fuzz(func(t *testing.T, id string) {
		domain, key, ok := b.orderOf(id)
		if ok && b.pageID(domain, key) != id {
			t.Errorf("%q names order %d %q, whose page is %q", id, domain, key, b.pageID(domain, key))
		}
	})
}
