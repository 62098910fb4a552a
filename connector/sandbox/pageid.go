package sandbox

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"passerelle"
)

const (
	pagePurpose = "page of the sandbox bank"
	macSize     = 16
	// maxPageID is much longer than any real id. It limits the work for invalid ids.
	maxPageID = 1024
)

// base64url requires the unused bits of the last character to be zero, so that each page has only
// one id. To decode an id, call the function decoded.
var base64url = base64.RawURLEncoding.Strict()

// decoded decodes a text. It refuses line breaks: the decoder would ignore them, so an id would
// have many forms.
func decoded(text string) ([]byte, bool) {
	raw, err := base64url.DecodeString(text)
	return raw, err == nil && !strings.ContainsAny(text, "\r\n")
}

// pageID returns the id of an order's page. Anyone who has the id may decide about the order. The
// id contains the domain and the key, so the bank needs no index from pages to orders. Valid ids
// require the secret of MAC.
func (b *Bank) pageID(domain passerelle.DomainID, key string) string {
	name := orderName(domain, key)
	return base64url.EncodeToString(append(name, b.pageMAC(name)...))
}

// orderOf reads a page id. It returns false for any id that pageID did not make.
func (b *Bank) orderOf(pageID string) (passerelle.DomainID, string, bool) {
	if len(pageID) > maxPageID {
		return 0, "", false
	}
	raw, whole := decoded(pageID)
	if !whole || len(raw) < 8+macSize {
		return 0, "", false
	}
	name, mac := raw[:len(raw)-macSize], raw[len(raw)-macSize:]
	if !hmac.Equal(mac, b.pageMAC(name)) {
		return 0, "", false
	}
	return passerelle.DomainID(binary.BigEndian.Uint64(name)), string(name[8:]), true
}

func (b *Bank) pageMAC(name []byte) []byte { return b.MAC(pagePurpose, name)[:macSize] }

// orderName encodes a domain and a key. The result is unique for each pair.
func orderName(domain passerelle.DomainID, key string) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(domain)), key...)
}
