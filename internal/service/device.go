package service

import (
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"passerelle/connector"
	"passerelle/internal/httpapi"
)

// maxDeviceHeader is the largest number of bytes of a header about the user's device that the
// service passes on to banks. It shortens longer headers.
const maxDeviceHeader = 512

// noteDevice records the user's device in the context of a request. The user's own browser requests
// the pages, so its address and headers describe the device. An application calls the API. It names
// the device in headers that the Berlin Group standard defines. Without the user's address in these
// headers, the device is unknown: the service must not present the application's address as the
// user's.
func (s *Service) noteDevice(handler http.Handler, application bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		address, prefix := httpapi.Address(r, s.config.TrustedProxies), ""
		if application {
			address, prefix = r.Header.Get("PSU-IP-Address"), "PSU-"
		}
		if at, err := netip.ParseAddr(address); err == nil {
			device := headersOf(r, prefix)
			device.Address = at.Unmap().WithZone("")
			r = r.WithContext(connector.WithDevice(r.Context(), device))
		}
		handler.ServeHTTP(w, r)
	})
}

// headersOf returns the device that headers describe. Callers of the API describe it in headers
// with the prefix, together with values that no browser sends. A malformed value is left out. The
// values are copies, because the device may stay in memory longer than the headers.
func headersOf(r *http.Request, prefix string) connector.Device {
	header := func(name string) string {
		value := r.Header.Get(prefix + name)
		return strings.ToValidUTF8(strings.Clone(value[:min(len(value), maxDeviceHeader)]), "")
	}
	device := connector.Device{
		UserAgent: header("User-Agent"), Accept: header("Accept"), AcceptLanguage: header("Accept-Language"),
		AcceptCharset: header("Accept-Charset"), AcceptEncoding: header("Accept-Encoding"), Method: r.Method,
	}
	if prefix != "" {
		if port, err := strconv.ParseUint(header("IP-Port"), 10, 16); err == nil {
			device.Port = int(port)
		}
		device.Method = header("Http-Method")
		device.ID, device.Location = formed(header("Device-ID"), deviceIDForm), formed(header("Geo-Location"), locationForm)
	}
	device.Method = formed(device.Method, methodForm)
	return device
}

// These expressions match values that banks check, in the forms of the Berlin Group standard.
var (
	methodForm   = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE)$`)
	deviceIDForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	locationForm = regexp.MustCompile(`^GEO:-?[0-9]{1,2}\.[0-9]{6};-?[0-9]{1,3}\.[0-9]{6}$`)
)

// formed returns the value if it matches the form, and "" otherwise.
func formed(value string, form *regexp.Regexp) string {
	if !form.MatchString(value) {
		return ""
	}
	return value
}
