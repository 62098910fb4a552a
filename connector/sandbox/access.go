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

// On an access page, a customer allows a connector to read. The page's address contains the return
// address and a signature, so the bank stores nothing and sends browsers only to addresses that
// connectors supplied.

const (
	accessPurpose = "access page of the sandbox bank"
	codePurpose   = "access code of the sandbox bank"
	accessPrefix  = "access-"
	maxAccessID   = 8 << 10
	// numbers is the size in bytes of the two numbers that identify a connection.
	numbers = 16
)

// readAccess returns the page and the codes that readers need.
func (b *Bank) readAccess() customers.Access {
	return customers.Access{Page: b.accessPage, Code: b.AccessCode}
}

// accessPage returns the address of the page on which the customer answers. The answer leads the
// browser to the return address.
func (b *Bank) accessPage(domain passerelle.DomainID, connection passerelle.ConnectionID, back string) string {
	name := append(connectionName(domain, connection), back...)
	mac := b.MAC(accessPurpose, name)[:macSize]
	return b.Base(domain) + pagesPath + accessPrefix + base64url.EncodeToString(append(name, mac...))
}

func connectionName(domain passerelle.DomainID, connection passerelle.ConnectionID) []byte {
	name := binary.BigEndian.AppendUint64(nil, uint64(domain))     //nolint:gosec // ids are positive
	return binary.BigEndian.AppendUint64(name, uint64(connection)) //nolint:gosec // ids are positive
}

// AccessCode returns the code with which a customer returns after allowing a connection to read.
func (b *Bank) AccessCode(domain passerelle.DomainID, connection passerelle.ConnectionID) string {
	return b.codeOf(connectionName(domain, connection))
}

func (b *Bank) codeOf(connection []byte) string {
	return base64url.EncodeToString(b.MAC(codePurpose, connection)[:macSize])
}

// accessView is the data of the page on which a customer answers: the target of the form, its
// parameters, and the code that the answer "yes" adds.
type accessView struct {
	Back string
	Kept []pair
	Code string
}

// access decodes the id in the address of a page.
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

// showAccess shows the question to the customer. The form has a button for each answer, and leads
// to the return address.
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
