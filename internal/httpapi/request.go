package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/httpd"
)

// maxBody is the default limit for bodies, in bytes. A bulk payment of 1,000 instructions with
// identities fits into this limit, unless most of its texts have the maximum length.
const maxBody = 1 << 20

// read reads the query and the body of a request.
func (x *exchange) read(w http.ResponseWriter) error {
	query, err := url.ParseQuery(x.request.URL.RawQuery)
	if err != nil {
		return passerelle.InvalidField("query string", "%s", err)
	}
	x.query = query
	if !hasBody(x.request.Method) {
		return nil
	}
	x.raw, err = io.ReadAll(httpd.Bounded(w, x.request.Body, cmp.Or(x.endpoint.route.MaxBody, maxBody)))
	return readingError(err)
}

func readingError(err error) error {
	var limit *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, passerelle.Unavailable):
		return err // the service has no memory for the body now
	case errors.As(err, &limit):
		return tooLarge("The body may have at most %d MiB.", limit.Limit>>20)
	}
	return &passerelle.Error{Kind: passerelle.Invalid, Code: "badRequest", Message: "The request body is incomplete.", Cause: err}
}

func tooLarge(format string, args ...any) error {
	return &passerelle.Error{Kind: passerelle.TooLarge, Code: "payloadTooLarge", Message: fmt.Sprintf(format, args...)}
}

// bind fills the endpoint's input from the path, the headers, the query and the body. It then
// completes the embedded structs that need more than their own parameters, such as Paging.
func (x *exchange) bind(in reflect.Value) error {
	b := &binding{strict: x.caller.Strict, user: x.caller.User}
	p := x.endpoint.plan
	for _, source := range []func(*binding, reflect.Value) error{x.bindPath, x.bindHeader, x.bindQuery, x.bindBody} {
		if err := source(b, in); err != nil {
			return err
		}
	}
	x.caller.unread = b.unread
	for _, s := range p.settlers {
		if err := as[settler](in.FieldByIndex(s.index)).settle(x, s.tag); err != nil {
			return err
		}
	}
	x.entered = true
	return nil
}

func (x *exchange) bindPath(b *binding, in reflect.Value) error {
	parameters := node{shape: object}
	for i, name := range x.names {
		if b.path.checkText(x.values[i]) != nil {
			return passerelle.Missing()
		}
		parameters.nodes = append(parameters.nodes, node{shape: loose, name: name, text: x.values[i]})
	}
	if x.endpoint.plan.path.find(userParameter) != nil && parameters.member(userParameter) == nil {
		parameters.nodes = append(parameters.nodes, node{shape: loose, name: userParameter, text: "me"})
	}
	return x.endpoint.plan.path.set(b, in, &parameters)
}

func (x *exchange) bindHeader(b *binding, in reflect.Value) error {
	headers := node{shape: object}
	for _, name := range x.endpoint.plan.header.names {
		values := x.request.Header.Values(name)
		if len(values) > 0 {
			headers.nodes = append(headers.nodes, node{shape: loose, name: name, text: strings.Join(values, ", ")})
		}
	}
	return x.endpoint.plan.header.set(b, in, &headers)
}

func (x *exchange) bindQuery(b *binding, in reflect.Value) error {
	query, rest := node{shape: object}, node{shape: object, name: anyKey}
	open := x.endpoint.plan.query.find(anyKey) != nil
	for _, name := range sorted(x.query) {
		known := x.endpoint.plan.query.find(name) != nil
		if !known && (!open || name == signParameter) {
			if err := x.foreign(b, name); err != nil {
				return err
			}
			continue
		}
		n, err := single(name, x.query[name])
		switch {
		case err != nil:
			return err
		case known:
			query.nodes = append(query.nodes, n)
		default:
			rest.nodes = append(rest.nodes, n)
		}
	}
	if open {
		query.nodes = append(query.nodes, rest)
	}
	return x.endpoint.plan.query.set(b, in, &query)
}

// foreign handles a query parameter that is not a query field of the input. The parameter may be a
// field of the body.
func (x *exchange) foreign(b *binding, name string) error {
	p := x.endpoint.plan
	known := slices.Clone(p.query.names)
	for _, body := range p.bodies() {
		known = append(known, body.names...)
	}
	if rest := p.body.find(anyKey); !b.strict || name == signParameter || slices.Contains(known, name) || rest != nil && rest.queried {
		return nil
	}
	return passerelle.InvalidField(shown(name), "unknown%s", hint(name, known))
}

func (x *exchange) bindBody(b *binding, in reflect.Value) error {
	if !hasBody(x.request.Method) {
		return nil
	}
	if err := refuseCompression(x.request.Header.Get("Content-Encoding")); err != nil {
		return err
	}
	body, err := parseBody(x.request.Context(), x.raw, x.request.Header.Get("Content-Type"), x.endpoint.plan.rawField())
	if err != nil {
		return err
	}
	if err := x.endpoint.plan.spread(&body); err != nil {
		return err
	}
	if err := refuseFiles(&body, x.endpoint.plan); err != nil {
		return err
	}
	if err := merge(&body, x.query, x.request.URL.RawQuery, x.endpoint.plan.fromQuery(x.query)); err != nil {
		return err
	}
	return x.endpoint.plan.bindBody(b, in, &body)
}

// spread converts a body that is a list to an object, if a field accepts that list.
func (p *plan) spread(body *node) error {
	if body.shape != list {
		return nil
	}
	at := slices.IndexFunc(p.body.list, func(f field) bool { return f.whole })
	if at < 0 {
		return notAnObject(*body)
	}
	items := *body
	items.name = p.body.names[at]
	*body = node{shape: object, nodes: []node{items}}
	return nil
}

// fromQuery returns those query parameters that belong to the body. These parameters have the names
// of the body's scalar fields. If the body has a field "*" that also receives query parameters, all
// unknown parameters belong to the body too.
func (p *plan) fromQuery(query url.Values) []string {
	var names []string
	for _, name := range sorted(query) {
		scalar := func(f *fields) bool { at := f.find(name); return at != nil && at.scalar }
		rest := p.body.find(anyKey)
		foreign := rest != nil && rest.queried && name != signParameter && p.query.find(name) == nil && p.body.find(name) == nil
		if foreign || slices.ContainsFunc(p.bodies(), scalar) {
			names = append(names, name)
		}
	}
	return names
}

// merge adds the scalar fields in the query to the body. A field in both has the value from the
// body, because that value has a JSON type. merge fails when the two values differ.
func merge(body *node, query url.Values, raw string, names []string) error {
	for _, name := range names {
		extra, err := single(name, query[name])
		if err != nil {
			return err
		}
		extra.assigned = extra.text == "" && assigned(raw, name)
		present := body.member(name)
		if present == nil {
			body.nodes = append(body.nodes, extra)
		} else if present.shape >= list || present.text != extra.text {
			return passerelle.InvalidField(shown(name), "has one value in the body and another in the query string")
		}
	}
	return nil
}

// assigned reports whether a query has a parameter with an equals sign, as in "confirm=".
func assigned(query, name string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		key, _, equals := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(key); equals && err == nil && plain == name {
			return true
		}
	}
	return false
}

// single converts the values of a parameter to one node. It fails when these values differ.
func single(name string, values []string) (node, error) {
	at := path{steps: []step{memberStep(name)}}
	for _, value := range values {
		if value != values[0] {
			return node{}, at.invalid("given twice with different values")
		}
	}
	return node{shape: loose, name: name, text: values[0]}, at.checkText(values[0])
}
