package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// Config contains the functions and values that the package needs from the service. Except
// Unserved, every function must be set. The API calls the functions concurrently.
type Config struct {
	// Domain loads the domain of a host, with the data that each request needs. It also looks up
	// the bearer token, if any. It fails with NotFound for an unknown host.
	Domain func(ctx context.Context, host, bearer string) (store.ServedDomain, access.BearerToken, error)
	// Authenticate returns the principal of a domain's bearer token. For an unknown, expired or
	// revoked token, it fails with Unauthenticated and the code invalidToken.
	Authenticate func(ctx context.Context, domain passerelle.Domain, shown access.BearerToken) (access.Principal, error)
	// MAC returns a message authentication code of data for a purpose. Its key is a secret of the
	// deployment.
	MAC func(purpose string, data []byte) []byte
	// Sign returns the function that signs a response to the caller. It fails with Invalid if the
	// domain does not sign responses.
	Sign func(ctx context.Context, c *Caller) (SignFunc, error)
	// RequestID returns the request's id, which consists of decimal digits.
	RequestID func(ctx context.Context) string
	// Matched receives the pattern of the matched route, with the version:
	// "/2.0/payments/{paymentId}". Logs and metrics may contain the pattern. Logs and metrics must
	// not contain a path with ids.
	Matched func(ctx context.Context, pattern string)
	// Now returns the real time.
	Now func() time.Time
	// Unserved returns the message for the root, and for an unknown path in a family of calls that
	// the service does not have. It returns an empty text for other paths. Unserved may be nil.
	Unserved func(segments []string) string
	// Responses stores the responses that repetitions with the same Idempotency-Key receive.
	Responses *store.DB
	// TrustedProxies lists the networks from which the API uses X-Forwarded headers.
	TrustedProxies []netip.Prefix
	Log            *slog.Logger
}

// API is an http.Handler that serves the routes. It responds to requests for other paths with a 404
// and the error body.
type API struct {
	config   Config
	router   router
	document func() RawJSON
	meter    meter
}

// New returns the handler of the routes and of the OpenAPI document that describes them. It panics
// for a wrongly declared route. A wrong output type causes a panic when a client first requests the
// document.
func New(config Config, routes []Route) *API {
	a := &API{config: config}
	routes = append(routes[:len(routes):len(routes)], a.documentRoute())
	endpoints := make([]*endpoint, len(routes))
	for i, r := range routes {
		endpoints[i] = newEndpoint(r)
		if r.Redirects {
			continue
		}
		for _, pattern := range r.patterns() {
			a.router.add(pattern, endpoints[i])
		}
	}
	a.document = sync.OnceValue(func() RawJSON { return describe(endpoints) })
	return a
}

// documentRoute returns the route of the OpenAPI document. The first request renders the document,
// because most processes never receive such a request.
func (a *API) documentRoute() Route {
	return Route{
		Method: http.MethodGet, Pattern: "/openapi.json", Needs: Needs{Public: true},
		Summary:  "Read this API document",
		Endpoint: Handle(func(context.Context, *Caller, Nothing) (RawJSON, error) { return a.document(), nil }),
	}
}

// Document returns the OpenAPI document as the API serves it.
func (a *API) Document() RawJSON { return a.document() }

// exchange holds one request and its response.
type exchange struct {
	request *http.Request // for a read, authorise removes the token from the address
	location
	endpoint *endpoint
	// pattern is the pattern of the matching endpoint. names and values belong to its parameters.
	pattern       string
	names, values []string
	query         url.Values
	// raw is the body of the request, if its method has one.
	raw    []byte
	caller Caller
	// shown is the token of the request. The API reads a token in the header even when the route
	// needs no token.
	shown access.BearerToken
	quota quota
	mac   func(purpose string, data []byte) []byte
	// entered is set when the input is accepted and the endpoint runs.
	entered bool
	// withdrawn is set when a call with an Idempotency-Key responds with 400, unless an earlier
	// execution created an object. The key then forgets the object that this execution may have
	// created and deleted.
	withdrawn bool
}

// ServeHTTP handles one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.respond(w, r).write(w, r, a.refusal(r.Context()))
}

// respond executes a request. It converts every failure to a response, and also panics except
// http.ErrAbortHandler.
func (a *API) respond(w http.ResponseWriter, r *http.Request) (result response) {
	ctx := r.Context()
	defer func() {
		cause := recover()
		if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(cause)
		}
		if cause != nil {
			result = a.failed(ctx, fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		}
	}()
	x := &exchange{request: r}
	result, err := a.serve(ctx, w, x)
	if err != nil {
		result = a.failed(ctx, err)
	}
	x.quota.show(result.header)
	if x.caller.Strict {
		result.header.Set("Preference-Applied", "handling=strict")
	}
	return result
}

// serve checks a request in a fixed order. It checks the token before it reads the body.
func (a *API) serve(ctx context.Context, w http.ResponseWriter, x *exchange) (response, error) {
	at, unlocated := locate(x.request.URL)
	x.location = at
	closed := a.identify(ctx, x)
	if x.admit(w) && unlocated == nil && preflight(x.request) {
		return a.permit(x)
	}
	if closed != nil {
		return response{}, closed
	}
	if unlocated != nil {
		return response{}, unlocated
	}
	if err := a.match(x); err != nil {
		return response{}, err
	}
	a.config.Matched(ctx, version+x.pattern)
	if err := a.authorise(ctx, x); err != nil {
		return response{}, err
	}
	return a.call(settings.Within(ctx, x.caller.Domain.ID, x.caller.Settings), w, x)
}

// errClosed is the error for calls during maintenance.
var errClosed = &passerelle.Error{Kind: passerelle.Unavailable, Code: "maintenance", Message: "The service is down for maintenance; try again later.", RetryAfter: 60}

// nowhere returns the error for an unknown path.
func (a *API) nowhere(x *exchange) error {
	missing := passerelle.Missing()
	if a.config.Unserved != nil {
		missing.Message = cmp.Or(a.config.Unserved(x.segments), missing.Message)
	}
	return missing
}

// match finds the endpoint. When a known path does not have the method, match fails with a 405 that
// lists the path's methods. A path without its required version is unknown.
func (a *API) match(x *exchange) error {
	found, values := a.router.find(x.segments, nil)
	if found == nil || x.version == "" && !found.unversioned {
		return a.nowhere(x)
	}
	h, ok := found.methods[x.request.Method]
	if !ok {
		return &methodError{allow: found.allow, cause: &passerelle.Error{
			Kind: passerelle.Invalid, Code: "methodNotAllowed", Message: "Methods of this path: " + found.allow + ".",
		}}
	}
	if x.version == "" && !h.endpoint.route.Unversioned {
		return passerelle.Missing()
	}
	x.endpoint, x.pattern, x.names, x.values = h.endpoint, h.pattern, h.names, values
	return nil
}

// call reads the query and the body, and then executes the call.
func (a *API) call(ctx context.Context, w http.ResponseWriter, x *exchange) (response, error) {
	x.mac = a.config.MAC
	if err := x.read(w); err != nil {
		return response{}, err
	}
	return a.repeatable(ctx, x)
}

// run fills the input, runs the endpoint and renders the output.
func (a *API) run(ctx context.Context, x *exchange) (response, error) {
	signature, err := a.signature(ctx, x)
	if err != nil {
		return response{}, err
	}
	x.caller.render = func(out any) (response, error) { return a.render(x, signature, out) }
	out, err := x.endpoint.route.Endpoint.call(ctx, &x.caller, x.bind)
	if err != nil {
		return response{}, err
	}
	if x.caller.kept != nil {
		return *x.caller.kept, nil
	}
	return x.caller.render(out)
}

// render returns the response to a successful call. It signs a JSON response if the request asks
// for a signature.
func (a *API) render(x *exchange, signature SignFunc, out any) (response, error) {
	status := successStatus(out)
	if status == http.StatusNoContent {
		return newResponse(status, nil, x.caller.Request), nil
	}
	if file, ok := out.(Content); ok {
		return contentResponse(file, x.caller.Request), nil
	}
	if stream, ok := out.(Stream); ok {
		return streamResponse(stream, x.caller.Request), nil
	}
	body, err := encode(out)
	if err != nil {
		return response{}, fmt.Errorf("render %T: %w", out, err)
	}
	if signature != nil {
		return a.sign(x, signature, status, body)
	}
	return newResponse(status, body, x.caller.Request), nil
}
