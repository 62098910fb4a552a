package service

import (
	"net/http"
	"net/netip"
	"strings"

	"passerelle/connector"
	"passerelle/internal/httpapi"
)

// maxDeviceHeader is the longest user header that the service passes on to banks.
const maxDeviceHeader = 512

// noteDevice records the user's device in the context of a request. The user's own browser requests
// the pages, so its address and headers are the device. An application calls the API. It names the
// device in headers that the Berlin Group standard defines. Without the user's address in these
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

func headersOf(r *http.Request, prefix string) connector.Device {
	header := func(name string) string {
		value := r.Header.Get(prefix + name)
		return strings.ToValidUTF8(value[:min(len(value), maxDeviceHeader)], "")
	}
	return connector.Device{UserAgent: header("User-Agent"), Accept: header("Accept"), AcceptLanguage: header("Accept-Language")}
}
