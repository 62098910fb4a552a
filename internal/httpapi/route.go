package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// Route is one endpoint as data. The table of routes defines who may make which call, and the
// OpenAPI document is made from it.
type Route struct {
	// Method is GET, POST, PUT, PATCH, DELETE, or Update.
	Method string
	// Pattern is the path below the address root, with parameters in braces:
	// "/payments/{paymentId}".
	Pattern string
	// Aliases are additional patterns of the same endpoint. A parameter {userId} that an alias
	// lacks has the value "me". All other parameters that it lacks must be optional.
	Aliases []string
	// Unversioned routes can also be called without the version segment.
	Unversioned bool
	Needs       Needs
	// Summary is a short description for the OpenAPI document, and Doc a longer one.
	Summary, Doc string
	// MaxBody is the largest body in bytes, a whole number of MiB. Zero means one MiB.
	MaxBody int64
	// Statuses are additional success statuses for the OpenAPI document.
	Statuses []int
	// Errors are the codes of the endpoint that do not follow from its declaration, unlike those
	// for 400, 401, 403, 404 and 500.
	Errors []string
	// Tokens is set when the answer contains a token. Such an answer is not stored, so repetitions
	// do not get it.
	Tokens bool
	// Endpoint is what Handle returns.
	Endpoint Endpoint
	// Redirects is set for a page for browsers, which another handler serves. The route is only in
	// the document, with 302 as its success status.
	Redirects bool
}

// Update is the method of routes that change a resource. It stands for both POST and PUT.
const Update = "UPDATE"

// methodsOf has the HTTP methods for each method of a route.
var methodsOf = map[string][]string{
	http.MethodGet:    {http.MethodGet, http.MethodHead},
	http.MethodPost:   {http.MethodPost},
	http.MethodPut:    {http.MethodPut},
	http.MethodPatch:  {http.MethodPatch},
	http.MethodDelete: {http.MethodDelete},
	Update:            {http.MethodPost, http.MethodPut},
}

// hasBody reports whether requests with the method may have a body, which is then read.
func hasBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

// takesKey reports whether a repeated call with the same Idempotency-Key gets the stored answer.
func (r Route) takesKey() bool {
	return !r.Tokens && (r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == Update) && !strings.HasPrefix(r.Pattern, "/auth/")
}

// Endpoint is a typed function that is ready for a Route.
type Endpoint struct {
	in, out reflect.Type
	call    func(ctx context.Context, c *Caller, bind func(in reflect.Value) error) (any, error)
}

// Nothing is the output of an endpoint that answers 204 without a body, and the input of an
// endpoint without parameters.
type Nothing struct{}

// Handle returns an endpoint that calls a function. In is a struct with tagged fields (see plan).
// Out is anything that encoding/json renders. The status is 200, or 204 when Out is Nothing, or the
// result of Out's method HTTPStatus.
func Handle[In, Out any](h func(context.Context, *Caller, In) (Out, error)) Endpoint {
	return Endpoint{
		in:  reflect.TypeFor[In](),
		out: reflect.TypeFor[Out](),
		call: func(ctx context.Context, c *Caller, bind func(reflect.Value) error) (any, error) {
			var in In
			if err := bind(reflect.ValueOf(&in).Elem()); err != nil {
				return nil, err
			}
			return h(ctx, c, in)
		},
	}
}

// statusSayer is implemented by outputs that can have another status than 200, such as 202 when the
// client has to act.
type statusSayer interface{ HTTPStatus() int }

func successStatus(out any) int {
	switch out := out.(type) {
	case Nothing:
		return http.StatusNoContent
	case statusSayer:
		return out.HTTPStatus()
	}
	return http.StatusOK
}

// endpoint is a route that is ready to be served.
type endpoint struct {
	route Route
	plan  *plan
}

func newEndpoint(r Route) *endpoint {
	switch {
	case methodsOf[r.Method] == nil:
		panic(fmt.Sprintf("protocol: route %s %s: unknown method", r.Method, r.Pattern))
	case r.Endpoint.call == nil:
		panic(fmt.Sprintf("protocol: route %s %s has no endpoint", r.Method, r.Pattern))
	case !r.Needs.Public && len(r.Needs.Kinds)+len(r.Needs.AnyScope) == 0, r.Needs.Guarded != "" && !r.Needs.Public:
		panic(fmt.Sprintf("protocol: route %s %s says nothing about who may call it", r.Method, r.Pattern))
	}
	for _, word := range r.Errors {
		if codes[word].status == 0 {
			panic(fmt.Sprintf("protocol: %s: unknown error code %q", r.Pattern, word))
		}
	}
	e := &endpoint{route: r, plan: newPlan(r.Endpoint.in)}
	for _, pattern := range r.patterns() {
		e.agree(pattern)
	}
	return e
}

func (r Route) patterns() []string { return append([]string{r.Pattern}, r.Aliases...) }

// agree panics when the pattern and the input have different parameters.
func (e *endpoint) agree(pattern string) {
	names := parameters(pattern)
	for _, name := range names {
		if e.plan.path.find(name) == nil {
			panic(fmt.Sprintf("protocol: %s: the input has no field for {%s}", pattern, name))
		}
	}
	for _, f := range e.plan.path.list {
		if !slices.Contains(names, f.name) && !f.optional && f.name != userParameter {
			panic(fmt.Sprintf("protocol: %s: the pattern has no {%s}", pattern, f.name))
		}
	}
}

// userParameter is a parameter that may be "me". It is "me" when a pattern lacks it.
const userParameter = "userId"

func parameters(pattern string) []string {
	var names []string
	for _, segment := range segments(pattern) {
		if name, ok := parameter(segment); ok {
			names = append(names, name)
		}
	}
	return names
}

func parameter(segment string) (string, bool) {
	if !strings.HasPrefix(segment, "{") || !strings.HasSuffix(segment, "}") {
		return "", false
	}
	return segment[1 : len(segment)-1], true
}
