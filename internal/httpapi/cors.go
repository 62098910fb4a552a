package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/settings"
)

// Pages in browsers may call the API from the origins that the domain lists. Before some calls, a
// browser sends a preflight. The browser lets a page read a response only if the response names the
// page's origin (the CORS protocol of the Fetch standard). The API uses no cookies, so no response
// allows credentials.

// sharedHeaders lists the request headers that a page may send. readHeaders lists the response
// headers that a page may read. CORS always allows some other headers.
var (
	sharedHeaders = strings.Join([]string{"Authorization", "Content-Type", "Idempotency-Key", "If-None-Match", "If-Range", "Prefer", "Range"}, ", ")
	readHeaders   = strings.Join([]string{
		"Allow", "Content-Disposition", "Content-Range", "ETag", "Idempotency-Replayed", "Preference-Applied",
		"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After", "X-Request-Id",
	}, ", ")
)

// preflightLife is the number of seconds for which a browser remembers a preflight. During this
// time, a page of a removed origin can still send calls.
const preflightLife = "600"

// admit allows a page to read the response if the domain lists the page's origin. Otherwise it
// returns false.
func (x *exchange) admit(w http.ResponseWriter) bool {
	origin := x.request.Header.Get("Origin")
	if origin == "" {
		return false
	}
	w.Header().Add("Vary", "Origin")
	allowed := x.caller.Settings.List(settings.AllowedOrigins)
	if !slices.ContainsFunc(allowed, func(one string) bool { return strings.EqualFold(one, origin) }) {
		return false
	}
	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Set("Access-Control-Expose-Headers", readHeaders)
	return true
}

// preflight reports whether a request is a preflight. A preflight has no token. The API responds to
// preflights even during maintenance. The page's own call then receives the maintenance error.
func preflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// permit responds to a preflight with the methods that the path has.
func (a *API) permit(x *exchange) (response, error) {
	found, _ := a.router.find(x.segments, nil)
	if found == nil || x.version == "" && !found.unversioned {
		return response{}, passerelle.Missing()
	}
	res := newResponse(http.StatusNoContent, nil, x.caller.Request)
	for name, value := range map[string]string{
		"Access-Control-Allow-Methods": found.allow, "Access-Control-Allow-Headers": sharedHeaders, "Access-Control-Max-Age": preflightLife,
	} {
		res.header.Set(name, value)
	}
	return res, nil
}
