package web

import (
	"net/http"
	"net/url"
	"strings"
)

// secure sets the headers for content that only one user may see.
func secure(header http.Header) {
	for name, value := range map[string]string{
		"Cache-Control":                "no-store",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), payment=()",
		"Referrer-Policy":              "no-referrer",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
	} {
		header.Set(name, value)
	}
}

// policy returns the content security policy of a page. The policy allows the service's own style
// sheets and images, and no inline code. It allows scripts only on a page with a Module. If Asks is
// set, the script may send requests to the service. No script may send requests to other hosts.
func (p Page) policy() string {
	rules := []string{
		"default-src 'none'", "style-src 'self'", "img-src 'self' data:",
		"form-action " + strings.Join(append([]string{"'self'"}, p.FormTargets...), " "),
		"frame-ancestors " + p.ancestors(), "base-uri 'none'",
	}
	if p.Module != "" {
		rules = append(rules, "script-src 'self'")
	}
	if p.Asks {
		rules = append(rules, "connect-src 'self'")
	}
	return strings.Join(rules, "; ")
}

func (p Page) ancestors() string {
	if len(p.Ancestors) == 0 {
		return "'none'"
	}
	return strings.Join(p.Ancestors, " ")
}

// Origin returns the scheme and host of an absolute http or https URL. It returns an empty text for
// all other texts.
func Origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Redirect makes the browser open an address with GET, after a request with any method. The service
// must have made or checked the address.
func Redirect(w http.ResponseWriter, address string) {
	leave(w, http.StatusSeeOther, address)
}

// Forward redirects the browser like Redirect, after a request with the method GET. It uses the
// status that clients of this API family expect.
func Forward(w http.ResponseWriter, address string) {
	leave(w, http.StatusFound, address)
}

func leave(w http.ResponseWriter, status int, address string) {
	secure(w.Header())
	w.Header().Set("Location", address)
	w.WriteHeader(status)
}

// Download begins a response with a file that the browser saves. The file's name may contain
// letters, digits, hyphens and points.
func Download(w http.ResponseWriter, mediaType, name string) {
	secure(w.Header())
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

// Forged reports whether a request that changes something certainly came from a page of another
// origin. A request that only reads is never forged. The service's pages send no referrer, so some
// browsers hide the origin of the pages' forms too. When the browser does not report whether the
// form is from the same origin, the token in the form decides. Each page must check that token.
func Forged(r *http.Request) bool {
	if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "null" {
		return false
	}
	return http.NewCrossOriginProtection().Check(r) != nil
}
