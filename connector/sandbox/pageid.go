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
	// maxPageID is far above the length of any id that pageID makes, and
	// bounds the work for those it did not make.
	maxPageID = 1024
)

// base64url refuses the unused bits of a last character, so that each page has
// one id; what is read goes through decoded.
var base64url = base64.RawURLEncoding.Strict()

// decoded is what a text stands for. Line breaks, which a decoder passes over, are
// refused: with one anywhere, the same id would have many forms.
func decoded(text string) ([]byte, bool) {
	raw, err := base64url.DecodeString(text)
	return raw, err == nil && !strings.ContainsAny(text, "\r\n")
}

// pageID names the page of an order: who knows it may decide. The domain and
// the key are in it, so no index leads from page to order, and it cannot be
// made without the secret behind MAC.
func (b *Bank) pageID(domain passerelle.DomainID, key string) string {
	name := orderName(domain, key)
	return base64url.EncodeToString(append(name, b.pageMAC(name)...))
}

// orderOf reads a page id back, with ok false for any that pageID did not make.
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

// orderName is a domain and a key as bytes that no other pair has.
func orderName(domain passerelle.DomainID, key string) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(domain)), key...)
}
