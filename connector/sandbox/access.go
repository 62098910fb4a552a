package sandbox

import (
	"crypto/hmac"
	"encoding/binary"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"passerelle"
	"passerelle/connector/sandbox/customers"
	"passerelle/connector/sandbox/speech"
)

// The page on which a customer lets a connector read. It stores nothing. Its address contains,
// signed, where the browser goes next, so the bank sends browsers only to addresses of
// connectors.

const (
	accessPurpose = "access page of the sandbox bank"
	codePurpose   = "access code of the sandbox bank"
	accessPrefix  = "access-"
	maxAccessID   = 8 << 10
	// numbers is the size of the two numbers that name a connection.
	numbers = 16
)

// readAccess gives readers access to the page.
func (b *Bank) readAccess() customers.Access {
	return customers.Access{Page: b.accessPage, Code: b.AccessCode}
}

// accessPage is the address of the page that leads back to a URL.
func (b *Bank) accessPage(domain passerelle.DomainID, connection passerelle.ConnectionID, back string) string {
	name := append(connectionName(domain, connection), back...)
	mac := b.MAC(accessPurpose, name)[:macSize]
	return b.Base(domain) + pagesPath + accessPrefix + base64url.EncodeToString(append(name, mac...))
}

func connectionName(domain passerelle.DomainID, connection passerelle.ConnectionID) []byte {
	name := binary.BigEndian.AppendUint64(nil, uint64(domain))     //nolint:gosec // ids are positive
	return binary.BigEndian.AppendUint64(name, uint64(connection)) //nolint:gosec // as above
}

// AccessCode returns the code that a customer brings back who lets a connection read.
func (b *Bank) AccessCode(domain passerelle.DomainID, connection passerelle.ConnectionID) string {
	return b.codeOf(connectionName(domain, connection))
}

func (b *Bank) codeOf(connection []byte) string {
	return base64url.EncodeToString(b.MAC(codePurpose, connection)[:macSize])
}

// accessView is the page on which a customer answers: the target of the form, its parameters,
// and the code that a yes adds.
type accessView struct {
	Back string
	Kept []pair
	Code string
}

// access reads the address of a page back.
func (b *Bank) access(id string) (*accessView, bool) {
	raw, whole := decoded(strings.TrimPrefix(id, accessPrefix))
	if !whole || len(id) > maxAccessID || len(raw) < numbers+macSize {
		return nil, false
	}
	name, mac := raw[:len(raw)-macSize], raw[len(raw)-macSize:]
	back, err := url.Parse(string(name[numbers:]))
	if err != nil || !hmac.Equal(mac, b.MAC(accessPurpose, name)[:macSize]) {
		return nil, false
	}
	v := &accessView{Code: b.codeOf(name[:numbers])}
	query := back.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		v.Kept = append(v.Kept, pair{name, query.Get(name)})
	}
	back.RawQuery = ""
	v.Back = back.String()
	return v, true
}

// showAccess asks the customer. Both answers are forms that lead to the return address.
func (b *Bank) showAccess(w http.ResponseWriter, r *http.Request, id string) {
	v, ok := b.access(id)
	if !ok {
		notFound(w, r)
		return
	}
	page := brandedAs(TestConnector)
	page.Speech, page.Access = speech.To(r, ""), v
	page.Title = page.Say("Let an application read your accounts?")
	render(w, http.StatusOK, page)
}
