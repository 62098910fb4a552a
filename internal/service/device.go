package service

import (
	"net/http"
	"net/netip"
	"strings"

	"passerelle/connector"
	"passerelle/internal/httpapi"
)

// maxDeviceHeader is the largest length of a user's header that is passed on to banks.
const maxDeviceHeader = 512

// noteDevice records the user's device: from the headers of the sender or, when an application
// sent the request, from the headers of the Berlin Group standard.
func (s *Service) noteDevice(handler http.Handler, application bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		device := headersOf(r, "")
		device.Address, _ = netip.ParseAddr(httpapi.Address(r, s.config.TrustedProxies))
		if named, err := netip.ParseAddr(r.Header.Get("PSU-IP-Address")); application && err == nil {
			device = headersOf(r, "PSU-")
			device.Address = named
		}
		device.Address = device.Address.Unmap().WithZone("")
		handler.ServeHTTP(w, r.WithContext(connector.WithDevice(r.Context(), device)))
	})
}

func headersOf(r *http.Request, prefix string) connector.Device {
	header := func(name string) string {
		value := r.Header.Get(prefix + name)
		return strings.ToValidUTF8(value[:min(len(value), maxDeviceHeader)], "")
	}
	return connector.Device{UserAgent: header("User-Agent"), Accept: header("Accept"), AcceptLanguage: header("Accept-Language")}
}
