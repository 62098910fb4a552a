package connector

import (
	"context"
	"net/netip"
)

// Device describes the device of the user who is present. A Device is empty when no user is
// present, and when an application does not name the device of its user. Each field may be empty.
type Device struct {
	// Address is the IP address of the user's device, not of the application.
	Address netip.Addr
	// UserAgent, Accept, AcceptLanguage, AcceptCharset and AcceptEncoding are the headers of the
	// user's browser or app.
	UserAgent, Accept, AcceptLanguage, AcceptCharset, AcceptEncoding string
	// Method is the HTTP method of the user's request: GET, POST, PUT, PATCH or DELETE.
	Method string
	// Port is the TCP port of the user's device, zero if unknown.
	Port int
	// ID is a UUID of the device, or of the installed app.
	ID string
	// Location is the place of the device, such as GEO:52.506931;13.144558: latitude and longitude
	// in degrees, with six decimals.
	Location string
}

type deviceKey struct{}

// WithDevice returns a context with the device of the user who caused an action.
func WithDevice(ctx context.Context, d Device) context.Context {
	return context.WithValue(ctx, deviceKey{}, d)
}

// DeviceOf returns the device set by WithDevice. It is empty when no device was set.
func DeviceOf(ctx context.Context) Device {
	d, _ := ctx.Value(deviceKey{}).(Device)
	return d
}
