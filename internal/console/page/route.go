package page

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"passerelle/internal/web"
)

// Route is an address below Root, with its handler.
type Route struct {
	Method string
	// Pattern is the path below Root. A # matches a number. In a pattern that begins with
	// domains/#, the first number identifies a domain, which is loaded before Serve is called.
	Pattern string
	Serve   func(*Context) error
	// Open is set for pages that need no session.
	Open bool
	// Room increases the usual limit for forms at this address, in bytes.
	Room int64
}

// Get returns the route of a page for signed-in operators.
func Get(pattern string, serve func(*Context) error) Route {
	return Route{Method: http.MethodGet, Pattern: pattern, Serve: serve}
}

// Post returns the route of a form for signed-in operators.
func Post(pattern string, serve func(*Context) error) Route {
	return Route{Method: http.MethodPost, Pattern: pattern, Serve: serve}
}

// SetUp returns the route of a form for operators who may change the settings of the domain in the
// address.
func SetUp(pattern string, serve func(*Context) error) Route {
	return Post(pattern, func(pc *Context) error {
		if !pc.MaySetUp() {
			return ErrForbidden
		}
		return serve(pc)
	})
}

// maxForm is the largest size of a form, in bytes. A route's Room increases this size.
const maxForm = 64 << 10

// numbersOf compares an address with a pattern, and returns the numbers in the address. It returns
// false when the address does not match the pattern.
func numbersOf(pattern, address string) ([]int64, bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(address, "/")
	if len(want) != len(got) {
		return nil, false
	}
	var numbers []int64
	for i := range want {
		if want[i] != "#" && want[i] != got[i] {
			return nil, false
		}
		if want[i] != "#" {
			continue
		}
		n, err := strconv.ParseInt(got[i], 10, 64)
		if err != nil || n <= 0 || strconv.FormatInt(n, 10) != got[i] {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, true
}

// find returns the route of a request, and the numbers in the request's address.
func find(routes []Route, r *http.Request) (Route, []int64, error) {
	address := strings.TrimPrefix(r.URL.EscapedPath(), Root)
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	err := error(ErrNoPage)
	for _, one := range routes {
		numbers, matches := numbersOf(one.Pattern, address)
		switch {
		case matches && one.Method == method:
			return one, numbers, nil
		case matches:
			err = errMethod
		}
	}
	if above := pageAbove(routes, address); method == http.MethodGet && errors.Is(err, errMethod) && above != "" {
		return Route{Method: method, Open: true, Serve: func(pc *Context) error {
			web.Redirect(pc.Writer, Root+above)
			return nil
		}}, nil, nil
	}
	return Route{}, nil, err
}

// pageAbove returns the address of the nearest page above another address, or an empty text when
// there is no such page. The other address accepts only forms. It is in the address bar after a
// refused form, and a person may load it from there with GET.
func pageAbove(routes []Route, address string) string {
	isPage := func(one Route) bool {
		_, matches := numbersOf(one.Pattern, address)
		return matches && one.Method == http.MethodGet && !one.Open
	}
	for cut := strings.LastIndexByte(address, '/'); cut > 0; cut = strings.LastIndexByte(address, '/') {
		if address = address[:cut]; slices.ContainsFunc(routes, isPage) {
			return address
		}
	}
	return ""
}
