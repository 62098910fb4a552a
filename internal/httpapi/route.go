package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// Route is one endpoint as data. The table of routes defines who may call which endpoint. The
// OpenAPI document comes from this table.
type Route struct {
	// Method is GET, POST, PUT, PATCH, DELETE, or Update.
	Method string
	// Pattern is the path below the root of the address. Braces mark parameters:
	// "/payments/{paymentId}".
	Pattern string
	// Aliases lists additional patterns of the same endpoint. An alias may omit parameters. An
	// omitted {userId} has the value "me", and all other omitted parameters must be optional.
	Aliases []string
	// Unversioned is set when clients can also call the route without the version segment.
	Unversioned bool
	Needs       Needs
	// Summary is a short description for the OpenAPI document, and Doc is a longer one.
	Summary, Doc string
	// MaxBody is the largest body in bytes. The value is a whole number of MiB, and zero means one
	// MiB.
	MaxBody int64
	// Statuses lists additional success statuses for the OpenAPI document.
	Statuses []int
	// Errors lists the endpoint's error codes that do not follow from its declaration (see
	// failures).
	Errors []string
	// Tokens is set when the response contains a token. The service does not store such a response,
	// so repetitions do not receive it.
	Tokens bool
	// Creates names the id sequence of the objects that the endpoint creates. The service then
	// stores the id of the new object with the request's idempotency key. When the first response
	// was lost, a repetition gets the response of the route that reads this object. With Resumes,
	// the API calls the endpoint again, and sets Caller.Made.
	Creates string
	Resumes bool
	// Endpoint is a result of Handle.
	Endpoint Endpoint
	// Redirects is set for a browser page that another handler serves. Such a route exists only in
	// the document, with 302 as its success status.
	Redirects bool
}

// Update is the method of routes that change a resource. It stands for both POST and PUT.
const Update = "UPDATE"

// methodsOf maps each method of a route to its HTTP methods.
var methodsOf = map[string][]string{
	http.MethodGet:    {http.MethodGet, http.MethodHead},
	http.MethodPost:   {http.MethodPost},
	http.MethodPut:    {http.MethodPut},
	http.MethodPatch:  {http.MethodPatch},
	http.MethodDelete: {http.MethodDelete},
	Update:            {http.MethodPost, http.MethodPut},
}

// hasBody reports whether requests with the method may have a body. The API reads the body of such
// requests.
func hasBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

// takesKey reports whether a repetition with the same Idempotency-Key receives the stored response.
func (r Route) takesKey() bool {
	return !r.Tokens && (r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == Update) && !strings.HasPrefix(r.Pattern, "/auth/")
}

// Endpoint is a typed function in the form that a Route needs.
type Endpoint struct {
	in, out reflect.Type
	// short returns the same endpoint with the paging parameters of LimitOffset. The argument is
	// the index of the output's field that contains the list.
	short func(items []int) Endpoint
	call  func(ctx context.Context, c *Caller, bind func(in reflect.Value) error) (any, error)
}

// Nothing is the output of an endpoint that responds with 204 without a body. It is also the input
// of an endpoint without parameters.
type Nothing struct{}

// Handle returns an endpoint that calls a function. In is a struct with tagged fields (see plan).
// Out is any type that encoding/json renders. An Out with the method HTTPStatus determines the
// status. Otherwise the status is 204 for Nothing and 200 for all other types. An Out with a list
// and a total, but without links, is a short list when the method is GET (see shortInput).
func Handle[In, Out any](h func(context.Context, *Caller, In) (Out, error)) Endpoint {
	e := newCall(h)
	e.short = func(items []int) Endpoint { return newCall(cut(h, items)) }
	return e
}

func newCall[In, Out any](h func(context.Context, *Caller, In) (Out, error)) Endpoint {
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

// statusSayer is the interface of outputs that choose their status, such as 202 when the client
// must act.
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
		panic(fmt.Sprintf("httpapi: route %s %s: unknown method", r.Method, r.Pattern))
	case r.Endpoint.call == nil:
		panic(fmt.Sprintf("httpapi: route %s %s has no endpoint", r.Method, r.Pattern))
	case !r.Needs.Public && len(r.Needs.Kinds)+len(r.Needs.AnyScope) == 0, r.Needs.Guarded != "" && !r.Needs.Public:
		panic(fmt.Sprintf("httpapi: route %s %s says nothing about who may call it", r.Method, r.Pattern))
	}
	for _, word := range r.Errors {
		if codes[word].status == 0 {
			panic(fmt.Sprintf("httpapi: %s: unknown error code %q", r.Pattern, word))
		}
	}
	if items := shortItems(r.Endpoint.out); items != nil && r.Method == http.MethodGet {
		r.Endpoint = r.Endpoint.short(items)
	}
	e := &endpoint{route: r, plan: newPlan(r.Endpoint.in)}
	for _, pattern := range r.patterns() {
		e.agree(pattern)
	}
	return e
}

func (r Route) patterns() []string { return append([]string{r.Pattern}, r.Aliases...) }

// agree panics unless the pattern and the input have the same parameters. The pattern may omit
// optional parameters and {userId}.
func (e *endpoint) agree(pattern string) {
	names := parameters(pattern)
	for _, name := range names {
		if e.plan.path.find(name) == nil {
			panic(fmt.Sprintf("httpapi: %s: the input has no field for {%s}", pattern, name))
		}
	}
	for _, f := range e.plan.path.list {
		if !slices.Contains(names, f.name) && !f.optional && f.name != userParameter {
			panic(fmt.Sprintf("httpapi: %s: the pattern has no {%s}", pattern, f.name))
		}
	}
}

// userParameter is a parameter that may have the value "me". A pattern that omits the parameter
// also means "me".
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
