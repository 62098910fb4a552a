package codes

import "encoding/json"

// InvalidGrant is the only error of RFC 6749, section 5.2, after which an authorisation server will
// never accept the code or the refresh token of the request.
const InvalidGrant = "invalid_grant"

// These are the remedies for errors of authorisation servers.
const (
	clientRemedy = "check oauth.client_id and tls.certificate: the authorisation server does not accept this client"
	scopeRemedy  = "ask the bank to let this client request the scopes AIS and PIS"
	queryRemedy  = "check the table oauth: the authorisation server does not accept the address of its page"
	tableRemedy  = "check the table oauth: the authorisation server does not accept the request for a token"
)

// tokenRemedies maps the errors of RFC 6749, section 5.2, to what the operator can do.
var tokenRemedies = map[string]string{
	InvalidGrant: "", "invalid_client": clientRemedy, "unauthorized_client": clientRemedy, "invalid_request": tableRemedy,
	"unsupported_grant_type": tableRemedy, "invalid_scope": tableRemedy,
}

// TokenError returns the error in an authorisation server's refusal, and what the operator can do.
// The error is empty unless it is one of RFC 6749, because other texts may contain personal data.
func TokenError(body []byte) (string, string) {
	var refusal struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &refusal) != nil {
		return "", tableRemedy
	}
	if remedy, known := tokenRemedies[refusal.Error]; known {
		return refusal.Error, remedy
	}
	return "", tableRemedy
}

// pageRemedies maps the errors of RFC 6749, section 4.1.2.1, with which an authorisation server sends
// a customer back who has not decided, to what the operator can do. A remedy is empty if it is
// enough to try again.
var pageRemedies = map[string]string{
	"invalid_request": queryRemedy, "unsupported_response_type": queryRemedy, "unauthorized_client": clientRemedy, "invalid_scope": scopeRemedy,
	"server_error": "", "temporarily_unavailable": "",
}

// Undecided reports whether the customer has decided nothing, according to the error with which an
// authorisation server sends the customer back. With access_denied or an error of the server's own,
// the customer has refused. If the operator can act, Undecided also returns the error and the remedy.
func Undecided(failure string) (string, bool) {
	remedy, undecided := pageRemedies[failure]
	if remedy == "" {
		return "", undecided
	}
	return "the authorisation server returns " + failure + ": " + remedy, true
}
