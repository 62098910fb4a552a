package berlingroup_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
)

// TestUnknownConsents checks that the service requests another consent when the bank no longer knows
// the one that the user has not approved in time.
func TestUnknownConsents(t *testing.T) {
	for name, unknown := range map[string]scriptedAnswer{
		"404": {http.StatusNotFound, ""}, "404 with a code": refusedWith(http.StatusNotFound, "RESOURCE_UNKNOWN"), "403": refusedWith(http.StatusForbidden, "CONSENT_UNKNOWN"),
	} {
		bank := newScripted(t, map[string][]scriptedAnswer{
			"GET consent/status": {unknown},
			"POST /v1/consents":  once(http.StatusCreated, `{"consentStatus":"received","consentId":"C2","_links":{"scaRedirect":{"href":"https://bank.example/2"}}}`),
		})
		bank.file += "\n[profile.accounts]\nconsents = [\"global\"]\n"
		reader, _ := bank.load().Connector().(connector.DataReader)
		asked := fmt.Appendf(nil, `{"consent":"C1","asked":%q,"approval":{"step":"page","page":"https://bank.example/1"}}`, noon.AddDate(0, 0, -7).Format(time.RFC3339))
		for present, want := range map[bool]string{true: "https://bank.example/2", false: ""} {
			r := &bankReader{t: t, reader: reader, now: noon, memory: asked}
			if o, _, err := r.read(present); err != nil || o.State != passerelle.WebauthRequired || o.URL != want {
				t.Errorf("%s, present %t: %+v, %v, want the page %q; calls %q", name, present, o, err, want, bank.calls)
			}
		}
	}
}
