package berlingroup

import (
	"fmt"
	"strings"

	"passerelle/connector"
)

// fault describes a failed call for the operator. The text names the bank, the call and the
// X-Request-ID, if the request carries one. It contains no personal data.
func (b *Bank) fault(r request, err error, says string) error {
	if r.id != "" && r.form == nil {
		says += "; X-Request-ID " + r.id
	}
	if r.toAuthorisationServer() {
		says = strings.ReplaceAll(says, "address.api", "oauth.metadata")
	}
	return &connector.Fault{Says: fmt.Sprintf("%s (%s): %s", b.profile.Name, r.call, says), Err: err}
}

// toAuthorisationServer reports whether the request goes to an address of the authorisation server.
// A request that follows a link goes to the bank's API.
func (r request) toAuthorisationServer() bool { return r.form != nil || r.call == metadataCall }
