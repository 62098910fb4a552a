package berlingroup

import (
	"net/http"

	"passerelle/connector"
	"passerelle/connector/berlingroup/codes"
	"passerelle/connector/berlingroup/handshake"
)

// Health returns the results of recent calls, and when the operator's certificates expire.
func (b *Bank) Health() connector.BankHealth {
	reported := b.health.Health()
	for _, c := range b.Certificates() {
		reported.Certificates = append(reported.Certificates, connector.Expiry{Field: c.Field, Until: c.Until})
	}
	return reported
}

// result returns what a call says about the health of the bank.
func (b *Bank) result(r request, a answer, err error) connector.CallResult {
	switch {
	case err != nil && handshake.RefusesCertificate(err):
		return connector.Refused
	case err == nil && b.refusesService(r, a):
		if codes.Known(b.judge(r, a).all) == "" {
			return connector.Suspected
		}
		return connector.Refused
	case err != nil, a.status >= http.StatusInternalServerError:
		return connector.Failed
	}
	return connector.Answered
}

// refusesService reports whether a response refuses our certificate, signature, role or clock. A
// response without a code of the standard may be about the customer instead. Such a response counts
// only if the request begins an order or a consent, and contains no token, user name or company.
func (b *Bank) refusesService(r request, a answer) bool {
	if a.status < http.StatusBadRequest || r.form != nil {
		return false
	}
	judged := b.judge(r, a)
	begins := (r.order || r.path == consentsPath) && r.header.Get("Authorization") == "" && r.header.Get("PSU-ID") == "" && r.header.Get("PSU-Corporate-ID") == ""
	return judged.what.OfService() && (begins || codes.Known(judged.all) != "")
}
