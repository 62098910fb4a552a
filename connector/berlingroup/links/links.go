// Package links reads the links in a bank's responses and finds their targets.
//
// It owns the forms of links, and the rule that a target is on the server of the bank's API. It does
// not own the names of links or the requests to their targets. It fails for a link to another
// server, because a request to that server would disclose secrets.
package links

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
)

// Set maps the names of links in the standard to the links in a response.
type Set map[string]Link

// Link is a link in a response. In the OpenAPI file of version 1.3.0, a link is a text. In later
// files, it is an object.
type Link struct {
	Href string `json:"href"`
}

// UnmarshalJSON reads both forms.
func (l *Link) UnmarshalJSON(form []byte) error {
	type object Link
	if json.Unmarshal(form, &l.Href) == nil {
		return nil
	}
	return json.Unmarshal(form, (*object)(l))
}

// ErrElsewhere means that a link leads to another server.
var ErrElsewhere = errors.New("the link leads to another server")

// Target returns the address to which a link leads. base is the address of the bank's API. A link
// is a full address, or a path from the host or from base.
func Target(base, href string) (string, error) {
	from, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	to, err := from.Parse(fromHost(from.Path, href))
	if err != nil || to.Scheme != from.Scheme || !sameServer(to, from) || to.User != nil {
		return "", ErrElsewhere
	}
	to.Host, to.Fragment = from.Host, ""
	return to.String(), nil
}

// Below returns the part of a link's path, in its escaped form, that follows root. The link may lead
// to any server. Below returns "" if root is empty or not part of the link's path.
func Below(root, href string) string {
	to, err := url.Parse(href)
	if err != nil || root == "" {
		return ""
	}
	_, rest, _ := strings.Cut(to.EscapedPath(), root+"/")
	return rest
}

// At returns the address at base of a link that ends with a path. The link may lead to any server.
// At ignores the query of the path, and keeps the query of the link. It returns "" for a link with
// another path.
func At(base, path, href string) string {
	to, err := url.Parse(href)
	path, _, _ = strings.Cut(path, "?")
	if err != nil || path == "" || !strings.HasSuffix(to.EscapedPath(), path) {
		return ""
	}
	if to.RawQuery != "" {
		path += "?" + to.RawQuery
	}
	return base + path
}

// fromHost returns a link that is a path from the base as a path from the host. The standard
// permits both, and its examples have both. Other links do not change.
func fromHost(root, href string) string {
	path := "/" + strings.TrimPrefix(href, "/")
	if strings.HasPrefix(path, "/v1/") && !strings.HasPrefix(path, root+"/") {
		return root + path
	}
	return href
}

// sameServer reports whether two https addresses have the same host and port.
func sameServer(a, b *url.URL) bool {
	return strings.EqualFold(a.Hostname(), b.Hostname()) && cmp.Or(a.Port(), "443") == cmp.Or(b.Port(), "443")
}
