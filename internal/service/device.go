package service

import (
	"net/http"
	"net/netip"
	"strings"

	"passerelle/connector"
	"passerelle/internal/httpapi"
)

// maxDeviceHeader is the length up to which headers of users are passed on to banks.
const maxDeviceHeader = 512

// noteDevice records the user's device in the context of a request. It reads the headers of the
// sender or, if an application sent the request, the headers that the Berlin Group standard
// defines for this.
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
