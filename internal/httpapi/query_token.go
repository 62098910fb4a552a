package httpapi

import (
	"net/http"
	"net/url"

	"passerelle/internal/settings"
)

// tokenParameter is a query parameter. Older programs of this API family send the token in it when
// they read. Unlike headers, addresses are often stored, so a domain accepts a token there only
// when a setting allows it.
const tokenParameter = "token"

// presented returns the token of a request. It is in the header or, in domains that allow this, in
// the address.
func (x *exchange) presented(inAddress string) (string, error) {
	if inAddress == "" || len(x.request.Header["Authorization"]) > 0 {
		return bearer(x.request.Header)
	}
	if !x.caller.Settings.On(settings.QueryToken) {
		return "", unauthenticated("This domain accepts no token in the address; send the Authorization header \"Bearer <token>\".")
	}
	return inAddress, nil
}

// hideToken removes the token, valid or not, from the address of a read and returns it. Links,
// cursors and signatures therefore never contain it. The parameter stays when the endpoint has a
// parameter with this name.
func (x *exchange) hideToken() string {
	reads := x.request.Method == http.MethodGet || x.request.Method == http.MethodHead
	if !reads || x.endpoint.plan.query.find(tokenParameter) != nil {
		return ""
	}
	query, err := url.ParseQuery(x.request.URL.RawQuery)
	if err != nil || !query.Has(tokenParameter) {
		return "" // a query that cannot be parsed is refused before it is used
	}
	token := query.Get(tokenParameter)
	query.Del(tokenParameter)
	bare, address := *x.request, *x.request.URL
	address.RawQuery = query.Encode()
	bare.URL, x.request = &address, &bare
	return token
}
