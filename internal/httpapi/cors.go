package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/settings"
)

// Pages in browsers may call the API when the domain lists their origin. The browser sends a
// preflight, and lets a page read only answers that name its origin (the CORS protocol of the Fetch
// standard). Tokens are in headers that a page must set, never in cookies, so no answer allows
// credentials.

// sharedHeaders are request headers that a page may send, and readHeaders response headers that it
// may read. CORS always allows some others.
var (
	sharedHeaders = strings.Join([]string{"Authorization", "Content-Type", "Idempotency-Key", "If-None-Match", "If-Range", "Prefer", "Range"}, ", ")
	readHeaders   = strings.Join([]string{
		"Allow", "Content-Disposition", "Content-Range", "ETag", "Idempotency-Replayed", "Preference-Applied",
		"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After", "X-Request-Id",
	}, ", ")
)

// preflightLife is how many seconds a browser waits before the next preflight. During this time a
// removed origin may still call.
const preflightLife = "600"

// admit allows a page of a listed origin to read the answer. It returns false for other origins.
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

// preflight reports whether a request is a preflight. A preflight has no token. It is answered even
// during maintenance, because the page then gets the reason from its call.
func preflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// permit answers a preflight with the methods that the path has.
func (a *API) permit(x *exchange) (answer, error) {
	found, _ := a.router.find(x.segments, nil)
	if found == nil || x.version == "" && !found.unversioned {
		return answer{}, passerelle.Missing()
	}
	an := newAnswer(http.StatusNoContent, nil, x.caller.Request)
	for name, value := range map[string]string{
		"Access-Control-Allow-Methods": found.allow, "Access-Control-Allow-Headers": sharedHeaders, "Access-Control-Max-Age": preflightLife,
	} {
		an.header.Set(name, value)
	}
	return an, nil
}
