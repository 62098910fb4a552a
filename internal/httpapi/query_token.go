package httpapi

import (
	"net/http"
	"net/url"

	"passerelle/internal/settings"
)

// tokenParameter is the query parameter in which older programs of this API family send the
// token for reads. Addresses are stored in places where headers are not, so a domain accepts a
// token there only when a setting allows it.
const tokenParameter = "token"

// presented returns the token of a request: from the header or, in domains that allow it, from
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

// hideToken removes the token from the address of a read, valid or not, so that links, cursors
// and signatures never contain it. The parameter stays for endpoints that have a parameter with
// this name.
func (x *exchange) hideToken() string {
	reads := x.request.Method == http.MethodGet || x.request.Method == http.MethodHead
	if !reads || x.endpoint.plan.query.find(tokenParameter) != nil {
		return ""
	}
	query, err := url.ParseQuery(x.request.URL.RawQuery)
	if err != nil || !query.Has(tokenParameter) {
		return "" // one that cannot be read is refused before anything is made of it
	}
	token := query.Get(tokenParameter)
	query.Del(tokenParameter)
	bare, address := *x.request, *x.request.URL
	address.RawQuery = query.Encode()
	bare.URL, x.request = &address, &bare
	return token
}
