package sandbox

import (
	"crypto/hmac"
	"encoding/binary"
	"net/http"
	"net/url"
	"strings"

	"passerelle"
)

// The page on which a customer lets a connector read. It keeps nothing: where
// the browser goes next is in its address, under a signature, so that the bank
// sends nobody to a place that no connector named.

const (
	accessPurpose = "access page of the sandbox bank"
	accessPrefix  = "access-"
	maxAccessID   = 8 << 10
)

// accessPage is the address of the page that leads back to a URL.
func (b *Bank) accessPage(domain passerelle.DomainID, back string) string {
	name := append(binary.BigEndian.AppendUint64(nil, uint64(domain)), back...) //nolint:gosec // ids are positive
	mac := b.MAC(accessPurpose, name)[:macSize]
	return b.Base(domain) + pagesPath + accessPrefix + base64url.EncodeToString(append(name, mac...))
}

// backOf reads the address of a page back.
func (b *Bank) backOf(id string) (*url.URL, bool) {
	raw, err := base64url.DecodeString(strings.TrimPrefix(id, accessPrefix))
	if err != nil || len(id) > maxAccessID || len(raw) < 8+macSize {
		return nil, false
	}
	name, mac := raw[:len(raw)-macSize], raw[len(raw)-macSize:]
	if !hmac.Equal(mac, b.MAC(accessPurpose, name)[:macSize]) {
		return nil, false
	}
	back, err := url.Parse(string(name[8:]))
	return back, err == nil
}

// showAccess asks the customer; both answers are links back.
func (b *Bank) showAccess(w http.ResponseWriter, id string) {
	back, ok := b.backOf(id)
	if !ok {
		notFound(w)
		return
	}
	render(w, http.StatusOK, view{Title: "Let an application read your accounts?", Access: &accessView{
		Yes: with(*back, "code", "granted"), No: with(*back, "error", "access_denied"),
	}})
}

// accessView is where the two answers lead.
type accessView struct{ Yes, No string }

func with(back url.URL, name, value string) string {
	query := back.Query()
	query.Set(name, value)
	back.RawQuery = query.Encode()
	return back.String()
}
