package httpapi

import (
	"net/http"
	"net/url"

	"passerelle/internal/settings"
)

// tokenParameter is where old programs of this API family put the token of what
// they read. Addresses end up where headers do not, so that a domain takes it
// there only when it was told to.
const tokenParameter = "token"

// presented is the token of a request: the one in the header or, in domains that allow it,
// the one in the address.
func (x *exchange) presented(inAddress string) (string, error) {
	if inAddress == "" || len(x.request.Header["Authorization"]) > 0 {
		return bearer(x.request.Header)
	}
	if !x.caller.Settings.On(settings.QueryToken) {
		return "", unauthenticated("This domain takes no token in the address; send the Authorization header \"Bearer <token>\".")
	}
	return inAddress, nil
}

// hideToken takes the token out of the address of what is read, whether or not
// it is of any use, so that nothing that is made of the address can have it:
// links, cursors, signatures. Endpoints with a parameter of that name are left
// theirs.
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
