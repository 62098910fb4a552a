package passerelle

import (
	"net/url"
	"strconv"
	"strings"
)

// MaxURL is the maximum length of a redirect URI or return URL, in characters.
const MaxURL = 2048

// ParseRedirectURI accepts an absolute http or https URI with a host and without query, fragment
// and user info. The service adds the outcome as a query, and compares the URI with registered URIs
// character by character. Any other text is an Invalid error for the field.
func ParseRedirectURI(field, s string) (string, error) {
	if strings.Contains(s, "?") {
		return "", InvalidField(field, "must have no query, not even a bare question mark; use the state for values that should come back")
	}
	return ParseReturnURL(field, s)
}

// ParseReturnURL accepts the same URIs as ParseRedirectURI, with or without a query. Any other text
// is an Invalid error for the field.
func ParseReturnURL(field, s string) (string, error) {
	if fault := urlFault(s); fault != "" {
		return "", InvalidField(field, "%s", fault)
	}
	return s, nil
}

// wrongHost also explains how to write names with other letters, because percent-encoding is only
// for the parts after the host.
const wrongHost = "must have a host of the letters a to z, digits, dots and hyphens; write a name with other letters in Punycode, such as xn--e1afmkfd.xn--p1ai"

func urlFault(s string) string {
	switch {
	case len(s) > MaxURL:
		return "must have at most " + strconv.Itoa(MaxURL) + " characters"
	case strings.ContainsFunc(s, outsideURL):
		return foreignFault(s)
	case strings.Contains(s, "#"):
		return "must have no fragment"
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "must be an absolute http or https URL with a host, such as https://client.example/callback"
	case u.User != nil:
		return "must have no user info before the host"
	case !strings.HasPrefix(u.Host, "[") && strings.ContainsFunc(u.Hostname(), outsideHost):
		return wrongHost
	case !usablePort(u):
		return "must have a port from 1 to 65535, or none"
	}
	return ""
}

// foreignFault describes the fault of a text with characters that no URL contains.
func foreignFault(s string) string {
	_, host, _ := strings.Cut(s, "://")
	if end := strings.IndexAny(host, "/?#"); end >= 0 {
		host = host[:end]
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r >= 0x80 }) {
		return wrongHost
	}
	return "must be written in ASCII, with other characters, spaces and backslashes percent-encoded"
}

// outsideURL reports characters that RFC 3986 does not allow anywhere in a URL. Browsers
// interpret some of them, above all the backslash, as delimiters.
func outsideURL(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"<>\\^`{|}", r)
}

// outsideHost reports characters that host names do not contain. RFC 3986 allows more, but some of
// them would end the host name in a header such as a content security policy.
func outsideHost(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(".-_", r)
}

func usablePort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && port > 0
}
