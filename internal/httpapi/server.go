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

// Config has the functions and values that the package needs from the service. Every function must
// be set. Functions are called concurrently.
type Config struct {
	// Domain loads what a request needs of the domain of a host, and looks up the bearer token, if
	// any. It fails with NotFound for an unknown host.
	Domain func(ctx context.Context, host, bearer string) (store.ServedDomain, access.BearerToken, error)
	// Authenticate returns the principal of a domain's bearer token. It fails with Unauthenticated
	// and the code invalidToken for an unknown, expired or revoked token.
	Authenticate func(ctx context.Context, domain passerelle.Domain, shown access.BearerToken) (access.Principal, error)
	// MAC returns the message authentication code of data for a purpose, made with a secret of
	// the deployment.
	MAC func(purpose string, data []byte) []byte
	// Sign returns the function that signs an answer to the caller. It fails with Invalid for a
	// domain that does not sign answers.
	Sign func(ctx context.Context, c *Caller) (SignFunc, error)
	// RequestID returns the id of the request, which consists of decimal digits.
	RequestID func(ctx context.Context) string
	// Matched receives the pattern of the matched route, with the version:
	// "/2.0/payments/{paymentId}". Unlike a path with ids, the pattern may be used in logs and
	// metrics.
	Matched func(ctx context.Context, pattern string)
	// Now returns the real time.
	Now func() time.Time
	// Unserved returns the message for an unknown path in a family of calls that the service does
	// not have. It returns an empty text for other paths. It may be nil.
	Unserved func(segments []string) string
	// Answers stores answers for repetitions with an Idempotency-Key.
	Answers *store.DB
	// TrustedProxies are the networks whose X-Forwarded headers are used.
	TrustedProxies []netip.Prefix
	Log            *slog.Logger
}

// API is an http.Handler that serves the routes. Requests for other paths get a 404 with the error
// body.
type API struct {
	config   Config
	router   router
	document func() RawJSON
	meter    meter
}

// New returns the handler of the routes, and of the OpenAPI document that describes them. It panics
// for a wrongly declared route. A wrong output type panics when the document is first requested.
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

// documentRoute returns the route of the OpenAPI document. The document is rendered at the first
// request, because most processes never get one.
func (a *API) documentRoute() Route {
	return Route{
		Method: http.MethodGet, Pattern: "/openapi.json", Needs: Needs{Public: true},
		Summary:  "Read this API document",
		Endpoint: Handle(func(context.Context, *Caller, Nothing) (RawJSON, error) { return a.document(), nil }),
	}
}

// Document returns the OpenAPI document of the routes as it is served.
func (a *API) Document() RawJSON { return a.document() }

// exchange is one request and its answer.
type exchange struct {
	request *http.Request // once a route is found, its address has no token
	location
	endpoint *endpoint
	// pattern is the pattern of the endpoint that matched. names and values are its parameters.
	pattern       string
	names, values []string
	query         url.Values
	// raw is the body of the request, if its method has one.
	raw    []byte
	caller Caller
	// shown is the token of the request, even when the route needs none.
	shown access.BearerToken
	quota quota
	mac   func(purpose string, data []byte) []byte
	// entered is true once the input was accepted and the endpoint runs.
	entered bool
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.answer(w, r).write(w, r, a.refusal(r.Context()))
}

// answer turns every failure into an answer, including panics. The exception is the panic by which
// net/http aborts a response.
func (a *API) answer(w http.ResponseWriter, r *http.Request) (result answer) {
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

// serve checks a request in a fixed order. It shows nothing about a resource before the token is
// checked, and reads no body of a caller who may not send one.
func (a *API) serve(ctx context.Context, w http.ResponseWriter, x *exchange) (answer, error) {
	at, unlocated := locate(x.request.URL)
	x.location = at
	closed := a.identify(ctx, x)
	if x.admit(w) && unlocated == nil && preflight(x.request) {
		return a.permit(x)
	}
	if closed != nil {
		return answer{}, closed
	}
	if unlocated != nil {
		return answer{}, unlocated
	}
	if err := a.match(x); err != nil {
		return answer{}, err
	}
	a.config.Matched(ctx, version+x.pattern)
	if err := a.authorise(ctx, x); err != nil {
		return answer{}, err
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

// match finds the endpoint. When a known path does not have the method, the error is a 405 with the
// methods of the path. A path without its required version is unknown.
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

// call fills the input, runs the endpoint, and renders its output.
func (a *API) call(ctx context.Context, w http.ResponseWriter, x *exchange) (answer, error) {
	x.mac = a.config.MAC
	if err := x.read(w); err != nil {
		return answer{}, err
	}
	return a.repeatable(ctx, x)
}

// run executes the part of a call that must not happen twice.
func (a *API) run(ctx context.Context, x *exchange) (answer, error) {
	signature, err := a.signature(ctx, x)
	if err != nil {
		return answer{}, err
	}
	x.caller.render = func(out any) (answer, error) { return a.render(x, signature, out) }
	out, err := x.endpoint.route.Endpoint.call(ctx, &x.caller, x.bind)
	if err != nil {
		return answer{}, err
	}
	if x.caller.kept != nil {
		return *x.caller.kept, nil
	}
	return x.caller.render(out)
}

// render returns the answer of a successful call. It is signed if a signature was requested.
func (a *API) render(x *exchange, signature SignFunc, out any) (answer, error) {
	status := successStatus(out)
	if status == http.StatusNoContent {
		return newAnswer(status, nil, x.caller.Request), nil
	}
	if file, ok := out.(Content); ok {
		return contentAnswer(file, x.caller.Request), nil
	}
	if stream, ok := out.(Stream); ok {
		return streamAnswer(stream, x.caller.Request), nil
	}
	body, err := encode(out)
	if err != nil {
		return answer{}, fmt.Errorf("render %T: %w", out, err)
	}
	if signature != nil {
		return a.sign(x, signature, status, body)
	}
	return newAnswer(status, body, x.caller.Request), nil
}
