package httpapi

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"passerelle"
)

// router finds the endpoint for a path. It is a tree of path segments. net/http's ServeMux would
// handle some requests itself, with plain text or redirects. The API must respond to these requests
// with its error body.
type router struct {
	literal map[string]*router
	any     *router
	here    *resource
}

// resource holds the endpoints of one path, by method.
type resource struct {
	methods map[string]handler
	// allow is the value of the Allow header.
	allow string
	// unversioned is set when clients can call at least one of the path's routes without the
	// version.
	unversioned bool
}

// handler holds an endpoint, one of its patterns, and the names of that pattern's parameters.
type handler struct {
	endpoint *endpoint
	pattern  string
	names    []string
}

func (t *router) add(pattern string, e *endpoint) {
	at := t
	for _, segment := range segments(pattern) {
		at = at.child(segment)
	}
	if at.here == nil {
		at.here = &resource{methods: map[string]handler{}}
	}
	for _, method := range methodsOf[e.route.Method] {
		if _, twice := at.here.methods[method]; twice {
			panic(fmt.Sprintf("httpapi: two routes for %s %s", method, pattern))
		}
		at.here.methods[method] = handler{endpoint: e, pattern: pattern, names: parameters(pattern)}
	}
	at.here.unversioned = at.here.unversioned || e.route.Unversioned
	at.here.allow = strings.Join(sorted(at.here.methods), ", ")
}

func (t *router) child(segment string) *router {
	if _, ok := parameter(segment); ok {
		if t.any == nil {
			t.any = &router{}
		}
		return t.any
	}
	if t.literal[segment] == nil {
		if t.literal == nil {
			t.literal = map[string]*router{}
		}
		t.literal[segment] = &router{}
	}
	return t.literal[segment]
}

// find returns the resource at a path and the values of the path's parameters. A literal segment
// takes precedence over a parameter, if the segments after it also match.
func (t *router) find(path []string, values []string) (*resource, []string) {
	if len(path) == 0 {
		return t.here, values
	}
	if next := t.literal[path[0]]; next != nil {
		if found, with := next.find(path[1:], values); found != nil {
			return found, with
		}
	}
	if t.any == nil {
		return nil, nil
	}
	return t.any.find(path[1:], append(values, path[0]))
}

// location is the parsed path of a request.
type location struct {
	// version is the version segment as the client sent it. It is empty for a path without a
	// version, and contains the version twice when the client sent it twice.
	version string
	// path is the rest of the path. It is escaped and has no trailing slash.
	path     string
	segments []string
}

const version = "/2.0"

// locate parses a path. It accepts the version segment twice, because clients add the version to a
// base address that already has it. It also accepts one trailing slash. Empty segments, "." and
// ".." match no path.
func locate(u *url.URL) (location, error) {
	var at location
	path := u.EscapedPath()
	for len(at.version) < 2*len(version) && (path == version || strings.HasPrefix(path, version+"/")) {
		at.version, path = at.version+version, path[len(version):]
	}
	at.path = strings.TrimSuffix(path, "/")
	at.segments = segments(at.path)
	for i, segment := range at.segments {
		plain, err := url.PathUnescape(segment)
		if err != nil || plain == "" || plain == "." || plain == ".." {
			return at, passerelle.Missing()
		}
		at.segments[i] = plain
	}
	return at, nil
}

// segments splits a path below the root of the address.
func segments(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(strings.TrimPrefix(path, "/"), "/")
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
