package httpapi

import (
	"net/http"
	"net/url"

	"passerelle/internal/settings"
)

// tokenParameter is the query parameter in which older clients of this API family send the token of
// a read. Many programs store addresses, but not headers. A domain therefore accepts a token in the
// address only when a setting allows it.
const tokenParameter = "token"

// presented returns the token of a request. It reads the header and, in domains that allow it, the
// address.
func (x *exchange) presented(inAddress string) (string, error) {
	sent := len(x.request.Header["Authorization"]) > 0
	if !sent && !x.reads() && x.request.URL.Query().Has(tokenParameter) {
		return "", unauthenticated("The Authorization header must be sent once, as \"Bearer <token>\"; the parameter token works only in GET requests.")
	}
	if inAddress == "" || sent {
		return bearer(x.request.Header)
	}
	if !x.caller.Settings.On(settings.QueryToken) {
		return "", unauthenticated("This domain accepts no token in the address; send the Authorization header \"Bearer <token>\".")
	}
	return inAddress, nil
}

// hideToken removes the token of a read from the address, and returns it. It removes invalid tokens
// too. The links, cursors and signatures of a read therefore contain no token. The parameter stays
// if the endpoint itself has a parameter with this name.
func (x *exchange) hideToken() string {
	if !x.reads() || x.endpoint.plan.query.find(tokenParameter) != nil {
		return ""
	}
	query, err := url.ParseQuery(x.request.URL.RawQuery)
	if err != nil || !query.Has(tokenParameter) {
		return "" // a query that cannot be parsed is refused before its use
	}
	token := query.Get(tokenParameter)
	query.Del(tokenParameter)
	bare, address := *x.request, *x.request.URL
	address.RawQuery = query.Encode()
	bare.URL, x.request = &address, &bare
	return token
}

func (x *exchange) reads() bool {
	return x.request.Method == http.MethodGet || x.request.Method == http.MethodHead
}
