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

// noteDevice records the user's device in the context of a request. Pages are requested by the
// user's browser, whose address and headers are the device. The API is called by an application,
// which names the device in the headers that the Berlin Group standard defines for this. Without
// the address in them, the device is unknown: the application's own address must not pass for that
// of the user.
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
